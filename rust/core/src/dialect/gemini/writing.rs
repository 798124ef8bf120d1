//! Gemini: changes into chunks.

use super::Gemini;
use super::usage::write_usage;
use crate::cursor::string_into;
use crate::delta::{Counters, PartKind, Stop};
use crate::turn::Part;

impl Gemini {
    /// The reader has the call's opening and its pieces as they came.
    pub(super) fn left_in_pieces(&self, part: &Part) -> bool {
        part.live && self.rewritten_from.is_none_or(|from| part.attempt <= from)
    }

    pub(super) fn write_chunk(
        &self,
        choice: u32,
        part: &[u8],
        reason: &[u8],
        usage: Option<Counters>,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"data: {\"candidates\":[{\"content\":{\"parts\":[");
        out.extend_from_slice(part);
        out.extend_from_slice(b"],\"role\":\"model\"}");
        out.extend_from_slice(reason);
        out.extend_from_slice(format!(",\"index\":{choice}}}]").as_bytes());
        if let Some(usage) = usage {
            write_usage(usage, out);
        }
        for (name, raw) in [("modelVersion", &self.model), ("responseId", &self.id)] {
            if !raw.is_empty() {
                out.extend_from_slice(format!(",\"{name}\":").as_bytes());
                out.extend_from_slice(raw);
            }
        }
        out.extend_from_slice(b"}\n\n");
    }
}

pub(super) fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::ContentFilter | Stop::Refusal => "SAFETY",
        Stop::Other | Stop::Error => "OTHER",
        _ => "STOP",
    }
}

pub(super) fn write_text(part: &Part, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"text\":");
    string_into(text, out);
    if part.kind == PartKind::Reasoning {
        out.extend_from_slice(b",\"thought\":true");
    }
    out.push(b'}');
}

/// A call is written whole; its signature belongs to it and goes back with it.
pub(super) fn write_call(part: &Part, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"functionCall\":{");
    if !part.id.is_empty() {
        out.extend_from_slice(b"\"id\":");
        string_into(&part.id, out);
        out.push(b',');
    }
    out.extend_from_slice(b"\"name\":");
    string_into(&part.name, out);
    out.extend_from_slice(b",\"args\":");
    out.extend_from_slice(part.final_arguments().as_bytes());
    out.push(b'}');
    if !part.signature.is_empty() {
        out.extend_from_slice(b",\"thoughtSignature\":");
        string_into(&part.signature, out);
    }
    out.push(b'}');
}
