//! Anthropic Messages: changes into events.

use crate::cursor::string_into;
use crate::delta::{PartKind, Stop};
use crate::dialect::objects::begin_event;
use crate::turn::Part;

pub(super) fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::MaxTokens => "max_tokens",
        Stop::ToolUse => "tool_use",
        Stop::StopSequence => "stop_sequence",
        Stop::Refusal | Stop::ContentFilter => "refusal",
        Stop::Pause => "pause_turn",
        _ => "end_turn",
    }
}

pub(super) fn text_delta(kind: PartKind) -> (&'static str, &'static str) {
    match kind {
        PartKind::Reasoning => ("thinking_delta", "thinking"),
        PartKind::Tool | PartKind::Server => ("input_json_delta", "partial_json"),
        _ => ("text_delta", "text"),
    }
}

pub(super) fn write_delta(index: u32, (kind, member): (&str, &str), text: &str, out: &mut Vec<u8>) {
    begin_event("content_block_delta", out);
    out.extend_from_slice(
        format!(",\"index\":{index},\"delta\":{{\"type\":\"{kind}\",\"{member}\":").as_bytes(),
    );
    string_into(text, out);
    out.extend_from_slice(b"}}\n\n");
}

pub(super) fn write_block(part: &Part, out: &mut Vec<u8>) {
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
