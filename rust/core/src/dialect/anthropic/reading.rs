//! Anthropic Messages: events into deltas.

use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::dialect::objects::members;
use crate::frame::FrameKind;

/// The members of an event that matter here, in whatever order they came.
#[derive(Default)]
struct Event<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) index: Option<u64>,
    pub(super) message: &'a [u8],
    pub(super) block: &'a [u8],
    pub(super) delta: &'a [u8],
    pub(super) usage: &'a [u8],
    pub(super) error: &'a [u8],
}

pub(super) fn read_event<'a>(data: &'a [u8], kind: FrameKind, deltas: &mut Vec<Delta<'a>>) {
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
