//! Ollama: changes into lines.

use super::Ollama;
use crate::cursor::string_into;
use crate::delta::{PartKind, Stop};
use crate::turn::{Part, Turn};

impl Ollama {
    pub(super) fn write_head(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (name, raw) in [("model", &self.model), ("created_at", &self.created_at)] {
            if !raw.is_empty() {
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                out.extend_from_slice(raw);
                out.push(b',');
            }
        }
    }

    pub(super) fn write_text(&self, kind: PartKind, text: &str, out: &mut Vec<u8>) {
        self.write_head(out);
        out.extend_from_slice(match (self.generates, kind) {
            (true, PartKind::Reasoning) => b"\"response\":\"\",\"thinking\":".as_slice(),
            (true, _) => b"\"response\":",
            (false, PartKind::Reasoning) => {
                b"\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":"
            }
            (false, _) => b"\"message\":{\"role\":\"assistant\",\"content\":",
        });
        string_into(text, out);
        out.extend_from_slice(if self.generates { b",\"done\":false}\n" } else { b"},\"done\":false}\n" });
    }

    pub(super) fn write_call(&self, part: &Part, out: &mut Vec<u8>) {
        self.write_head(out);
        out.extend_from_slice(b"\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{");
        if !part.id.is_empty() {
            out.extend_from_slice(b"\"id\":");
            string_into(&part.id, out);
            out.push(b',');
        }
        out.extend_from_slice(b"\"function\":{\"name\":");
        string_into(&part.name, out);
        out.extend_from_slice(b",\"arguments\":");
        out.extend_from_slice(part.final_arguments().as_bytes());
        out.extend_from_slice(b"}}]},\"done\":false}\n");
    }
}

pub(super) fn done_reason(turn: &Turn) -> &str {
    match turn.stops.first() {
        Some(Some((Stop::MaxTokens, _))) => "length",
        Some(Some((_, raw))) if !raw.is_empty() => raw,
        _ => "stop",
    }
}
