//! Where a continuation's text joins the text that is already there.
//!
//! The first characters of a continuation are held until it is clear whether they are new text, an echo of the old
//! or a preface. The decision is made on characters, never on words of a language, but for one short list of openers
//! that an exact continuation does not begin with in the middle of an answer.

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

const OPENERS: [&str; 12] = [
    "sure",
    "certainly",
    "of course",
    "here is",
    "here's",
    "here are",
    "continuing",
    "i apologize",
    "apologies",
    "sorry",
    "as i was saying",
    "picking up",
];

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
        for character in text.chars() {
            self.held.push(character);
            if self.repeating {
                self.track_repetition(character);
            }
        }
        self.decide(false)
    }

    /// No more text will come, or no more time is given.
    pub fn conclude(&mut self) -> Verdict {
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

    fn decide(&mut self, last: bool) -> Verdict {
        if !self.quote.is_empty() && self.held.starts_with(&self.quote) {
            return self.join_after(self.quote.len(), Join::Anchored, last); // just what was asked for
        }
        if !last && self.quote.starts_with(&self.held) && !self.held.is_empty() {
            return Verdict::Wait;
        }
        let whole_prefix_repeated = self.repeated == self.prefix.len() && !self.prefix.is_empty();
        if whole_prefix_repeated && (!self.exact || self.prefix.len() >= ANCHOR_CHARS) {
            return self.join_after(self.prefix.len(), Join::Anchored, last);
        }
        if self.repeating && self.repeated >= ANCHOR_CHARS && !last {
            return Verdict::Wait; // a restart so far: compared with the prefix, however long it is
        }
        if self.exact { self.decide_exact(last) } else { self.decide_prompt(last) }
    }

    fn decide_exact(&mut self, last: bool) -> Verdict {
        if !last && self.repeating && self.repeated > 0 && self.prefix.len() >= ANCHOR_CHARS {
            return Verdict::Wait;
        }
        if self.repeated >= ANCHOR_CHARS && self.is_unrepeated(&self.prefix[..self.repeated]) {
            return self.unanchored("the continuation began the answer again");
        }
        if self.may_be_opener(last) {
            return self.search_preface(last);
        }
        if !last && self.echo_in_progress() {
            return Verdict::Wait;
        }
        match self.echo_at_start().filter(|&end| self.is_unrepeated(&self.held[..end])) {
            Some(end) => self.join_after(end, Join::Anchored, last),
            None => self.join_after(0, Join::Prefill, last),
        }
    }

    fn decide_prompt(&mut self, last: bool) -> Verdict {
        if self.quote.is_empty() {
            return self.unanchored("there was nothing to anchor on");
        }
        if !last && self.echo_in_progress() {
            return Verdict::Wait;
        }
        match self.echo_at_start().or_else(|| self.echo_inside()) {
            Some(end) => self.join_after(end, Join::Anchored, last),
            None if !last && self.held.len() < HOLD_CHARS => Verdict::Wait,
            None => self.unanchored("the quoted end was not repeated"),
        }
    }

    /// An exact continuation that opens like a preface is searched for the place where the text goes on.
    fn search_preface(&mut self, last: bool) -> Verdict {
        match self.echo_inside() {
            Some(end) => self.join_after(end, Join::Anchored, last),
            None if last || self.held.len() >= HOLD_CHARS => {
                self.unanchored("the continuation began with a preface")
            }
            None => Verdict::Wait,
        }
    }

    /// In the middle of a sentence an exact continuation does not begin with a capitalised opener.
    fn may_be_opener(&self, last: bool) -> bool {
        let sentence_over =
            self.prefix.last().is_none_or(|c| matches!(c, '.' | '!' | '?' | ':' | '\n' | '。' | '`'));
        let capital = self.held.first().is_some_and(|c| c.is_uppercase());
        if sentence_over || self.stripped.contains('\n') || !capital {
            return false;
        }
        let start: String = self.held.iter().take(20).collect::<String>().to_lowercase();
        OPENERS.iter().any(|opener| {
            let follows = |rest: &str| rest.chars().next().is_some_and(|c| !c.is_alphanumeric());
            start.strip_prefix(opener).is_some_and(|rest| follows(rest) || (rest.is_empty() && last))
                || (!last && opener.starts_with(&start))
        })
    }

    /// The continuation starts with at least an anchor's length of the end of the prefix; the longest counts.
    fn echo_at_start(&self) -> Option<usize> {
        let most = self.held.len().min(self.prefix.len());
        let least = ANCHOR_CHARS.min(self.anchor_source().len());
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
        let tail_start = self.prefix.len().saturating_sub(HOLD_CHARS);
        let tail = &self.prefix[tail_start..];
        (0..tail.len().saturating_sub(ANCHOR_CHARS - 1))
            .any(|at| tail.len() - at > self.held.len() && tail[at..].starts_with(&self.held))
    }

    /// The end of the first echo anywhere in the held text (after a preface).
    fn echo_inside(&self) -> Option<usize> {
        let source = self.anchor_source();
        let least = ANCHOR_CHARS.min(source.len());
        if least == 0 || self.held.len() < least || source.len() < ANCHOR_CHARS {
            return None;
        }
        let anchor = &source[source.len() - least..];
        self.held.windows(least).position(|window| window == anchor).map(|at| at + least)
    }

    fn anchor_source(&self) -> &[char] {
        if self.exact { &self.prefix } else { &self.quote }
    }

    fn unanchored(&mut self, why: &'static str) -> Verdict {
        if self.strict {
            return Verdict::Refused(why);
        }
        self.join_after(0, Join::Unanchored, true)
    }

    /// Cuts the echo away and puts the blanks of both sides together.
    fn join_after(&mut self, echo: usize, join: Join, last: bool) -> Verdict {
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
