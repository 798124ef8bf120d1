//! What a dialect reads out of one event, in words that all dialects share.

use std::borrow::Cow;

/// Where a delta belongs: a choice (0 unless `n > 1`) and a slot that the dialect gives to each of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub choice: u32,
    pub slot: u32,
}

/// The kinds of content a turn is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    Text,
    Reasoning,
    Refusal,
    /// A tool call that the client executes.
    Tool,
    /// An item that the provider executes itself (web search, code execution).
    Server,
    /// A block of a type that this version does not know.
    Other,
}

/// Stop reasons, normalised over all dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    MaxTokens,
    StopSequence,
    ToolUse,
    ContentFilter,
    Refusal,
    Pause,
    /// The provider could not make anything of what its model said: the end, but of no use.
    Error,
    Other,
    /// The provider gave up (`error`, `abort`, ...): never a proof of completeness.
    Abnormal,
}

impl Stop {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Pause => "pause",
            Self::Error => "error",
            Self::Other => "other",
            Self::Abnormal => "abnormal",
        }
    }

    /// True when tool calls that were open at this stop are finished by it.
    pub fn closes_tools(self) -> bool {
        !matches!(self, Self::MaxTokens | Self::ContentFilter | Self::Refusal | Self::Error | Self::Abnormal)
    }
}

/// Token counters as one event reported them; later values replace earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

impl Counters {
    pub fn replace_with(&mut self, newer: Self) {
        self.input = newer.input.or(self.input);
        self.output = newer.output.or(self.output);
        self.cache_read = newer.cache_read.or(self.cache_read);
        self.cache_write = newer.cache_write.or(self.cache_write);
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// An error that the provider reported inside a 200 stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    pub kind: String,
    pub code: String,
    pub status: Option<u16>,
    pub message: String,
    /// The event as it was received, blank line included.
    pub raw: Vec<u8>,
}

/// One fact of an event.
#[derive(Debug)]
pub enum Delta<'a> {
    /// The envelope of the message.
    Begin {
        id: Cow<'a, str>,
        model: Cow<'a, str>,
    },
    /// A part opens. `index` is its number on the provider's wire, `raw` its opening object where there is one.
    Open {
        key: Key,
        kind: PartKind,
        index: u32,
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        raw: &'a [u8],
    },
    /// More text of a text, reasoning or refusal part; opens it where the dialect has no opening.
    Text {
        key: Key,
        kind: PartKind,
        text: Cow<'a, str>,
    },
    /// More arguments of a tool call.
    Arguments {
        key: Key,
        text: Cow<'a, str>,
    },
    /// Arguments that replace what was received so far (providers that send objects).
    ReplaceArguments {
        key: Key,
        text: String,
    },
    /// The arguments of this call are no JSON.
    FreeText {
        key: Key,
    },
    /// The arguments are whole, the call is not closed yet.
    Finished {
        key: Key,
    },
    /// A part that is empty so far turns out to be of another kind.
    Retype {
        key: Key,
        kind: PartKind,
    },
    /// More of a tool's name (providers that send it in pieces).
    Name {
        key: Key,
        text: Cow<'a, str>,
    },
    /// More of a reasoning part's signature.
    Signature {
        key: Key,
        text: Cow<'a, str>,
    },
    /// An event or delta that is only passed on; the last one of a part closes it.
    Raw {
        key: Key,
        raw: &'a [u8],
        closes: bool,
    },
    Close {
        key: Key,
    },
    Usage(Counters),
    Stop {
        choice: u32,
        stop: Stop,
        raw: Cow<'a, str>,
    },
    /// No choice that was asked for will come: the first stop reason stands for all of them.
    NoChoices,
    /// The dialect's last event.
    End,
    Failure(Failure),
    /// An event that is progress but changes nothing here.
    Opaque,
    /// A ping.
    Keepalive,
}
