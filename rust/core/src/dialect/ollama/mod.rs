//! Ollama's own protocol: `/api/chat` and `/api/generate`, one JSON object a line.
//!
//! A tool call comes whole, in one line. The last line, with `done`, carries the stop reason and the counters.

mod reading;
mod writing;

use reading::parse;
use writing::done_reason;

use super::Dialect;
use crate::cursor::string_into;
use crate::delta::{Delta, Key, PartKind, Stop};
use crate::frame::{Frame, Framing};
use crate::ndjson::NdjsonFraming;
use crate::turn::{Change, Part, Turn};

const TEXT: Key = Key { choice: 0, slot: u32::MAX };
const REASONING: Key = Key { choice: 0, slot: u32::MAX - 1 };

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Ollama {
    /// Raw values of the first line; every written line repeats them.
    model: Vec<u8>,
    created_at: Vec<u8>,
    /// The lines are those of `/api/generate`.
    generates: bool,
    /// Tool calls of this attempt.
    calls: u32,
}

impl Dialect for Ollama {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(NdjsonFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        match parse(&frame.data) {
            Some(line) => self.read_line(line, deltas),
            None => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        self.calls = 0;
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        false
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        match (part.kind, change) {
            (PartKind::Tool, Change::Closed) => self.write_call(part, out),
            (PartKind::Text | PartKind::Reasoning, Change::Text { from, to }) => {
                self.write_text(part.kind, &part.text[from..to], out);
            }
            _ => {}
        }
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    /// The stop reason stands in the last line.
    fn write_stop(&mut self, _turn: &Turn, _choice: u32, _stop: Stop, _raw: &str, _out: &mut Vec<u8>) {}

    fn write_end(&mut self, turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        self.write_head(out);
        out.extend_from_slice(if self.generates {
            b"\"response\":\"\"".as_slice()
        } else {
            b"\"message\":{\"role\":\"assistant\",\"content\":\"\"}"
        });
        out.extend_from_slice(b",\"done\":true,\"done_reason\":");
        string_into(done_reason(turn), out);
        let total = turn.total_usage();
        for (name, count) in [("prompt_eval_count", total.input), ("eval_count", total.output)] {
            if let Some(count) = count {
                out.extend_from_slice(format!(",\"{name}\":{count}").as_bytes());
            }
        }
        out.extend_from_slice(b"}\n");
    }

    fn write_error(&self, _kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"error\":");
        string_into(message, out);
        out.extend_from_slice(b"}\n");
    }

    /// Clients take every line for an object.
    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b""
    }
}

impl Ollama {}
