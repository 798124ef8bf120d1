//! Cohere: changes into events.

use super::PLAN_MARK;
use crate::cursor::string_into;
use crate::delta::{PartKind, Stop};
use crate::turn::{Change, Part, Turn};

pub(super) fn finish_reason(turn: &Turn) -> &str {
    match turn.stops.first() {
        Some(Some((_, raw))) if !raw.is_empty() => raw,
        Some(Some((Stop::ToolUse, _))) => "TOOL_CALL",
        Some(Some((Stop::MaxTokens, _))) => "MAX_TOKENS",
        Some(Some((Stop::StopSequence, _))) => "STOP_SEQUENCE",
        _ => "COMPLETE",
    }
}

/// The event that tells of a change; a plan is only ever continued.
pub(super) fn event_of(part: &Part, change: Change) -> Option<&'static str> {
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

pub(super) fn write_opening(part: &Part, out: &mut Vec<u8>) {
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

pub(super) fn write_piece(part: &Part, text: &str, out: &mut Vec<u8>) {
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
