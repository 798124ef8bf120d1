//! Where a continuation's text joins the text that is already there.
//!
//! The first characters of a continuation are held until it is clear whether they are new text, an echo of the old
//! or a preface. The decision is made on characters, never on words of a language, but for the short lists of
//! `preface`. It is made anew with each character, so that it does not depend on how the text was cut into deltas.

mod echo;
mod stop_watch;
mod words;

pub use stop_watch::{StopWatch, Watched};

use words::{align_blanks, begins_like, closing_of, count_fences};

use crate::preface::{self, Likeness};

/// How sure we are of a seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    Prefill,
    Anchored,
    Unanchored,
}

impl Join {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Anchored => "anchored",
            Self::Unanchored => "unanchored",
        }
    }
}

/// At most this many characters are held for the decision.
pub const HOLD_CHARS: usize = 240;
/// A shorter echo proves nothing, unless the whole text is shorter.
pub const ANCHOR_CHARS: usize = 24;
/// An exact continuation that says this much of the end again may be stuttering: less than an anchor, too much for
/// chance.
const STUTTER_CHARS: usize = 12;
/// A restart that has said this much again is one, whatever the text repeats by itself.
const RESTART_CHARS: usize = 72;

/// What the held text means so far.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not decided: hold.
    Wait,
    /// Joined; the text to emit after the seam.
    Joined { join: Join, text: String, guessed_blanks: bool },
    /// The join would be unanchored and the policy refuses that.
    Refused(&'static str),
}

/// One undecided seam.
#[derive(Debug)]
pub struct Seam {
    /// Text that the reader has (blanks that were not sent included in `stripped`, not here).
    prefix: Vec<char>,
    quote: Vec<char>,
    stripped: String,
    exact: bool,
    strict: bool,
    held: Vec<char>,
    /// How many characters of `prefix` the continuation has repeated from its very start.
    repeated: usize,
    repeating: bool,
}

impl Seam {
    /// `exact`: the strategy continues right after the prefix; else `quote` is the end that was asked to be echoed.
    pub fn new(prefix: &str, quote: &str, stripped: &str, exact: bool, strict: bool) -> Self {
        Self {
            prefix: prefix.chars().collect(),
            quote: quote.chars().collect(),
            stripped: stripped.to_owned(),
            exact,
            strict,
            held: Vec::new(),
            repeated: 0,
            repeating: true,
        }
    }

    /// More text of the continuation.
    pub fn push(&mut self, text: &str) -> Verdict {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            self.held.push(character);
            if self.repeating {
                self.track_repetition(character);
            }
            match self.decide(false) {
                Verdict::Wait => {}
                Verdict::Joined { join, mut text, guessed_blanks } => {
                    text.push_str(characters.as_str());
                    return Verdict::Joined { join, text, guessed_blanks };
                }
                refused @ Verdict::Refused(_) => return refused,
            }
        }
        Verdict::Wait
    }

    /// No more text will come, or no more time is given.
    pub fn conclude(&self) -> Verdict {
        self.decide(true)
    }

    pub fn has_text(&self) -> bool {
        !self.held.is_empty()
    }

    fn track_repetition(&mut self, character: char) {
        if self.prefix.get(self.repeated) == Some(&character) {
            self.repeated += 1;
            self.repeating = self.repeated < self.prefix.len();
        } else {
            self.repeating = false;
        }
    }

    fn decide(&self, last: bool) -> Verdict {
        if !self.quote.is_empty() && self.held.starts_with(&self.quote) {
            return self.decide_after(0, self.quote.len(), last); // just what was asked for
        }
        if !last && self.quote.starts_with(&self.held) && !self.held.is_empty() {
            return Verdict::Wait;
        }
        let whole_prefix_repeated = self.repeated == self.prefix.len() && !self.prefix.is_empty();
        if whole_prefix_repeated && (!self.exact || self.prefix.len() >= ANCHOR_CHARS) {
            return self.decide_after(0, self.prefix.len(), last);
        }
        if self.repeating && self.repeated >= ANCHOR_CHARS && !last {
            return Verdict::Wait; // a restart so far: compared with the prefix, however long it is
        }
        if self.exact { self.decide_exact(last) } else { self.decide_prompt(last) }
    }

    fn decide_exact(&self, last: bool) -> Verdict {
        if !last && self.repeating && self.repeated > 0 && self.prefix.len() >= ANCHOR_CHARS {
            return Verdict::Wait;
        }
        if self.has_restarted() {
            return self.unanchored("the continuation began the answer again");
        }
        match self.preface(last) {
            Likeness::Yes => return self.search_echo(last, "the continuation began with a preface"),
            Likeness::Maybe => return Verdict::Wait,
            Likeness::No => {}
        }
        if !last && self.echo_in_progress() {
            return Verdict::Wait;
        }
        match self.echo_at_start(STUTTER_CHARS).filter(|&end| self.is_unrepeated(&self.held[..end])) {
            Some(end) if end >= ANCHOR_CHARS => self.decide_after(0, end, last),
            Some(end) if self.begins_a_word(end) => {
                self.unanchored("too little of the end was repeated to cut it away")
            }
            _ => self.join_after(0, Join::Prefill, last),
        }
    }

    fn decide_prompt(&self, last: bool) -> Verdict {
        if self.quote.is_empty() {
            return self.unanchored("there was nothing to anchor on");
        }
        if !last && self.echo_in_progress() {
            return Verdict::Wait;
        }
        match self.echo_at_start(ANCHOR_CHARS.min(self.quote.len())) {
            Some(end) => self.decide_after(0, end, last),
            None => self.search_echo(last, "the quoted end was not repeated"),
        }
    }

    /// It said the beginning of the prefix again and then something else. A text with a refrain may do so.
    fn has_restarted(&self) -> bool {
        self.repeated >= ANCHOR_CHARS
            && self.is_unrepeated(&self.prefix[..self.repeated.min(HOLD_CHARS)])
            && (self.repeated >= RESTART_CHARS || self.is_unrepeated(&self.prefix[..ANCHOR_CHARS]))
    }

    /// Only an exact continuation is asked whether it begins like a preface. Somebody who speaks in the text may.
    fn preface(&self, last: bool) -> Likeness {
        let before = self.prefix.last().copied();
        if before.is_some_and(|mark| mark == '"' || closing_of(mark).is_some()) {
            return Likeness::No;
        }
        let sentence_over = before.is_none_or(|c| matches!(c, '.' | '!' | '?' | ':' | '\n' | '。'))
            || self.stripped.contains('\n');
        let flows_on = self.held.first().is_some_and(|c| c.is_whitespace());
        if sentence_over || !flows_on {
            let found = preface::announcement(&self.held, last);
            if found != Likeness::No {
                return found;
            }
        }
        if sentence_over {
            return Likeness::No;
        }
        match begins_like(&self.held, &['`', '`', '`']) {
            Likeness::Maybe if !last => Likeness::Maybe, // a fence does not open within a line
            Likeness::Yes => Likeness::Yes,
            _ => preface::opener(&self.held, last),
        }
    }

    /// The end of the prefix stands in `held[start..end]`: may the text go on behind it?
    fn decide_after(&self, start: usize, end: usize, last: bool) -> Verdict {
        let (before, rest) = (&self.held[..start], &self.held[end..]);
        let echo = &self.held[start..end];
        if count_fences(before) % 2 == 1 && count_fences(&self.prefix).is_multiple_of(2) {
            return self.unanchored("the continuation stands in a fence of its own");
        }
        if let Some((mark, ahead)) = before.split_last()
            && let Some(closing) = closing_of(*mark)
        {
            return match rest.first() {
                None if !last => Verdict::Wait,
                Some(found) if closing.contains(found) && ahead.iter().all(|c| c.is_whitespace()) => {
                    self.join_after(end + 1, Join::Anchored, last)
                }
                _ => self.unanchored("the end was only quoted"),
            };
        }
        match self.goes_back(echo, rest) {
            Likeness::Yes => self.unanchored("the continuation went back to what it had said"),
            Likeness::Maybe if !last => Verdict::Wait,
            _ => self.join_after(end, Join::Anchored, last),
        }
    }

    fn unanchored(&self, why: &'static str) -> Verdict {
        if self.strict {
            return Verdict::Refused(why);
        }
        self.join_after(0, Join::Unanchored, true)
    }

    /// Cuts the echo away and puts the blanks of both sides together.
    fn join_after(&self, echo: usize, join: Join, last: bool) -> Verdict {
        let rest = &self.held[echo.min(self.held.len())..];
        let blanks: String = rest.iter().take_while(|c| c.is_whitespace()).collect();
        let only_blanks = blanks.chars().count() == rest.len();
        if only_blanks && !last && !self.stripped.is_empty() && rest.len() < HOLD_CHARS {
            return Verdict::Wait;
        }
        let body: String = rest.iter().skip(blanks.chars().count()).collect();
        let (kept, guessed_blanks) = align_blanks(&self.stripped, &blanks);
        Verdict::Joined { join, text: kept + &body, guessed_blanks }
    }
}
