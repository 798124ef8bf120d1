//! `OpenAI` Responses: reading. Writing is in `responses_write`, what items are in `responses_items`.
//!
//! A message item with one text is one text part; its three closing events (text, part, item) are one closing. Calls
//! close with their item. Reasoning and items that the provider executes are accumulated as far as they are text and
//! passed on as they are, with their numbers changed.

use std::borrow::Cow;

use super::objects::members;
use super::responses_errors::{read_error, read_terminal};
use super::responses_items::{Carries, Item, kind_of};
use super::responses_write::Writer;
use super::{Dialect, Follows, Place};
use crate::cursor::Cursor;
use crate::delta::{Delta, Key, PartKind, Stop};
use crate::frame::{Frame, FrameKind, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

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

/// The members of an event that matter here.
#[derive(Default)]
struct Event<'a> {
    kind: Cow<'a, str>,
    sequence: Option<u64>,
    output_index: Option<u32>,
    content_index: u32,
    summary_index: Option<u32>,
    item_id: Cow<'a, str>,
    delta: Option<Cow<'a, str>>,
    /// What a `.done` event repeats whole.
    whole: Option<Cow<'a, str>>,
    item: &'a [u8],
    part: &'a [u8],
    annotation: &'a [u8],
    response: &'a [u8],
    error: &'a [u8],
    code: &'a [u8],
    message: &'a [u8],
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

impl Responses {
    fn read_event<'a>(&mut self, data: &'a [u8], kind: FrameKind, deltas: &mut Vec<Delta<'a>>) {
        let Some(mut event) = parse(data) else {
            deltas.push(Delta::Opaque);
            return;
        };
        self.place(&mut event);
        let has_error = !matches!(event.error, b"" | b"null" | b"{}");
        if kind == FrameKind::Unknown && !has_error {
            deltas.push(Delta::Opaque);
            return;
        }
        match event.kind.as_ref() {
            "error" => deltas.push(Delta::Failure(read_error(event.error, event.code, event.message))),
            "response.completed" | "response.incomplete" | "response.cancelled" | "response.failed" => {
                read_terminal(&event.kind, event.response, deltas);
            }
            _ if has_error => {
                deltas.push(Delta::Failure(read_error(event.error, event.code, event.message)));
            }
            "keepalive" | "response.keepalive" | "ping" | "heartbeat" => deltas.push(Delta::Keepalive),
            "response.created" => self.read_created(&event, deltas),
            "response.output_item.added" => self.read_item(&event, deltas),
            "response.output_item.done" => self.read_item_done(&event, data, deltas),
            _ if event.output_index.is_some() => self.read_content(&event, data, deltas),
            _ => {}
        }
        if !deltas.iter().any(|delta| matches!(delta, Delta::Failure(_))) {
            self.writer.saw(event.sequence);
            self.last = event.sequence.or(self.last);
            self.note_place(&event);
        }
        if deltas.is_empty() {
            deltas.push(Delta::Opaque);
        }
    }

    fn note_place(&mut self, event: &Event<'_>) {
        if event.output_index.is_none() && self.place.is_some() {
            return; // a keep-alive says nothing about where the response stands
        }
        let place = self.place.get_or_insert_default();
        event.kind.as_ref().clone_into(&mut place.event);
        place.item = event.output_index.unwrap_or(0);
        place.inner = event.summary_index.unwrap_or(event.content_index);
    }

    /// llama.cpp leaves out the numbers of items: there they are numbered as they come.
    fn place(&mut self, event: &mut Event<'_>) {
        if event.output_index.is_some() || (event.item_id.is_empty() && event.item.is_empty()) {
            return;
        }
        let id = if event.item_id.is_empty() { Item::read(event.item).id } else { event.item_id.clone() };
        let at = self.unplaced.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.unplaced.push(id.into_owned());
            self.unplaced.len() - 1
        });
        event.output_index = u32::try_from(at).ok();
    }

    /// The number of this event on the wire.
    fn number(&self, event: &Event<'_>) -> u64 {
        event.sequence.unwrap_or(self.writer.sequence())
    }

    fn read_created<'a>(&mut self, event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
        self.writer.created(event.response);
        let (mut id, mut model) = (Cow::Borrowed(""), Cow::Borrowed(""));
        members(event.response, |name, cursor| match name {
            b"id" => id = cursor.string().unwrap_or_default(),
            b"model" => model = cursor.string().unwrap_or_default(),
            _ => {
                cursor.skip();
            }
        });
        id.as_ref().clone_into(&mut self.response_id);
        deltas.push(Delta::Begin { id, model });
    }

    fn read_item<'a>(&mut self, event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
        let item = Item::read(event.item);
        let Some(kind) = item.part_kind() else { return };
        let (key, index) = (item_key(event), event.output_index.unwrap_or(0));
        self.writer.added(index, key.slot, &item.id, event.item, self.number(event));
        let free_text = item.carries() == Some(Carries::FreeText);
        let (id, name) = item.names();
        deltas.push(Delta::Open { key, kind, index, id, name, raw: event.item });
        if free_text {
            deltas.push(Delta::FreeText { key });
        }
    }

    /// Everything that happens inside an item.
    fn read_content<'a>(&mut self, event: &Event<'a>, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        match event.kind.as_ref() {
            "response.output_text.delta" => self.push_text(event, PartKind::Text, deltas),
            "response.refusal.delta" => self.push_text(event, PartKind::Refusal, deltas),
            "response.output_text.done" => self.read_text_done(event, PartKind::Text, deltas),
            "response.refusal.done" => self.read_text_done(event, PartKind::Refusal, deltas),
            "response.content_part.added" => self.read_part(event, data, deltas),
            "response.content_part.done" => self.read_part_done(event, data, deltas),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.push_arguments(event, event.delta.clone(), deltas);
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                self.push_unheard_arguments(event, event.whole.clone(), deltas);
                deltas.push(Delta::Finished { key: item_key(event) });
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                let key = item_key(event);
                if let Some(text) = event.delta.clone() {
                    deltas.push(Delta::Text { key, kind: PartKind::Reasoning, text });
                }
                deltas.push(Delta::Raw { key, raw: data, closes: false });
            }
            "response.output_text.annotation.added" => {
                self.writer.annotated(event.output_index.unwrap_or(0), event.annotation, self.number(event));
                deltas.push(Delta::Raw { key: key(event), raw: data, closes: false });
            }
            _ => deltas.push(Delta::Raw { key: item_key(event), raw: data, closes: false }),
        }
    }

    fn hear(&mut self, slot: u32) {
        if !self.heard.contains(&slot) {
            self.heard.push(slot);
        }
    }

    fn push_text<'a>(&mut self, event: &Event<'a>, kind: PartKind, deltas: &mut Vec<Delta<'a>>) {
        let key = key(event);
        if let Some(text) = event.delta.clone() {
            if kind == PartKind::Refusal {
                deltas.push(Delta::Retype { key, kind });
            }
            self.hear(key.slot);
            deltas.push(Delta::Text { key, kind, text });
        }
    }

    /// Text that came in no delta stands in its closing event.
    fn read_text_done<'a>(&mut self, event: &Event<'a>, kind: PartKind, deltas: &mut Vec<Delta<'a>>) {
        let key = key(event);
        if let Some(text) = event.whole.clone().filter(|_| !self.heard.contains(&key.slot)) {
            self.hear(key.slot);
            deltas.push(Delta::Text { key, kind, text });
        }
        deltas.push(Delta::Close { key });
    }

    fn push_arguments<'a>(
        &mut self,
        event: &Event<'a>,
        text: Option<Cow<'a, str>>,
        deltas: &mut Vec<Delta<'a>>,
    ) {
        let key = item_key(event);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.hear(key.slot);
            deltas.push(Delta::Arguments { key, text });
        }
    }

    fn push_unheard_arguments<'a>(
        &mut self,
        event: &Event<'a>,
        text: Option<Cow<'a, str>>,
        deltas: &mut Vec<Delta<'a>>,
    ) {
        if !self.heard.contains(&item_key(event).slot) {
            self.push_arguments(event, text, deltas);
        }
    }

    /// The first content of a message is the part that its item opened; more content is a part of its own.
    fn read_part<'a>(&mut self, event: &Event<'a>, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let (key, index) = (key(event), event.output_index.unwrap_or(0));
        let kind = match kind_of(event.part).as_ref() {
            "output_text" => PartKind::Text,
            "refusal" => PartKind::Refusal,
            _ => {
                deltas.push(Delta::Raw { key: item_key(event), raw: data, closes: false });
                return;
            }
        };
        self.writer.content_added(index, event.content_index, self.number(event));
        if event.content_index > 0 {
            let (id, name) = (event.item_id.clone(), Cow::Borrowed(""));
            deltas.push(Delta::Open { key, kind, index, id, name, raw: b"" });
        } else if kind == PartKind::Refusal {
            deltas.push(Delta::Retype { key, kind });
        }
    }

    fn read_part_done<'a>(&mut self, event: &Event<'a>, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        if matches!(kind_of(event.part).as_ref(), "output_text" | "refusal") {
            let index = event.output_index.unwrap_or(0);
            self.writer.content_done(index, event.content_index, event.part, self.number(event));
        } else {
            deltas.push(Delta::Raw { key: item_key(event), raw: data, closes: false });
        }
    }

    /// A call closes with its item; text has closed already; everything else is passed on.
    fn read_item_done<'a>(&mut self, event: &Event<'a>, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        self.writer.item_done(event.output_index.unwrap_or(0), event.item, self.number(event));
        let (key, item) = (item_key(event), Item::read(event.item));
        match (item.carries(), item.part_kind()) {
            (Some(Carries::Item), _) => {
                if let Some(arguments) = item.arguments() {
                    deltas.push(Delta::ReplaceArguments { key, text: arguments.into_owned() });
                }
                deltas.push(Delta::Raw { key, raw: data, closes: true });
            }
            (Some(_), _) => {
                self.push_unheard_arguments(event, item.arguments(), deltas);
                deltas.push(Delta::Close { key });
            }
            (None, Some(PartKind::Text) | None) => {}
            (None, Some(_)) => deltas.push(Delta::Raw { key, raw: data, closes: true }),
        }
    }
}

fn parse(data: &[u8]) -> Option<Event<'_>> {
    let mut event = Event::default();
    let mut cursor = Cursor::new(data);
    cursor.enter_object();
    while let Some(name) = cursor.key() {
        match name {
            b"type" => event.kind = cursor.string().unwrap_or_default(),
            b"sequence_number" => event.sequence = cursor.unsigned(),
            b"output_index" => event.output_index = index(&mut cursor),
            b"content_index" => event.content_index = index(&mut cursor).unwrap_or(0),
            b"summary_index" => event.summary_index = index(&mut cursor),
            b"item_id" => event.item_id = cursor.string().unwrap_or_default(),
            b"delta" => event.delta = cursor.string(),
            b"arguments" | b"input" | b"text" | b"refusal" => event.whole = cursor.string(),
            b"item" => event.item = cursor.skip(),
            b"part" => event.part = cursor.skip(),
            b"annotation" => event.annotation = cursor.skip(),
            b"response" => event.response = cursor.skip(),
            b"error" => event.error = cursor.skip(),
            b"code" => event.code = cursor.skip(),
            b"message" => event.message = cursor.skip(),
            _ => {
                cursor.skip();
            }
        }
    }
    cursor.ok().then_some(event)
}

fn index(cursor: &mut Cursor<'_>) -> Option<u32> {
    cursor.unsigned().map(|value| u32::try_from(value).unwrap_or(u32::MAX))
}

fn item_key(event: &Event<'_>) -> Key {
    Key { choice: 0, slot: event.output_index.unwrap_or(0).saturating_mul(SLOTS_PER_ITEM) }
}

fn key(event: &Event<'_>) -> Key {
    let item = item_key(event);
    Key { slot: item.slot.saturating_add(event.content_index.min(SLOTS_PER_ITEM - 1)), ..item }
}
