//! `OpenAI` Responses.
//!
//! A message item with one text is one text part; its three closing events (text, part, item) are one closing. Calls
//! close with their item. Reasoning and items that the provider executes are accumulated as far as they are text and
//! passed on as they are, with their numbers changed.

mod book;
mod content;
mod errors;
mod events;
mod items;
mod numbered;
mod pieces;
mod reading;
mod write;

use events::parse;

use super::{Dialect, Follows, Place};
use crate::delta::{Delta, PartKind, Stop};
use crate::frame::{Frame, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};
use write::Writer;

/// Slots of one output item: the item itself or its first content, then further content.
pub(super) const SLOTS_PER_ITEM: u32 = 4096;

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Responses {
    writer: Writer,
    /// Slots that have shown a piece of their text or arguments.
    heard: Vec<u32>,
    /// The provider's own id of the response at hand, and the number of the last event read.
    response_id: String,
    last: Option<u64>,
    place: Option<Place>,
    /// Ids of the items, in order, of a server that does not say where they stand.
    unplaced: Vec<String>,
}

impl Dialect for Responses {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None | Some(b':') => deltas.push(Delta::Keepalive),
            Some(b'{') => self.read_event(data, frame.kind, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, rewriting: bool) {
        self.heard.clear();
        self.response_id.clear();
        self.unplaced.clear();
        self.last = None;
        self.place = None;
        self.writer.next_attempt(rewriting);
    }

    fn resume_point(&self) -> (String, Option<String>) {
        (self.response_id.clone(), self.last.map(|last| last.to_string()))
    }

    fn last_place(&self) -> Option<Place> {
        self.place.clone()
    }

    fn item_of(&self, slot: u32) -> (u32, u32) {
        (slot / SLOTS_PER_ITEM, slot % SLOTS_PER_ITEM)
    }

    fn follows(&mut self, frame: &Frame<'_>) -> Follows {
        let number = parse(frame.data.trim_ascii()).and_then(|event| event.sequence);
        match (number, self.last) {
            (Some(number), Some(last)) if number <= last => Follows::Read,
            (Some(number), Some(last)) if number > last + 1 => Follows::Gap,
            _ => Follows::Next,
        }
    }

    fn mark(&self) -> u64 {
        self.writer.sequence()
    }

    fn settle(&mut self, mark: u64) {
        self.writer.settle(mark);
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        true
    }

    fn keeps_openings(&self) -> bool {
        true
    }

    fn numbers_keepalives(&self) -> bool {
        true
    }

    fn rewrites(&self, kind: PartKind) -> bool {
        kind != PartKind::Reasoning
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        self.writer.change(part, change, out);
    }

    fn write_raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>) {
        self.writer.raw(part, raw, out);
    }

    fn write_stop(&mut self, _turn: &Turn, _choice: u32, _stop: Stop, _raw: &str, _out: &mut Vec<u8>) {}

    fn write_end(&mut self, turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        self.writer.end(turn, out);
    }

    fn write_error(&self, kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        self.writer.error(kind, message, out);
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b": keep-alive\n\n"
    }
}

impl Responses {}
