//! `OpenAI` Responses: reading. Writing is in `responses_write`.
//!
//! A message item with one text is one text part; its three closing events (text, part, item) are one closing. Calls
//! close with their item. Reasoning and items that the provider executes are accumulated as far as they are text and
//! passed on as they are, with their numbers changed.

use std::borrow::Cow;

use super::Dialect;
use super::responses_write::Writer;
use crate::cursor::Cursor;
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::frame::{Frame, FrameKind, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

/// Slots of one output item: the item itself or its first content, then further content.
const SLOTS_PER_ITEM: u64 = 4096;

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Responses {
    writer: Writer,
    /// Slots of calls that have shown a piece of their arguments.
    argued: Vec<u32>,
}

/// The members of an event that matter here.
#[derive(Default)]
struct Event<'a> {
    kind: Cow<'a, str>,
    sequence: Option<u64>,
    output_index: Option<u64>,
    content_index: Option<u64>,
    item_id: Cow<'a, str>,
    delta: Option<Cow<'a, str>>,
    arguments: Option<Cow<'a, str>>,
    item: &'a [u8],
    part: &'a [u8],
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
        self.argued.clear();
        self.writer.next_attempt(rewriting);
    }

    fn mark(&self) -> u64 {
        self.writer.sequence()
    }

    fn settle(&mut self, mark: Option<u64>, next_index: u32) {
        self.writer.settle(mark, next_index);
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        true
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
        let Some(event) = parse(data) else {
            deltas.push(Delta::Opaque);
            return;
        };
        let has_error = !matches!(event.error, b"" | b"null" | b"{}");
        if kind == FrameKind::Unknown && !has_error {
            deltas.push(Delta::Opaque);
            return;
        }
        self.writer.saw(event.sequence);
        match event.kind.as_ref() {
            "response.created" => self.read_created(&event, deltas),
            "response.output_item.added" => read_item(&event, deltas),
            "response.content_part.added" => read_part(&event, deltas),
            "response.output_text.delta" => push_text(&event, PartKind::Text, deltas),
            "response.refusal.delta" => push_text(&event, PartKind::Refusal, deltas),
            "response.output_text.done" | "response.refusal.done" => {
                deltas.push(Delta::Close { key: key(&event) });
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.push_arguments(&event, event.delta.clone(), deltas);
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done"
                if !self.argued.contains(&item_key(&event).slot) =>
            {
                self.push_arguments(&event, event.arguments.clone(), deltas);
            }
            "response.output_item.done" => self.read_item_done(&event, data, deltas),
            "response.completed" | "response.incomplete" => read_terminal(&event, deltas),
            "response.failed" => deltas.push(Delta::Failure(read_failed(event.response))),
            "error" => deltas.push(Delta::Failure(read_error(&event))),
            _ if has_error => deltas.push(Delta::Failure(read_error(&event))),
            other => read_passed_on(other, &event, data, deltas),
        }
        if deltas.is_empty() {
            deltas.push(Delta::Opaque);
        }
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
        deltas.push(Delta::Begin { id, model });
    }

    fn push_arguments<'a>(
        &mut self,
        event: &Event<'a>,
        text: Option<Cow<'a, str>>,
        deltas: &mut Vec<Delta<'a>>,
    ) {
        let key = item_key(event);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.argued.push(key.slot);
            self.argued.dedup();
            deltas.push(Delta::Arguments { key, text });
        }
    }

    /// A call closes with its item; text has closed already; everything else is passed on.
    fn read_item_done<'a>(&mut self, event: &Event<'a>, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        self.writer.item_done(event.output_index, event.item);
        let key = item_key(event);
        match item_kind(&item_type(event.item)) {
            Some(PartKind::Tool) => deltas.push(Delta::Close { key }),
            Some(PartKind::Text) | None => {}
            Some(_) => deltas.push(Delta::Raw { key, raw: data, closes: true }),
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
            b"output_index" => event.output_index = cursor.unsigned(),
            b"item_id" => event.item_id = cursor.string().unwrap_or_default(),
            b"content_index" => event.content_index = cursor.unsigned(),
            b"delta" => event.delta = cursor.string(),
            b"arguments" | b"input" => event.arguments = cursor.string(),
            b"item" => event.item = cursor.skip(),
            b"part" => event.part = cursor.skip(),
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

fn item_key(event: &Event<'_>) -> Key {
    let slot = event.output_index.unwrap_or(0).saturating_mul(SLOTS_PER_ITEM);
    Key { choice: 0, slot: u32::try_from(slot).unwrap_or(u32::MAX) }
}

fn key(event: &Event<'_>) -> Key {
    let item = item_key(event);
    let content = u32::try_from(event.content_index.unwrap_or(0)).unwrap_or(u32::MAX);
    Key { choice: 0, slot: item.slot.saturating_add(content) }
}

fn index(event: &Event<'_>) -> u32 {
    u32::try_from(event.output_index.unwrap_or(0)).unwrap_or(u32::MAX)
}

fn item_type(item: &[u8]) -> Cow<'_, str> {
    let mut kind = Cow::Borrowed("");
    members(item, |name, cursor| match name {
        b"type" => kind = cursor.string().unwrap_or_default(),
        _ => {
            cursor.skip();
        }
    });
    kind
}

/// Calls without the client's hand are the server's; `None` for items that carry nothing of the answer.
fn item_kind(kind: &str) -> Option<PartKind> {
    match kind {
        "message" => Some(PartKind::Text),
        "reasoning" => Some(PartKind::Reasoning),
        "function_call" | "custom_tool_call" => Some(PartKind::Tool),
        "" => None,
        _ => Some(PartKind::Server),
    }
}

fn read_item<'a>(event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
    let (mut id, mut name, mut call_id) = (Cow::Borrowed(""), Cow::Borrowed(""), Cow::Borrowed(""));
    members(event.item, |member, cursor| match member {
        b"id" => id = cursor.string().unwrap_or_default(),
        b"call_id" => call_id = cursor.string().unwrap_or_default(),
        b"name" => name = cursor.string().unwrap_or_default(),
        _ => {
            cursor.skip();
        }
    });
    let Some(kind) = item_kind(&item_type(event.item)) else { return };
    let id = if kind == PartKind::Tool { call_id } else { id };
    deltas.push(Delta::Open { key: item_key(event), kind, index: index(event), id, name, raw: event.item });
}

/// The first content of a message is the part that its item opened; more content is a part of its own.
fn read_part<'a>(event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
    let kind = match item_type(event.part).as_ref() {
        "output_text" if event.content_index.unwrap_or(0) == 0 => return,
        "output_text" => PartKind::Text,
        "refusal" => PartKind::Refusal,
        _ => return,
    };
    let key = if kind == PartKind::Refusal { refusal_key(event) } else { key(event) };
    let (id, name) = (event.item_id.clone(), Cow::Borrowed(""));
    deltas.push(Delta::Open { key, kind, index: index(event), id, name, raw: b"" });
}

fn refusal_key(event: &Event<'_>) -> Key {
    let plain = key(event);
    Key { slot: plain.slot.saturating_add(2048), ..plain }
}

fn push_text<'a>(event: &Event<'a>, kind: PartKind, deltas: &mut Vec<Delta<'a>>) {
    let key = if kind == PartKind::Refusal { refusal_key(event) } else { key(event) };
    if let Some(text) = event.delta.clone() {
        deltas.push(Delta::Text { key, kind, text });
    }
}

/// Events of reasoning and server-side items, and whatever future versions add to an item.
fn read_passed_on<'a>(kind: &str, event: &Event<'a>, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    if event.output_index.is_none()
        || matches!(kind, "response.content_part.done" | "response.output_text.annotation.added")
    {
        if kind == "response.output_text.annotation.added" {
            deltas.push(Delta::Raw { key: key(event), raw: data, closes: false });
        }
        return;
    }
    let key = item_key(event);
    if matches!(kind, "response.reasoning_text.delta" | "response.reasoning_summary_text.delta")
        && let Some(text) = event.delta.clone()
    {
        deltas.push(Delta::Text { key, kind: PartKind::Reasoning, text });
    }
    deltas.push(Delta::Raw { key, raw: data, closes: false });
}

fn read_terminal<'a>(event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
    let (mut usage, mut details): (&[u8], &[u8]) = (b"", b"");
    members(event.response, |name, cursor| match name {
        b"usage" => usage = cursor.skip(),
        b"incomplete_details" => details = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    push_usage(usage, deltas);
    let raw = if event.kind == "response.completed" { Cow::Borrowed("completed") } else { reason(details) };
    let stop = match raw.as_ref() {
        "completed" => Stop::EndTurn,
        "max_output_tokens" => Stop::MaxTokens,
        "content_filter" => Stop::ContentFilter,
        _ => Stop::Other,
    };
    deltas.push(Delta::Stop { choice: 0, stop, raw });
    deltas.push(Delta::End);
}

fn reason(details: &[u8]) -> Cow<'_, str> {
    let mut reason = Cow::Borrowed("incomplete");
    members(details, |name, cursor| match name {
        b"reason" => reason = cursor.string().unwrap_or(Cow::Borrowed("incomplete")),
        _ => {
            cursor.skip();
        }
    });
    reason
}

fn push_usage(raw: &[u8], deltas: &mut Vec<Delta<'_>>) {
    let mut counters = Counters::default();
    members(raw, |name, cursor| match name {
        b"input_tokens" => counters.input = cursor.unsigned(),
        b"output_tokens" => counters.output = cursor.unsigned(),
        b"input_tokens_details" => members(cursor.skip(), |detail, cursor| match detail {
            b"cached_tokens" => counters.cache_read = cursor.unsigned(),
            _ => {
                cursor.skip();
            }
        }),
        _ => {
            cursor.skip();
        }
    });
    if !counters.is_empty() {
        deltas.push(Delta::Usage(counters));
    }
}

fn read_failed(response: &[u8]) -> Failure {
    let mut failure = Failure::default();
    members(response, |name, cursor| match name {
        b"error" => failure = read_error_object(cursor.skip()),
        _ => {
            cursor.skip();
        }
    });
    failure
}

/// Flat as documented, or nested as seen in practice.
fn read_error(event: &Event<'_>) -> Failure {
    if event.error.first() == Some(&b'{') {
        return read_error_object(event.error);
    }
    let text = |raw: &[u8]| Cursor::new(raw).string().unwrap_or_default().into_owned();
    let code = text(event.code);
    Failure {
        status: status_of(&code),
        kind: code.clone(),
        code,
        message: text(event.message),
        raw: Vec::new(),
    }
}

fn read_error_object(raw: &[u8]) -> Failure {
    let mut failure = Failure::default();
    members(raw, |name, cursor| match name {
        b"type" => failure.kind = cursor.string().unwrap_or_default().into_owned(),
        b"code" => failure.code = cursor.string().unwrap_or_default().into_owned(),
        b"message" => failure.message = cursor.string().unwrap_or_default().into_owned(),
        _ => {
            cursor.skip();
        }
    });
    failure.status = status_of(&failure.code).or_else(|| status_of(&failure.kind));
    failure
}

fn status_of(name: &str) -> Option<u16> {
    match name {
        "server_error" | "internal_error" => Some(500),
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" => Some(429),
        "overloaded" | "service_unavailable" => Some(503),
        "" => None,
        _ => Some(400),
    }
}

/// Visits the members of an object; anything else is visited as empty. The visitor consumes each value.
pub(super) fn members<'a>(raw: &'a [u8], mut visit: impl FnMut(&'a [u8], &mut Cursor<'a>)) {
    let mut cursor = Cursor::new(raw);
    if raw.first() != Some(&b'{') || !cursor.enter_object() {
        return;
    }
    while let Some(key) = cursor.key() {
        visit(key, &mut cursor);
    }
}
