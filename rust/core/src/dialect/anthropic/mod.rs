//! Anthropic Messages.

mod reading;
mod writing;

use reading::read_event;
use writing::{stop_reason, text_delta, write_block, write_delta};

use super::Dialect;
use super::objects::begin_event;
use crate::cursor::string_into;
use crate::delta::{Delta, PartKind, Stop};
use crate::frame::{Frame, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

/// The protocol carries all its state in the events; nothing needs to be remembered.
#[derive(Debug, Default)]
pub struct Anthropic;

impl Dialect for Anthropic {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None | Some(b':') => deltas.push(Delta::Keepalive),
            Some(b'{') => read_event(data, frame.kind, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {}

    fn numbers(&self, _kind: PartKind) -> bool {
        true
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let index = part.out_index;
        match change {
            Change::Opened => {
                begin_event("content_block_start", out);
                out.extend_from_slice(format!(",\"index\":{index},\"content_block\":").as_bytes());
                write_block(part, out);
                out.extend_from_slice(b"}\n\n");
            }
            Change::Text { from, to } => write_delta(index, text_delta(part.kind), &part.text[from..to], out),
            Change::Replaced => write_delta(index, text_delta(part.kind), &part.text, out),
            Change::Signature { from, to } => {
                write_delta(index, ("signature_delta", "signature"), &part.signature[from..to], out);
            }
            Change::ClosedAsIs => {}
            Change::Closed => {
                begin_event("content_block_stop", out);
                out.extend_from_slice(format!(",\"index\":{index}}}\n\n").as_bytes());
            }
        }
    }

    fn write_raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>) {
        begin_event("content_block_delta", out);
        out.extend_from_slice(format!(",\"index\":{},\"delta\":", part.out_index).as_bytes());
        out.extend_from_slice(raw);
        out.extend_from_slice(b"}\n\n");
    }

    fn write_stop(&mut self, turn: &Turn, _choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        begin_event("message_delta", out);
        out.extend_from_slice(b",\"delta\":{\"stop_reason\":");
        string_into(if raw.is_empty() { stop_reason(stop) } else { raw }, out);
        let output = turn.total_usage().output.unwrap_or(0);
        out.extend_from_slice(
            format!(",\"stop_sequence\":null}},\"usage\":{{\"output_tokens\":{output}}}}}\n\n").as_bytes(),
        );
    }

    fn write_end(&mut self, _turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        begin_event("message_stop", out);
        out.extend_from_slice(b"}\n\n");
    }

    fn write_error(&self, kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        begin_event("error", out);
        out.extend_from_slice(b",\"error\":{\"type\":");
        string_into(kind, out);
        out.extend_from_slice(b",\"message\":");
        string_into(message, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b"event: ping\ndata: {\"type\": \"ping\"}\n\n"
    }
}
