//! Anthropic Messages.

use std::borrow::Cow;

use super::Dialect;
use super::objects::{begin_event, members};
use crate::cursor::{Cursor, string_into};
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::frame::{Frame, FrameKind, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

/// The protocol carries all its state in the events; nothing needs to be remembered.
#[derive(Debug, Default)]
pub struct Anthropic;

/// The members of an event that matter here, in whatever order they came.
#[derive(Default)]
struct Event<'a> {
    kind: Cow<'a, str>,
    index: Option<u64>,
    message: &'a [u8],
    block: &'a [u8],
    delta: &'a [u8],
    usage: &'a [u8],
    error: &'a [u8],
}

impl Dialect for Anthropic {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None | Some(b':') => deltas.push(Delta::Keepalive),
            Some(b'{') => read_event(data, frame.kind, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {}

    fn numbers(&self, _kind: PartKind) -> bool {
        true
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let index = part.out_index;
        match change {
            Change::Opened => {
                begin_event("content_block_start", out);
                out.extend_from_slice(format!(",\"index\":{index},\"content_block\":").as_bytes());
                write_block(part, out);
                out.extend_from_slice(b"}\n\n");
            }
            Change::Text { from, to } => write_delta(index, text_delta(part.kind), &part.text[from..to], out),
            Change::Replaced => write_delta(index, text_delta(part.kind), &part.text, out),
            Change::Signature { from, to } => {
                write_delta(index, ("signature_delta", "signature"), &part.signature[from..to], out);
            }
            Change::ClosedAsIs => {}
            Change::Closed => {
                begin_event("content_block_stop", out);
                out.extend_from_slice(format!(",\"index\":{index}}}\n\n").as_bytes());
            }
        }
    }

    fn write_raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>) {
        begin_event("content_block_delta", out);
        out.extend_from_slice(format!(",\"index\":{},\"delta\":", part.out_index).as_bytes());
        out.extend_from_slice(raw);
        out.extend_from_slice(b"}\n\n");
    }

    fn write_stop(&mut self, turn: &Turn, _choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        begin_event("message_delta", out);
        out.extend_from_slice(b",\"delta\":{\"stop_reason\":");
        string_into(if raw.is_empty() { stop_reason(stop) } else { raw }, out);
        let output = turn.total_usage().output.unwrap_or(0);
        out.extend_from_slice(
            format!(",\"stop_sequence\":null}},\"usage\":{{\"output_tokens\":{output}}}}}\n\n").as_bytes(),
        );
    }

    fn write_end(&mut self, _turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        begin_event("message_stop", out);
        out.extend_from_slice(b"}\n\n");
    }

    fn write_error(&self, kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        begin_event("error", out);
        out.extend_from_slice(b",\"error\":{\"type\":");
        string_into(kind, out);
        out.extend_from_slice(b",\"message\":");
        string_into(message, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b"event: ping\ndata: {\"type\": \"ping\"}\n\n"
    }
}

fn read_event<'a>(data: &'a [u8], kind: FrameKind, deltas: &mut Vec<Delta<'a>>) {
    let Some(event) = parse(data) else {
        deltas.push(Delta::Opaque);
        return;
    };
    if kind == FrameKind::Unknown && event.error.is_empty() {
        deltas.push(Delta::Opaque);
        return;
    }
    let key = Key { choice: 0, slot: u32::try_from(event.index.unwrap_or(0)).unwrap_or(u32::MAX) };
    match event.kind.as_ref() {
        "ping" => deltas.push(Delta::Keepalive),
        "message_start" => read_start(event.message, deltas),
        "content_block_start" => read_block(key, event.block, deltas),
        "content_block_delta" => read_delta(key, event.delta, deltas),
        "content_block_stop" => deltas.push(Delta::Close { key }),
        "message_delta" => read_message_delta(&event, deltas),
        "message_stop" => deltas.push(Delta::End),
        _ if event.kind == "error" || !matches!(event.error, b"" | b"null" | b"{}") => {
            deltas.push(Delta::Failure(read_error(event.error)));
        }
        _ => deltas.push(Delta::Opaque),
    }
}

fn parse(data: &[u8]) -> Option<Event<'_>> {
    let mut event = Event::default();
    let mut cursor = Cursor::new(data);
    cursor.enter_object();
    while let Some(key) = cursor.key() {
        match key {
            b"type" => event.kind = cursor.string().unwrap_or_default(),
            b"index" => event.index = cursor.unsigned(),
            b"message" => event.message = cursor.skip(),
            b"content_block" => event.block = cursor.skip(),
            b"delta" => event.delta = cursor.skip(),
            b"usage" => event.usage = cursor.skip(),
            b"error" => event.error = cursor.skip(),
            _ => {
                cursor.skip();
            }
        }
    }
    cursor.ok().then_some(event)
}

fn read_start<'a>(message: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let (mut id, mut model) = (Cow::Borrowed(""), Cow::Borrowed(""));
    let mut usage: &[u8] = b"";
    members(message, |key, cursor| match key {
        b"id" => id = cursor.string().unwrap_or_default(),
        b"model" => model = cursor.string().unwrap_or_default(),
        b"usage" => usage = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    deltas.push(Delta::Begin { id, model });
    push_usage(usage, deltas);
}

fn read_block<'a>(key: Key, block: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let (mut kind, mut id, mut name) = (Cow::Borrowed(""), Cow::Borrowed(""), Cow::Borrowed(""));
    let (mut text, mut signature) = (None, None);
    let mut input: &[u8] = b"";
    members(block, |member, cursor| match member {
        b"type" => kind = cursor.string().unwrap_or_default(),
        b"id" => id = cursor.string().unwrap_or_default(),
        b"name" => name = cursor.string().unwrap_or_default(),
        b"text" | b"thinking" => text = cursor.filled_string(),
        b"signature" => signature = cursor.filled_string(),
        b"input" => input = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    let kind = block_kind(&kind);
    deltas.push(Delta::Open { key, kind, index: key.slot, id, name, raw: block });
    if let Some(text) = text {
        deltas.push(Delta::Text { key, kind, text });
    }
    if let Some(text) = signature {
        deltas.push(Delta::Signature { key, text });
    }
    if kind == PartKind::Tool && input.first() == Some(&b'{') && input.trim_ascii() != b"{}" {
        deltas.push(Delta::ReplaceArguments { key, text: String::from_utf8_lossy(input).into_owned() });
    }
}

fn block_kind(kind: &str) -> PartKind {
    match kind {
        "text" => PartKind::Text,
        "thinking" | "redacted_thinking" => PartKind::Reasoning,
        "tool_use" => PartKind::Tool,
        "server_tool_use" | "mcp_tool_use" | "fallback" | "compaction" => PartKind::Server,
        other if other.ends_with("_tool_result") => PartKind::Server,
        _ => PartKind::Other,
    }
}

fn read_delta<'a>(key: Key, raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let mut kind = Cow::Borrowed("");
    let mut value = None;
    members(raw, |member, cursor| match member {
        b"type" => kind = cursor.string().unwrap_or_default(),
        b"text" | b"thinking" | b"partial_json" | b"signature" => value = cursor.string(),
        _ => {
            cursor.skip();
        }
    });
    let text = value.unwrap_or_default();
    deltas.push(match kind.as_ref() {
        "text_delta" => Delta::Text { key, kind: PartKind::Text, text },
        "thinking_delta" => Delta::Text { key, kind: PartKind::Reasoning, text },
        "input_json_delta" => Delta::Arguments { key, text },
        "signature_delta" => Delta::Signature { key, text },
        _ => Delta::Raw { key, raw, closes: false },
    });
}

fn read_message_delta<'a>(event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
    push_usage(event.usage, deltas);
    let mut reason = None;
    members(event.delta, |member, cursor| match member {
        b"stop_reason" => reason = cursor.filled_string(),
        _ => {
            cursor.skip();
        }
    });
    match reason {
        Some(raw) => deltas.push(Delta::Stop { choice: 0, stop: normalise(&raw), raw }),
        None => deltas.push(Delta::Opaque),
    }
}

fn push_usage(raw: &[u8], deltas: &mut Vec<Delta<'_>>) {
    let mut counters = Counters::default();
    members(raw, |member, cursor| match member {
        b"input_tokens" => counters.input = cursor.unsigned(),
        b"output_tokens" => counters.output = cursor.unsigned(),
        b"cache_read_input_tokens" => counters.cache_read = cursor.unsigned(),
        b"cache_creation_input_tokens" => counters.cache_write = cursor.unsigned(),
        _ => {
            cursor.skip();
        }
    });
    if !counters.is_empty() {
        deltas.push(Delta::Usage(counters));
    }
}

fn read_error(raw: &[u8]) -> Failure {
    let mut failure = Failure::default();
    members(raw, |member, cursor| match member {
        b"type" => failure.kind = cursor.string().unwrap_or_default().into_owned(),
        b"message" => failure.message = cursor.string().unwrap_or_default().into_owned(),
        _ => {
            cursor.skip();
        }
    });
    failure.code.clone_from(&failure.kind);
    failure.status = status_of(&failure.kind);
    failure
}

fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "conflict_error" => 409,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

fn normalise(reason: &str) -> Stop {
    match reason {
        "end_turn" => Stop::EndTurn,
        "max_tokens" | "model_context_window_exceeded" => Stop::MaxTokens,
        "stop_sequence" => Stop::StopSequence,
        "tool_use" => Stop::ToolUse,
        "refusal" => Stop::Refusal,
        "pause_turn" => Stop::Pause,
        "error" | "abort" => Stop::Abnormal,
        _ => Stop::Other,
    }
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::MaxTokens => "max_tokens",
        Stop::ToolUse => "tool_use",
        Stop::StopSequence => "stop_sequence",
        Stop::Refusal | Stop::ContentFilter => "refusal",
        Stop::Pause => "pause_turn",
        _ => "end_turn",
    }
}

fn text_delta(kind: PartKind) -> (&'static str, &'static str) {
    match kind {
        PartKind::Reasoning => ("thinking_delta", "thinking"),
        PartKind::Tool | PartKind::Server => ("input_json_delta", "partial_json"),
        _ => ("text_delta", "text"),
    }
}

fn write_delta(index: u32, (kind, member): (&str, &str), text: &str, out: &mut Vec<u8>) {
    begin_event("content_block_delta", out);
    out.extend_from_slice(
        format!(",\"index\":{index},\"delta\":{{\"type\":\"{kind}\",\"{member}\":").as_bytes(),
    );
    string_into(text, out);
    out.extend_from_slice(b"}}\n\n");
}

fn write_block(part: &Part, out: &mut Vec<u8>) {
    match part.kind {
        PartKind::Text | PartKind::Refusal => out.extend_from_slice(b"{\"type\":\"text\",\"text\":\"\"}"),
        PartKind::Tool => {
            out.extend_from_slice(b"{\"type\":\"tool_use\",\"id\":");
            string_into(&part.id, out);
            out.extend_from_slice(b",\"name\":");
            string_into(&part.name, out);
            out.extend_from_slice(b",\"input\":{}}");
        }
        PartKind::Reasoning if part.raw.is_empty() => {
            out.extend_from_slice(b"{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}");
        }
        _ => out.extend_from_slice(&part.raw),
    }
}
