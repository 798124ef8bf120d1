//! Cohere: events into deltas.

use std::borrow::Cow;

use super::{CALLS, Cohere, PLAN, PLAN_MARK};
use crate::cursor::Cursor;
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::dialect::objects::{descend, member, string_at, unsigned_at};

/// The members of an event that matter here, in whatever order they came.
#[derive(Default)]
struct Event<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) id: Cow<'a, str>,
    pub(super) index: u32,
    pub(super) delta: &'a [u8],
}

impl Cohere {
    pub(super) fn read_event<'a>(&mut self, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let Some(event) = parse(data) else {
            deltas.push(Delta::Opaque);
            return;
        };
        let content = Key { choice: 0, slot: event.index };
        let call = Key { choice: 0, slot: CALLS + event.index };
        match event.kind.as_ref() {
            "message-start" => deltas.push(Delta::Begin { id: event.id, model: Cow::Borrowed("") }),
            "tool-plan-delta" => self.read_plan(event.delta, deltas),
            "content-start" => read_content_start(content, event.delta, deltas),
            "content-delta" => read_content_delta(content, event.delta, deltas),
            "content-end" => deltas.push(Delta::Close { key: content }),
            "tool-call-start" => read_call_start(call, event.index, event.delta, deltas),
            "tool-call-delta" => {
                let function = descend(event.delta, &[b"message", b"tool_calls", b"function"]);
                push_arguments(call, function, deltas);
            }
            "tool-call-end" => deltas.push(Delta::Close { key: call }),
            "message-end" => read_end(event.delta, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    /// A plan has no opening of its own.
    fn read_plan<'a>(&mut self, delta: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        if !self.plans {
            self.plans = true;
            deltas.push(Delta::Open {
                key: PLAN,
                kind: PartKind::Reasoning,
                index: 0,
                id: Cow::Borrowed(""),
                name: Cow::Borrowed(""),
                raw: PLAN_MARK,
            });
        }
        let text = string_at(member(delta, b"message"), b"tool_plan").unwrap_or_default();
        deltas.push(Delta::Text { key: PLAN, kind: PartKind::Reasoning, text });
    }
}

fn parse(data: &[u8]) -> Option<Event<'_>> {
    let mut event = Event::default();
    let mut cursor = Cursor::new(data);
    cursor.enter_object();
    while let Some(key) = cursor.key() {
        match key {
            b"type" => event.kind = cursor.string().unwrap_or_default(),
            b"id" => event.id = cursor.string().unwrap_or_default(),
            b"index" => {
                event.index = u32::try_from(cursor.unsigned().unwrap_or(0)).unwrap_or(0).min(CALLS - 1);
            }
            b"delta" => event.delta = cursor.skip(),
            _ => {
                cursor.skip();
            }
        }
    }
    cursor.ok().then_some(event)
}

fn read_content_start<'a>(key: Key, delta: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let raw = descend(delta, &[b"message", b"content"]);
    let kind = match string_at(raw, b"type").as_deref() {
        Some("thinking") => PartKind::Reasoning,
        Some("text") | None => PartKind::Text,
        Some(_) => PartKind::Other,
    };
    let empty = Cow::Borrowed("");
    deltas.push(Delta::Open { key, kind, index: key.slot, id: empty.clone(), name: empty, raw });
    push_content(key, raw, deltas);
}

fn read_content_delta<'a>(key: Key, delta: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let before = deltas.len();
    push_content(key, descend(delta, &[b"message", b"content"]), deltas);
    if deltas.len() == before {
        deltas.push(Delta::Opaque);
    }
}

fn push_content<'a>(key: Key, raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    for (name, kind) in [(b"thinking".as_slice(), PartKind::Reasoning), (b"text", PartKind::Text)] {
        if let Some(text) = string_at(raw, name).filter(|text| !text.is_empty()) {
            deltas.push(Delta::Text { key, kind, text });
        }
    }
}

fn read_call_start<'a>(key: Key, index: u32, delta: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let raw = descend(delta, &[b"message", b"tool_calls"]);
    let function = descend(raw, &[b"function"]);
    deltas.push(Delta::Open {
        key,
        kind: PartKind::Tool,
        index,
        id: string_at(raw, b"id").unwrap_or_default(),
        name: string_at(function, b"name").unwrap_or_default(),
        raw: b"",
    });
    push_arguments(key, function, deltas);
}

fn push_arguments<'a>(key: Key, function: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let text = string_at(function, b"arguments").unwrap_or_default();
    deltas.push(Delta::Arguments { key, text });
}

fn read_end<'a>(delta: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let tokens = descend(delta, &[b"usage", b"tokens"]);
    let count = |name: &[u8]| unsigned_at(tokens, name);
    let counters =
        Counters { input: count(b"input_tokens"), output: count(b"output_tokens"), ..Counters::default() };
    if !counters.is_empty() {
        deltas.push(Delta::Usage(counters));
    }
    let raw = string_at(delta, b"finish_reason").unwrap_or_default();
    match raw.as_ref() {
        "ERROR" | "TIMEOUT" => {
            let message = string_at(delta, b"error").unwrap_or_default().into_owned();
            let status = Some(if raw == "TIMEOUT" { 504 } else { 500 });
            let (kind, code) = (raw.to_ascii_lowercase(), raw.into_owned());
            deltas.push(Delta::Failure(Failure { kind, code, status, message, ..Failure::default() }));
        }
        "" => deltas.push(Delta::End),
        _ => {
            deltas.push(Delta::Stop { choice: 0, stop: normalise(&raw), raw });
            deltas.push(Delta::End);
        }
    }
}

fn normalise(reason: &str) -> Stop {
    match reason {
        "COMPLETE" => Stop::EndTurn,
        "STOP_SEQUENCE" => Stop::StopSequence,
        "MAX_TOKENS" => Stop::MaxTokens,
        "TOOL_CALL" => Stop::ToolUse,
        "ERROR_TOXIC" => Stop::ContentFilter,
        _ => Stop::Other,
    }
}
