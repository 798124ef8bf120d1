//! Where a continuation's text joins the text that is already there.
//!
//! The first characters of a continuation are held until it is clear whether they are new text, an echo of the old
//! or a preface. The decision is made on characters, never on words of a language, but for the short lists of
//! `preface`. It is made anew with each character, so that it does not depend on how the text was cut into deltas.

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

    /// Looks for the place where the text goes on behind a preface. An echo that does not hold is passed over.
    fn search_echo(&self, last: bool, why: &'static str) -> Verdict {
        for end in self.echoes_inside() {
            match self.decide_after(self.echo_start(end), end, last) {
                Verdict::Refused(_) | Verdict::Joined { join: Join::Unanchored, .. } => {}
                decided => return decided,
            }
        }
        if last || self.held.len() >= HOLD_CHARS { self.unanchored(why) } else { Verdict::Wait }
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

    /// What follows the echo is what followed the same words earlier, or the echo once more.
    fn goes_back(&self, echo: &[char], rest: &[char]) -> Likeness {
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
    fn echo_at_start(&self, least: usize) -> Option<usize> {
        let most = self.held.len().min(self.prefix.len());
        if self.exact && self.prefix.len() < ANCHOR_CHARS || least == 0 {
            return None;
        }
        (least..=most).rev().find(|&len| self.held[..len] == self.prefix[self.prefix.len() - len..])
    }

    /// True when saying `piece` of the prefix again can only be an echo. A text that repeats itself may go on doing so,
    /// and an exact continuation was not asked for an echo.
    fn is_unrepeated(&self, piece: &[char]) -> bool {
        let length = piece.len();
        let periodic = (1..=length / 2).any(|period| piece[period..] == piece[..length - period]);
        !periodic && self.prefix.windows(length).filter(|window| *window == piece).count() == 1
    }

    /// The last `length` characters of the prefix begin with a word: nobody stutters from within one.
    fn begins_a_word(&self, length: usize) -> bool {
        let before = self.prefix.len() - length;
        before == 0 || !self.prefix[before - 1].is_alphanumeric()
    }

    /// What was held so far could still become such an echo.
    fn echo_in_progress(&self) -> bool {
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

/// What closes a quotation that `mark` opens.
fn closing_of(mark: char) -> Option<&'static [char]> {
    match mark {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '`' => Some(&['`']),
        '“' => Some(&['”']),
        '„' => Some(&['“', '”']),
        '‘' => Some(&['’']),
        '«' => Some(&['»']),
        '「' => Some(&['」']),
        '『' => Some(&['』']),
        _ => None,
    }
}

fn count_fences(text: &[char]) -> usize {
    text.split(|c| *c == '\n').filter(|line| line.starts_with(&['`', '`', '`'])).count()
}

/// Does `text` begin like `model`, as far as it goes?
fn begins_like(text: &[char], model: &[char]) -> Likeness {
    if text.starts_with(model) {
        Likeness::Yes
    } else if model.starts_with(text) {
        Likeness::Maybe
    } else {
        Likeness::No
    }
}

/// `shown` blanks had to be stripped from the prefix; `new` are the continuation's leading blanks.
fn align_blanks(shown: &str, new: &str) -> (String, bool) {
    if shown.is_empty() {
        return (new.to_owned(), false);
    }
    if let Some(rest) = new.strip_prefix(shown) {
        return (rest.to_owned(), false);
    }
    (String::new(), !shown.starts_with(new))
}

/// What a stop watch says about new text.
#[derive(Debug, PartialEq, Eq)]
pub enum Watched {
    /// A sequence may be in the making: hold.
    Wait,
    /// This text may leave; the watch is over.
    Clear(String),
    /// A stop sequence straddles the seam: the answer ends before this text.
    Stopped(String),
}

/// Looks for a stop sequence that begins before the seam and ends after it: no provider can see that one.
#[derive(Debug)]
pub struct StopWatch {
    sequences: Vec<String>,
    /// The last characters before the seam, then what came after it.
    window: String,
    before: usize,
}

impl StopWatch {
    /// `None` when no sequence is long enough to straddle anything.
    pub fn new(sequences: &[String], text: &str) -> Option<Self> {
        let longest = sequences.iter().map(|sequence| sequence.chars().count()).max().unwrap_or(0);
        if longest < 2 {
            return None;
        }
        let window: String = text.chars().skip(text.chars().count().saturating_sub(longest - 1)).collect();
        Some(Self { sequences: sequences.to_vec(), before: window.len(), window })
    }

    pub fn push(&mut self, text: &str) -> Watched {
        self.window.push_str(text);
        let mut open = false;
        for (start, _) in self.window[..self.before].char_indices() {
            let candidate = &self.window[start..];
            for sequence in &self.sequences {
                if candidate.starts_with(sequence.as_str()) && start + sequence.len() > self.before {
                    return Watched::Stopped(sequence.clone());
                }
                open |= sequence.starts_with(candidate);
            }
        }
        if open { Watched::Wait } else { Watched::Clear(self.window.split_off(self.before)) }
    }

    /// No more text will come: what is held may leave.
    pub fn conclude(mut self) -> String {
        self.window.split_off(self.before)
    }
}
