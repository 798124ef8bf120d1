//! Gemini Interactions: changes into events.

use super::Interactions;
use crate::cursor::string_into;
use crate::delta::{PartKind, Stop};
use crate::turn::Part;

impl Interactions {
    pub(super) fn begin_delta(&self, index: u32, out: &mut Vec<u8>) {
        begin(if self.older { "content.delta" } else { "step.delta" }, out);
        out.extend_from_slice(format!(",\"index\":{index},\"delta\":").as_bytes());
    }

    pub(super) fn write_delta(&self, part: &Part, text: &str, out: &mut Vec<u8>) {
        self.begin_delta(part.out_index, out);
        let (before, after): (&[u8], &[u8]) = match part.kind {
            PartKind::Reasoning => {
                (b"{\"type\":\"thought_summary\",\"content\":{\"type\":\"text\",\"text\":", b"}}}\n\n")
            }
            PartKind::Tool => (b"{\"type\":\"arguments_delta\",\"arguments\":", b"}}\n\n"),
            _ => (b"{\"type\":\"text\",\"text\":", b"}}\n\n"),
        };
        out.extend_from_slice(before);
        string_into(text, out);
        out.extend_from_slice(after);
    }

    pub(super) fn write_step(&self, part: &Part, out: &mut Vec<u8>) {
        match part.kind {
            PartKind::Text | PartKind::Refusal if self.older => out.extend_from_slice(b"{\"type\":\"text\"}"),
            PartKind::Text | PartKind::Refusal => out.extend_from_slice(b"{\"type\":\"model_output\"}"),
            PartKind::Reasoning => out.extend_from_slice(b"{\"type\":\"thought\"}"),
            PartKind::Tool => {
                out.extend_from_slice(b"{\"type\":\"function_call\",\"id\":");
                string_into(&part.id, out);
                out.extend_from_slice(b",\"name\":");
                string_into(&part.name, out);
                out.extend_from_slice(b",\"arguments\":{}");
                if !part.signature.is_empty() {
                    out.extend_from_slice(b",\"signature\":");
                    string_into(&part.signature, out);
                }
                out.push(b'}');
            }
            _ => out.extend_from_slice(&part.raw),
        }
    }
}

pub(super) fn status(stop: Stop) -> &'static str {
    match stop {
        Stop::ToolUse => "requires_action",
        Stop::MaxTokens => "incomplete",
        Stop::Pause => "requires_continuation",
        _ => "completed",
    }
}

/// `event:` line and the start of its data; every event needs both.
pub(super) fn begin(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("event: {kind}\ndata: {{\"event_type\":\"{kind}\"").as_bytes());
}
