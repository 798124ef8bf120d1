//! Wire protocols: one file each. A dialect reads events into deltas and writes changes of the turn back.

mod anthropic;
mod bedrock;
mod chat;
mod cohere;
mod gemini;
mod interactions;
mod objects;
mod ollama;
mod responses;

pub use anthropic::Anthropic;
pub use bedrock::Bedrock;
pub use chat::Chat;
pub use cohere::Cohere;
pub use gemini::Gemini;
pub use interactions::Interactions;
pub use ollama::Ollama;
pub use responses::Responses;

use crate::delta::{Delta, PartKind, Stop};
use crate::frame::{Frame, Framing};
use crate::turn::{Change, Part, Turn};

/// How an event of a resumed stream follows the last one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    Next,
    /// It was read before the cut.
    Read,
    /// Events before it are missing.
    Gap,
}

/// What the last event of a response was that was read, and where it belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub event: String,
    /// The number of its item, and of what it is about inside that.
    pub item: u32,
    pub inner: u32,
}

/// One wire protocol, both directions. Reading state belongs to one attempt, writing state to the reader.
pub trait Dialect: Send + Sync {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing>;

    /// Reads one frame that is not silent.
    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>);

    /// A new attempt begins; `rewriting` when the reader has seen something of the last one.
    fn next_attempt(&mut self, rewriting: bool);

    /// Where the dialect numbers its events: the number of the next one on the reader's wire.
    fn mark(&self) -> u64 {
        0
    }

    /// After a cut only what has left counts: `mark` is that of the first event that did not.
    fn settle(&mut self, _mark: u64) {}

    /// The provider's id of the response at hand, and the mark of its last event where events have one.
    fn resume_point(&self) -> (String, Option<String>) {
        (String::new(), None)
    }

    /// The last event of the response at hand, in dialects whose responses can be asked for as a whole.
    fn last_place(&self) -> Option<Place> {
        None
    }

    /// The number of the item that a part's slot belongs to, and that of the part inside it.
    fn item_of(&self, slot: u32) -> (u32, u32) {
        (slot, 0)
    }

    /// The response at hand is taken up again.
    fn resumed(&mut self) {}

    /// How the next event of a resumed stream follows what was read.
    fn follows(&mut self, _frame: &Frame<'_>) -> Follows {
        Follows::Next
    }

    /// An opening that has left cannot be taken back, so that of a text waits for its text however long that takes.
    fn keeps_openings(&self) -> bool {
        false
    }

    /// Keep-alives of the provider have numbers: they stay in their order, and other attempts' do not pass.
    fn numbers_keepalives(&self) -> bool {
        false
    }

    /// False for parts that are only passed on: what of one has not left is dropped at a cut.
    fn rewrites(&self, _kind: PartKind) -> bool {
        true
    }

    /// True for parts that have a number of their own on the wire.
    fn numbers(&self, kind: PartKind) -> bool;

    /// Writes one change of a part. `begun` says whether the envelope of the message has left.
    fn write_change(&mut self, part: &Part, change: Change, begun: bool, out: &mut Vec<u8>);

    /// Writes a delta that is only passed on.
    fn write_raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>);

    /// Writes the stop reason (with usage where it belongs there).
    fn write_stop(&mut self, turn: &Turn, choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>);

    /// Writes whatever ends the stream; `usage` where it stands in an event of its own and has not left.
    fn write_end(&mut self, turn: &Turn, usage: bool, out: &mut Vec<u8>);

    fn write_error(&self, kind: &str, message: &str, status: Option<u16>, out: &mut Vec<u8>);

    /// What keeps a waiting reader alive and means nothing; empty where readers break on it. `ids_seen`: the stream
    /// has carried event ids.
    fn keepalive(&self, ids_seen: bool) -> &'static [u8];
}

/// The dialect of that name.
pub fn by_name(name: &str) -> Option<Box<dyn Dialect>> {
    match name {
        "openai-chat" => Some(Box::new(Chat::default())),
        "openai-responses" => Some(Box::new(Responses::default())),
        "anthropic" => Some(Box::new(Anthropic)),
        "gemini" => Some(Box::new(Gemini::default())),
        "bedrock" => Some(Box::new(Bedrock::default())),
        "cohere" => Some(Box::new(Cohere::default())),
        "ollama" => Some(Box::new(Ollama::default())),
        "gemini-interactions" => Some(Box::new(Interactions::default())),
        _ => None,
    }
}
