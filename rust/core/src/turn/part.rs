//! One piece of content, and what may happen to it.

use crate::delta::{Key, PartKind};
use crate::json::{JsonScanner, JsonState};

/// What of a part has left for the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub opened: bool,
    pub bytes: usize,
    pub signature: usize,
    pub closed: bool,
}

/// One piece of content: a text, a reasoning block, a tool call, ...
#[derive(Debug)]
pub struct Part {
    pub key: Key,
    pub kind: PartKind,
    pub id: String,
    pub name: String,
    /// Text, or the raw arguments of a tool call.
    pub text: String,
    pub signature: String,
    /// The opening object as received, for parts that are passed on without being understood.
    pub raw: Vec<u8>,
    /// For the arguments of a call, unless they are free text.
    pub scanner: Option<JsonScanner>,
    /// The arguments are whole, though the call may still be open.
    pub finished: bool,
    pub closed: bool,
    /// Left for the reader although unfinished (a tool call).
    pub live: bool,
    /// A typed reader was told that the call is complete.
    pub announced: bool,
    pub attempt: u32,
    /// Index of the part on the reader's wire, where the dialect numbers parts.
    pub out_index: u32,
    pub shown: Shown,
}

impl Part {
    pub fn is_tool(&self) -> bool {
        self.kind == PartKind::Tool
    }

    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Closed by the provider, and not in the middle of its arguments.
    pub fn is_complete_tool(&self) -> bool {
        self.is_tool() && self.closed && (self.is_blank() || self.arguments_state() != JsonState::Open)
    }

    fn arguments_state(&self) -> JsonState {
        self.scanner.as_ref().map_or(JsonState::Complete, JsonScanner::state)
    }

    /// The arguments are one whole JSON object that is not empty: complete even though nobody closed the call.
    pub(super) fn has_whole_arguments(&self) -> bool {
        let finished = self.finished && (self.is_blank() || self.arguments_state() != JsonState::Open);
        finished
            || self.scanner.as_ref().is_some_and(|scanner| {
                scanner.state() == JsonState::Complete
                    && scanner.starts_object()
                    && !scanner.is_empty_object()
            })
    }

    /// Arguments as the reader of a complete call should see them: none means the empty object.
    pub fn final_arguments(&self) -> &str {
        if self.is_blank() && self.scanner.is_some() { "{}" } else { &self.text }
    }

    pub(super) fn everything_shown(&self) -> Shown {
        Shown { opened: true, bytes: self.text.len(), signature: self.signature.len(), closed: self.closed }
    }
}

/// One change of the turn, for the reader's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    pub part: usize,
    pub change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Opened,
    /// Bytes `from..to` of the part's text are new.
    Text {
        from: usize,
        to: usize,
    },
    /// The part's text was replaced as a whole.
    Replaced,
    Signature {
        from: usize,
        to: usize,
    },
    Closed,
    /// Closed by an event that is passed on as it is.
    ClosedAsIs,
}
