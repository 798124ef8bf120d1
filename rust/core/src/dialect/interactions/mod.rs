//! Gemini Interactions: numbered steps between `interaction.created` and `interaction.completed`, then `[DONE]`.
//! The older revision calls its steps contents; what the provider wrote is what is written.

mod errors;
mod events;
mod marks;
mod reading;
mod writing;

use events::parse;
use writing::{begin, status};

use super::{Dialect, Follows, Place};
use crate::cursor::string_into;
use crate::delta::{Delta, PartKind, Stop};
use crate::frame::{Frame, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};
use marks::Marks;

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Interactions {
    /// Raw values that name the interaction; every written event repeats them where they belong.
    id: Vec<u8>,
    model: Vec<u8>,
    /// The provider speaks of `content.*` and `interaction.complete`.
    older: bool,
    marks: Marks,
}

impl Dialect for Interactions {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None => deltas.push(Delta::Keepalive),
            _ if data == b"[DONE]" => deltas.push(Delta::End),
            Some(b'{') => self.read_event(data, frame, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        self.marks = Marks::default();
    }

    fn resume_point(&self) -> (String, Option<String>) {
        (self.marks.interaction.clone(), self.marks.last())
    }

    fn last_place(&self) -> Option<Place> {
        self.marks.place.clone()
    }

    fn resumed(&mut self) {
        self.marks.resumed();
    }

    fn follows(&mut self, frame: &Frame<'_>) -> Follows {
        match parse(frame.data.trim_ascii()) {
            Some(event) if event.error.is_empty() => {
                self.marks.follows(&event.id, event.index, event.starts())
            }
            _ => Follows::Next,
        }
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        true
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let index = part.out_index;
        let noun = if self.older { "content" } else { "step" };
        match change {
            Change::Opened => {
                begin(&format!("{noun}.start"), out);
                out.extend_from_slice(format!(",\"index\":{index},\"{noun}\":").as_bytes());
                self.write_step(part, out);
                out.extend_from_slice(b"}\n\n");
            }
            Change::Text { from, to } => self.write_delta(part, &part.text[from..to], out),
            Change::Replaced => self.write_delta(part, &part.text, out),
            Change::Signature { from, to } if part.kind == PartKind::Reasoning => {
                self.begin_delta(index, out);
                out.extend_from_slice(b"{\"type\":\"thought_signature\",\"signature\":");
                string_into(&part.signature[from..to], out);
                out.extend_from_slice(b"}}\n\n");
            }
            Change::Signature { .. } | Change::ClosedAsIs => {}
            Change::Closed => {
                begin(&format!("{noun}.stop"), out);
                out.extend_from_slice(format!(",\"index\":{index}}}\n\n").as_bytes());
            }
        }
    }

    fn write_raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>) {
        self.begin_delta(part.out_index, out);
        out.extend_from_slice(raw);
        out.extend_from_slice(b"}\n\n");
    }

    fn write_stop(&mut self, turn: &Turn, _choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        begin(if self.older { "interaction.complete" } else { "interaction.completed" }, out);
        out.extend_from_slice(b",\"interaction\":{");
        for (name, raw) in [("id", &self.id), ("model", &self.model)] {
            if !raw.is_empty() {
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                out.extend_from_slice(raw);
                out.push(b',');
            }
        }
        out.extend_from_slice(b"\"status\":");
        string_into(if raw.is_empty() { status(stop) } else { raw }, out);
        let usage = turn.total_usage();
        if let Some(output) = usage.output {
            let input = usage.input.unwrap_or(0);
            out.extend_from_slice(
                format!(
                    ",\"usage\":{{\"total_input_tokens\":{input},\"total_output_tokens\":{output},\"total_tokens\":{}}}",
                    input.saturating_add(output)
                )
                .as_bytes(),
            );
        }
        out.extend_from_slice(b",\"object\":\"interaction\"}}\n\n");
    }

    fn write_end(&mut self, _turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(b"event: done\ndata: [DONE]\n\n");
    }

    fn write_error(&self, kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        begin("error", out);
        out.extend_from_slice(b",\"error\":{\"code\":");
        string_into(kind, out);
        out.extend_from_slice(b",\"message\":");
        string_into(message, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b": keep-alive\n\n"
    }
}

impl Interactions {}
