//! Cohere v2 Chat.
//!
//! Content parts are numbered, tool calls are numbered apart from them, and the plan that comes before the calls has
//! no number at all. The last event carries the stop reason and the counters.

use std::borrow::Cow;

use super::Dialect;
use super::objects::{begin_event, descend, member, string_at, unsigned_at};
use crate::cursor::{Cursor, string_into};
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::frame::{Frame, FrameKind, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

const PLAN: Key = Key { choice: 0, slot: u32::MAX };
/// Slots from here on are tool calls.
const CALLS: u32 = 1 << 20;
/// The opening object of a plan, which no event has.
const PLAN_MARK: &[u8] = b"tool_plan";

/// Reading state of one attempt.
#[derive(Debug, Default)]
pub struct Cohere {
    plans: bool,
}

/// The members of an event that matter here, in whatever order they came.
#[derive(Default)]
struct Event<'a> {
    kind: Cow<'a, str>,
    id: Cow<'a, str>,
    index: u32,
    delta: &'a [u8],
}

impl Dialect for Cohere {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None | Some(b':') => deltas.push(Delta::Keepalive),
            Some(b'{') if frame.kind != FrameKind::Unknown => self.read_event(data, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        self.plans = false;
    }

    /// A call that has left is never followed by another attempt, so calls keep the numbers of their own.
    fn numbers(&self, kind: PartKind) -> bool {
        kind != PartKind::Tool
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let Some(event) = event_of(part, change) else { return };
        begin_event(event, out);
        if part.raw != PLAN_MARK {
            out.extend_from_slice(format!(",\"index\":{}", part.out_index).as_bytes());
        }
        match change {
            Change::Opened => write_opening(part, out),
            Change::Text { from, to } => write_piece(part, &part.text[from..to], out),
            Change::Replaced => write_piece(part, &part.text, out),
            _ => {}
        }
        out.extend_from_slice(b"}\n\n");
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    /// The stop reason stands in the last event.
    fn write_stop(&mut self, _turn: &Turn, _choice: u32, _stop: Stop, _raw: &str, _out: &mut Vec<u8>) {}

    fn write_end(&mut self, turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        begin_event("message-end", out);
        out.extend_from_slice(b",\"delta\":{\"finish_reason\":");
        string_into(finish_reason(turn), out);
        let total = turn.total_usage();
        if let Some(output) = total.output {
            let input = total.input.unwrap_or(0);
            out.extend_from_slice(
                format!(",\"usage\":{{\"tokens\":{{\"input_tokens\":{input},\"output_tokens\":{output}}}}}")
                    .as_bytes(),
            );
        }
        out.extend_from_slice(b"}}\n\n");
    }

    fn write_error(&self, _kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        begin_event("message-end", out);
        out.extend_from_slice(b",\"delta\":{\"finish_reason\":\"ERROR\",\"error\":");
        string_into(message, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b": keep-alive\n\n"
    }
}

impl Cohere {
    fn read_event<'a>(&mut self, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
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

fn finish_reason(turn: &Turn) -> &str {
    match turn.stops.first() {
        Some(Some((_, raw))) if !raw.is_empty() => raw,
        Some(Some((Stop::ToolUse, _))) => "TOOL_CALL",
        Some(Some((Stop::MaxTokens, _))) => "MAX_TOKENS",
        Some(Some((Stop::StopSequence, _))) => "STOP_SEQUENCE",
        _ => "COMPLETE",
    }
}

/// The event that tells of a change; a plan is only ever continued.
fn event_of(part: &Part, change: Change) -> Option<&'static str> {
    let plan = part.raw == PLAN_MARK;
    Some(match (part.kind, change) {
        (PartKind::Tool, Change::Opened) => "tool-call-start",
        (PartKind::Tool, Change::Text { .. } | Change::Replaced) => "tool-call-delta",
        (PartKind::Tool, Change::Closed) => "tool-call-end",
        (PartKind::Reasoning, Change::Text { .. }) if plan => "tool-plan-delta",
        (PartKind::Reasoning, _) if plan => return None,
        (_, Change::Opened) => "content-start",
        (_, Change::Text { .. }) => "content-delta",
        (_, Change::Closed) => "content-end",
        _ => return None,
    })
}

fn write_opening(part: &Part, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"delta\":{\"message\":{");
    match part.kind {
        PartKind::Tool => {
            out.extend_from_slice(b"\"tool_calls\":{\"id\":");
            string_into(&part.id, out);
            out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
            string_into(&part.name, out);
            out.extend_from_slice(b",\"arguments\":\"\"}}");
        }
        PartKind::Reasoning => {
            out.extend_from_slice(b"\"content\":{\"type\":\"thinking\",\"thinking\":\"\"}");
        }
        PartKind::Text => out.extend_from_slice(b"\"content\":{\"type\":\"text\",\"text\":\"\"}"),
        _ => {
            out.extend_from_slice(b"\"content\":");
            out.extend_from_slice(&part.raw);
        }
    }
    out.extend_from_slice(b"}}");
}

fn write_piece(part: &Part, text: &str, out: &mut Vec<u8>) {
    let (before, after): (&[u8], &[u8]) = match part.kind {
        PartKind::Tool => (b"\"tool_calls\":{\"function\":{\"arguments\":", b"}}"),
        PartKind::Reasoning if part.raw == PLAN_MARK => (b"\"tool_plan\":", b""),
        PartKind::Reasoning => (b"\"content\":{\"thinking\":", b"}"),
        _ => (b"\"content\":{\"text\":", b"}"),
    };
    out.extend_from_slice(b",\"delta\":{\"message\":{");
    out.extend_from_slice(before);
    string_into(text, out);
    out.extend_from_slice(after);
    out.extend_from_slice(b"}}");
}
