//! `OpenAI` chat: changes into chunks.

use super::Chat;
use crate::cursor::string_into;
use crate::delta::{PartKind, Stop};
use crate::turn::Part;

impl Chat {
    pub(super) fn note_told(&mut self, part: &Part) {
        let index = part.out_index as usize;
        self.told.resize(self.told.len().max(index + 1), 0);
        self.told[index] = part.text.len();
    }

    pub(super) fn field(&self, kind: PartKind) -> &'static str {
        match kind {
            PartKind::Reasoning => self.reasoning_field.unwrap_or("reasoning_content"),
            PartKind::Refusal => "refusal",
            _ => "content",
        }
    }

    pub(super) fn write_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: {");
        for (name, raw) in [("id", &self.id), ("created", &self.created), ("model", &self.model)] {
            if !raw.is_empty() {
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                out.extend_from_slice(raw);
                out.push(b',');
            }
        }
        out.extend_from_slice(b"\"object\":\"chat.completion.chunk\",");
        if !self.fingerprint.is_empty() {
            out.extend_from_slice(b"\"system_fingerprint\":");
            out.extend_from_slice(&self.fingerprint);
            out.push(b',');
        }
    }

    /// `delta` holds members, a trailing comma is dropped.
    pub(super) fn write_chunk(&self, choice: u32, delta: &[u8], reason: &str, out: &mut Vec<u8>) {
        self.write_head(out);
        out.extend_from_slice(format!("\"choices\":[{{\"index\":{choice},\"delta\":{{").as_bytes());
        out.extend_from_slice(delta.strip_suffix(b",").unwrap_or(delta));
        out.extend_from_slice(format!("}},\"finish_reason\":{reason}}}]}}\n\n").as_bytes());
    }
}

pub(super) fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::MaxTokens => "length",
        Stop::ToolUse => "tool_calls",
        Stop::ContentFilter | Stop::Refusal => "content_filter",
        _ => "stop",
    }
}

pub(super) fn write_thinking(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":");
    string_into(text, out);
    out.extend_from_slice(b"}]}]");
}

/// With the arguments that came in the same chunk: mistralai reads no chunk of a call without its name.
pub(super) fn write_call(part: &Part, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\"tool_calls\":[{{\"index\":{},\"id\":", part.out_index).as_bytes());
    string_into(&part.id, out);
    out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
    string_into(&part.name, out);
    out.extend_from_slice(b",\"arguments\":");
    string_into(&part.text, out);
    out.extend_from_slice(b"}}]");
}

pub(super) fn write_arguments(part: &Part, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!("\"tool_calls\":[{{\"index\":{},\"function\":{{\"arguments\":", part.out_index).as_bytes(),
    );
    string_into(text, out);
    out.extend_from_slice(b"}}]");
}
