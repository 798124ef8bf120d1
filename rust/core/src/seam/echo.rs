//! Where in a continuation the words stand that the reader has already.

use super::words::begins_like;
use super::{ANCHOR_CHARS, HOLD_CHARS, Join, STUTTER_CHARS, Seam, Verdict};
use crate::preface::Likeness;

impl Seam {
    /// Looks for the place where the text goes on behind a preface. An echo that does not hold is passed over.
    pub(super) fn search_echo(&self, last: bool, why: &'static str) -> Verdict {
        for end in self.echoes_inside() {
            match self.decide_after(self.echo_start(end), end, last) {
                Verdict::Refused(_) | Verdict::Joined { join: Join::Unanchored, .. } => {}
                decided => return decided,
            }
        }
        if last || self.held.len() >= HOLD_CHARS { self.unanchored(why) } else { Verdict::Wait }
    }

    /// What follows the echo is what followed the same words earlier, or the echo once more.
    pub(super) fn goes_back(&self, echo: &[char], rest: &[char]) -> Likeness {
        if echo.len() < ANCHOR_CHARS {
            return Likeness::No;
        }
        let blanks = rest.iter().take_while(|c| c.is_whitespace()).count();
        let mut found = Likeness::No;
        if self.is_unrepeated(&echo[..ANCHOR_CHARS]) {
            found = found.max(begins_like(&rest[blanks..], &echo[..ANCHOR_CHARS]));
        }
        let earlier = self.prefix.len() - echo.len();
        for at in (0..earlier).filter(|&at| self.prefix[at..].starts_with(echo)) {
            let followed = &self.prefix[at + echo.len()..];
            if followed.len() >= ANCHOR_CHARS {
                found = found.max(begins_like(rest, &followed[..ANCHOR_CHARS]));
            }
        }
        found
    }

    /// The continuation starts with at least `least` characters of the end of the prefix; the longest counts.
    pub(super) fn echo_at_start(&self, least: usize) -> Option<usize> {
        let most = self.held.len().min(self.prefix.len());
        if self.exact && self.prefix.len() < ANCHOR_CHARS || least == 0 {
            return None;
        }
        (least..=most).rev().find(|&len| self.held[..len] == self.prefix[self.prefix.len() - len..])
    }

    /// True when saying `piece` of the prefix again can only be an echo. A text that repeats itself may go on doing so,
    /// and an exact continuation was not asked for an echo.
    pub(super) fn is_unrepeated(&self, piece: &[char]) -> bool {
        let length = piece.len();
        let periodic = (1..=length / 2).any(|period| piece[period..] == piece[..length - period]);
        !periodic && self.prefix.windows(length).filter(|window| *window == piece).count() == 1
    }

    /// The last `length` characters of the prefix begin with a word: nobody stutters from within one.
    pub(super) fn begins_a_word(&self, length: usize) -> bool {
        let before = self.prefix.len() - length;
        before == 0 || !self.prefix[before - 1].is_alphanumeric()
    }

    /// What was held so far could still become such an echo.
    pub(super) fn echo_in_progress(&self) -> bool {
        if self.held.is_empty() {
            return !self.exact;
        }
        if !self.quote.is_empty() && self.quote.len() > self.held.len() && self.quote.starts_with(&self.held)
        {
            return true;
        }
        if self.exact && self.prefix.len() < ANCHOR_CHARS || self.held.len() >= HOLD_CHARS {
            return false;
        }
        let least = if self.exact { STUTTER_CHARS } else { ANCHOR_CHARS };
        let tail_start = self.prefix.len().saturating_sub(HOLD_CHARS);
        let tail = &self.prefix[tail_start..];
        (0..tail.len().saturating_sub(least - 1))
            .any(|at| tail.len() - at > self.held.len() && tail[at..].starts_with(&self.held))
    }

    /// The ends of the echoes anywhere in the held text. A text too short for an anchor has to be said whole.
    fn echoes_inside(&self) -> impl Iterator<Item = usize> {
        let source = if self.exact { &self.prefix } else { &self.quote };
        let least = ANCHOR_CHARS.min(source.len());
        let anchor = &source[source.len() - least..];
        let places =
            if least >= STUTTER_CHARS { self.held.windows(least) } else { self.held[..0].windows(1) };
        places.enumerate().filter(move |(_, window)| *window == anchor).map(move |(at, _)| at + least)
    }

    /// Where the echo that ends at `end` begins: as far back as it is the end of the prefix.
    fn echo_start(&self, end: usize) -> usize {
        let said = self.held[..end].iter().rev();
        end - said.zip(self.prefix.iter().rev()).take_while(|(said, shown)| said == shown).count()
    }
}
