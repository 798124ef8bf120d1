//! Amazon Bedrock `ConverseStream`.
//!
//! `messageStop` proves the answer complete; `metadata` with the counters follows it. Text and reasoning have no
//! opening event. Errors are frames of their own, named after their exception.

use std::borrow::Cow;

use super::Dialect;
use super::objects::{member, string_at, unsigned_at};
use crate::cursor::string_into;
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::eventstream::{EventStreamFraming, write_event, write_exception};
use crate::frame::{Frame, FrameKind, Framing};
use crate::turn::{Change, Part, Turn};

/// The blocks of this attempt that are open, by their numbers.
#[derive(Debug, Default)]
pub struct Bedrock {
    open: Vec<u32>,
    /// The two events of the end that have come; the answer is over with both, in whatever order.
    stopped: bool,
    billed: bool,
}

impl Dialect for Bedrock {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(EventStreamFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.as_ref();
        let index = u32::try_from(unsigned_at(data, b"contentBlockIndex").unwrap_or(0)).unwrap_or(u32::MAX);
        let key = Key { choice: 0, slot: index };
        if frame.kind == FrameKind::Failure {
            return deltas.push(Delta::Failure(read_failure(frame.name, data)));
        }
        match frame.name {
            b"messageStart" => {
                deltas.push(Delta::Begin { id: Cow::Borrowed(""), model: Cow::Borrowed("") });
            }
            b"contentBlockStart" => self.read_start(key, member(data, b"start"), deltas),
            b"contentBlockDelta" => self.read_delta(key, member(data, b"delta"), deltas),
            b"contentBlockStop" => {
                self.open.retain(|&open| open != index);
                deltas.push(Delta::Close { key });
            }
            b"messageStop" => {
                let raw = string_at(data, b"stopReason").unwrap_or_default();
                deltas.push(Delta::Stop { choice: 0, stop: normalise(&raw), raw });
                self.stopped = true;
                self.push_end(deltas);
            }
            b"metadata" => {
                push_usage(member(data, b"usage"), deltas);
                self.billed = true;
                self.push_end(deltas);
            }
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        *self = Self::default();
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        true
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let index = part.out_index;
        match (part.kind, change) {
            (PartKind::Tool, Change::Opened) => {
                let mut start = b"{\"toolUse\":{\"toolUseId\":".to_vec();
                string_into(&part.id, &mut start);
                start.extend_from_slice(b",\"name\":");
                string_into(&part.name, &mut start);
                start.extend_from_slice(b"}}");
                write_block("contentBlockStart", index, ("start", &start), out);
            }
            (_, Change::Text { from, to }) => write_piece(part, &part.text[from..to], out),
            (_, Change::Replaced) => write_piece(part, &part.text, out),
            (_, Change::Signature { from, to }) => {
                let text = &part.signature[from..to];
                write_nested(index, ("reasoningContent", "signature"), text, out);
            }
            // It begins with its first delta, and had none: all of it was an echo.
            (PartKind::Text, Change::Closed) if part.text.is_empty() => {}
            (_, Change::Closed) => {
                write_event("contentBlockStop", format!("{{\"contentBlockIndex\":{index}}}").as_bytes(), out);
            }
            (_, Change::Opened | Change::ClosedAsIs) => {}
        }
    }

    fn write_raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>) {
        write_block("contentBlockDelta", part.out_index, ("delta", raw), out);
    }

    fn write_stop(&mut self, _turn: &Turn, _choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        let mut payload = b"{\"stopReason\":".to_vec();
        string_into(if raw.is_empty() { stop_reason(stop) } else { raw }, &mut payload);
        payload.push(b'}');
        write_event("messageStop", &payload, out);
    }

    fn write_end(&mut self, turn: &Turn, usage: bool, out: &mut Vec<u8>) {
        let total = turn.total_usage();
        if let (Some(output), true) = (total.output, usage) {
            let input = total.input.unwrap_or(0);
            let payload = format!(
                "{{\"usage\":{{\"inputTokens\":{input},\"outputTokens\":{output},\"totalTokens\":{}}},\"metrics\":{{\"latencyMs\":0}}}}",
                input + output
            );
            write_event("metadata", payload.as_bytes(), out);
        }
    }

    fn write_error(&self, kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        let mut payload = b"{\"message\":".to_vec();
        string_into(message, &mut payload);
        payload.push(b'}');
        let kind = if kind.ends_with("Exception") { kind } else { "modelStreamErrorException" };
        write_exception(kind, &payload, out);
    }

    /// None is documented, and clients know no frame that means nothing.
    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b""
    }
}

impl Bedrock {
    fn push_end(&self, deltas: &mut Vec<Delta<'_>>) {
        if self.stopped && self.billed {
            deltas.push(Delta::End);
        }
    }

    fn read_start<'a>(&mut self, key: Key, start: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let tool = member(start, b"toolUse");
        let server = string_at(tool, b"type").is_some_and(|kind| kind == "server_tool_use");
        let kind = match (tool.is_empty(), server) {
            (true, _) => PartKind::Other,
            (false, true) => PartKind::Server,
            (false, false) => PartKind::Tool,
        };
        self.open.push(key.slot);
        deltas.push(Delta::Open {
            key,
            kind,
            index: key.slot,
            id: string_at(tool, b"toolUseId").unwrap_or_default(),
            name: string_at(tool, b"name").unwrap_or_default(),
            raw: start,
        });
    }

    fn read_delta<'a>(&mut self, key: Key, delta: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let reasoning = member(delta, b"reasoningContent");
        let input = string_at(member(delta, b"toolUse"), b"input");
        if let Some(text) = string_at(delta, b"text") {
            self.open_once(key, PartKind::Text, deltas);
            deltas.push(Delta::Text { key, kind: PartKind::Text, text });
        } else if let Some(text) = input {
            deltas.push(Delta::Arguments { key, text });
        } else if let Some(text) = string_at(reasoning, b"text") {
            self.open_once(key, PartKind::Reasoning, deltas);
            deltas.push(Delta::Text { key, kind: PartKind::Reasoning, text });
        } else if let Some(text) = string_at(reasoning, b"signature") {
            self.open_once(key, PartKind::Reasoning, deltas);
            deltas.push(Delta::Signature { key, text });
        } else {
            let kind = if reasoning.is_empty() { PartKind::Other } else { PartKind::Reasoning };
            self.open_once(key, kind, deltas);
            deltas.push(Delta::Raw { key, raw: delta, closes: false });
        }
    }

    /// Text and reasoning begin with their first delta.
    fn open_once(&mut self, key: Key, kind: PartKind, deltas: &mut Vec<Delta<'_>>) {
        if !self.open.contains(&key.slot) {
            self.open.push(key.slot);
            let empty = Cow::Borrowed("");
            deltas.push(Delta::Open { key, kind, index: key.slot, id: empty.clone(), name: empty, raw: b"" });
        }
    }
}

fn push_usage(raw: &[u8], deltas: &mut Vec<Delta<'_>>) {
    let counters = Counters {
        input: unsigned_at(raw, b"inputTokens"),
        output: unsigned_at(raw, b"outputTokens"),
        cache_read: unsigned_at(raw, b"cacheReadInputTokens"),
        cache_write: unsigned_at(raw, b"cacheWriteInputTokens"),
    };
    if !counters.is_empty() {
        deltas.push(Delta::Usage(counters));
    }
}

fn read_failure(name: &[u8], data: &[u8]) -> Failure {
    let kind = String::from_utf8_lossy(name).into_owned();
    let message = match string_at(data, b"message").or_else(|| string_at(data, b"originalMessage")) {
        Some(message) => message.into_owned(),
        None => String::from_utf8_lossy(data).into_owned(),
    };
    let original = unsigned_at(data, b"originalStatusCode").and_then(|status| u16::try_from(status).ok());
    Failure { code: kind.clone(), status: status_of(&kind).or(original), kind, message, raw: Vec::new() }
}

fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "validationException" => 400,
        "throttlingException" => 429,
        "modelStreamErrorException" => 424,
        "internalServerException" => 500,
        "serviceUnavailableException" => 503,
        _ => return None,
    })
}

fn normalise(reason: &str) -> Stop {
    match reason {
        "end_turn" => Stop::EndTurn,
        "tool_use" => Stop::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => Stop::MaxTokens,
        "stop_sequence" => Stop::StopSequence,
        "guardrail_intervened" | "content_filtered" => Stop::ContentFilter,
        "malformed_model_output" | "malformed_tool_use" => Stop::Error,
        _ => Stop::Other,
    }
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::StopSequence => "stop_sequence",
        Stop::ContentFilter | Stop::Refusal => "content_filtered",
        _ => "end_turn",
    }
}

fn write_block(kind: &str, index: u32, (name, value): (&str, &[u8]), out: &mut Vec<u8>) {
    let mut payload = format!("{{\"contentBlockIndex\":{index},\"{name}\":").into_bytes();
    payload.extend_from_slice(value);
    payload.push(b'}');
    write_event(kind, &payload, out);
}

fn write_nested(index: u32, (outer, inner): (&str, &str), text: &str, out: &mut Vec<u8>) {
    let mut delta = format!("{{\"{outer}\":{{\"{inner}\":").into_bytes();
    string_into(text, &mut delta);
    delta.extend_from_slice(b"}}");
    write_block("contentBlockDelta", index, ("delta", &delta), out);
}

fn write_piece(part: &Part, text: &str, out: &mut Vec<u8>) {
    match part.kind {
        PartKind::Tool | PartKind::Server => write_nested(part.out_index, ("toolUse", "input"), text, out),
        PartKind::Reasoning => write_nested(part.out_index, ("reasoningContent", "text"), text, out),
        _ => {
            let mut delta = b"{\"text\":".to_vec();
            string_into(text, &mut delta);
            delta.push(b'}');
            write_block("contentBlockDelta", part.out_index, ("delta", &delta), out);
        }
    }
}
