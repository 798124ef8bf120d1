//! Incremental completeness of one JSON value, such as the arguments of a tool call.
//!
//! The question on every delta is "is this whole, still open, or broken, and where". Parsing the text again for each
//! delta is quadratic, so the scanner keeps the state of a JSON reader between deltas instead: constant work per byte,
//! one bit per open bracket, nothing is built. Offsets count bytes from the start of the value's text.

mod grammar;
mod number;
mod runs;

use number::Number;
use runs::{half_character, plain_run};

/// Where a value stands after the bytes seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonState {
    /// A valid beginning that needs more bytes. A bare number stays open until `finish` or a blank.
    Open,
    /// One whole value, and nothing but white space after it.
    Complete,
    /// No continuation can make this valid, or a limit was passed.
    Invalid,
}

/// What the next byte has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    /// After `[`: a value or `]`.
    FirstElement,
    /// After `{`: a key or `}`.
    FirstKey,
    Key,
    Colon,
    /// After a value inside a container: `,` or the closing bracket.
    Separator,
    /// After the whole value: white space.
    End,
    Text,
    Escape,
    Hex {
        left: u8,
        code: u16,
    },
    Number(Number),
    Literal(&'static [u8]),
    /// Nothing: the value is broken for good.
    Broken {
        at: usize,
        by_limit: bool,
    },
}

/// Reads one JSON value (RFC 8259) piece by piece.
///
/// Bytes inside strings are not checked to be UTF-8, and lone surrogate escapes are legal, as in the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonScanner {
    expect: Expect,
    in_key: bool,
    max_depth: usize,
    depth: usize,
    /// One bit per open container, set for objects.
    objects: Vec<u64>,
    seen: usize,
    first: Option<u8>,
    empty_object: bool,
    /// The value could be closed here: behind the last opening bracket or the last value.
    closable_at: usize,
    /// Start of an escape, or of a high surrogate that waits for its partner, at the end of an open string.
    half_escape_at: Option<usize>,
    /// The last bytes seen, to find half a UTF-8 character.
    tail: [u8; 3],
}

impl JsonScanner {
    pub fn new(max_depth: usize) -> Self {
        Self {
            expect: Expect::Value,
            in_key: false,
            max_depth,
            depth: 0,
            objects: Vec::new(),
            seen: 0,
            first: None,
            empty_object: false,
            closable_at: 0,
            half_escape_at: None,
            tail: [0; 3],
        }
    }

    pub fn push(&mut self, bytes: &[u8]) -> JsonState {
        let mut index = 0;
        while index < bytes.len() && !matches!(self.expect, Expect::Broken { .. }) {
            if self.expect == Expect::Text {
                let run = plain_run(&bytes[index..]);
                if run > 0 {
                    self.half_escape_at = None;
                    index += run;
                }
                if index == bytes.len() {
                    break;
                }
            }
            self.step(bytes[index], self.seen + index);
            index += 1;
        }
        self.seen += bytes.len();
        self.remember_tail(bytes);
        self.state()
    }

    /// End of input: only now a bare number at the top level is whole. What is open stays open.
    pub fn finish(&mut self) -> JsonState {
        if let Expect::Number(number) = self.expect
            && self.depth == 0
            && number.is_whole()
        {
            self.expect = Expect::End;
        }
        self.state()
    }

    pub fn state(&self) -> JsonState {
        match self.expect {
            Expect::End => JsonState::Complete,
            Expect::Broken { .. } => JsonState::Invalid,
            _ => JsonState::Open,
        }
    }

    /// Offset of the first byte that cannot be part of a valid value.
    pub fn invalid_at(&self) -> Option<usize> {
        match self.expect {
            Expect::Broken { at, .. } => Some(at),
            _ => None,
        }
    }

    /// True when the value is invalid only because it nests deeper than `max_depth`.
    pub fn limit_passed(&self) -> bool {
        matches!(self.expect, Expect::Broken { by_limit: true, .. })
    }

    /// Number of containers that are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Bytes seen, those after an error included.
    pub fn offset(&self) -> usize {
        self.seen
    }

    /// Nothing but white space so far.
    pub fn is_blank(&self) -> bool {
        self.first.is_none()
    }

    /// The whole value is an object without members.
    pub fn is_empty_object(&self) -> bool {
        self.empty_object && self.expect == Expect::End
    }

    /// The first byte that is not white space is `{`.
    pub fn starts_object(&self) -> bool {
        self.first == Some(b'{')
    }

    /// What makes the first `display_cut()` bytes valid JSON, for display only; `None` when invalid.
    pub fn suffix(&self) -> Option<String> {
        if self.state() == JsonState::Invalid {
            return None;
        }
        let mut suffix = String::new();
        if self.in_value_text() {
            suffix.push('"');
        } else if self.closable_at == 0 {
            suffix.push_str("null");
        }
        suffix.extend((0..self.depth).rev().map(|level| if self.is_object(level) { '}' } else { ']' }));
        Some(suffix)
    }

    /// How many bytes of the input the display form keeps. Half escapes, characters, pairs, literals and members are
    /// left out; it never shrinks as bytes arrive. When invalid: the bytes before the error.
    pub fn display_cut(&self) -> usize {
        match self.expect {
            Expect::End => self.seen,
            Expect::Broken { at, .. } => at,
            _ if self.in_value_text() => {
                self.half_escape_at.unwrap_or_else(|| self.seen - half_character(self.tail))
            }
            _ => self.closable_at,
        }
    }

    fn remember_tail(&mut self, bytes: &[u8]) {
        for byte in &bytes[bytes.len().saturating_sub(self.tail.len())..] {
            self.tail = [self.tail[1], self.tail[2], *byte];
        }
    }
}
