//! Cohere v2 Chat.
//!
//! Content parts are numbered, tool calls are numbered apart from them, and the plan that comes before the calls has
//! no number at all. The last event carries the stop reason and the counters.

mod reading;
mod writing;

use writing::{event_of, finish_reason, write_opening, write_piece};

use super::Dialect;
use super::objects::begin_event;
use crate::cursor::string_into;
use crate::delta::{Delta, Key, PartKind, Stop};
use crate::frame::{Frame, FrameKind, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

const PLAN: Key = Key { choice: 0, slot: u32::MAX };
/// Slots from here on are tool calls.
const CALLS: u32 = 1 << 20;
/// The opening object of a plan, which no event has.
const PLAN_MARK: &[u8] = b"tool_plan";

/// Reading state of one attempt.
#[derive(Debug, Default)]
pub struct Cohere {
    plans: bool,
}

impl Dialect for Cohere {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None | Some(b':') => deltas.push(Delta::Keepalive),
            Some(b'{') if frame.kind != FrameKind::Unknown => self.read_event(data, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        self.plans = false;
    }

    /// A call that has left is never followed by another attempt, so calls keep the numbers of their own.
    fn numbers(&self, kind: PartKind) -> bool {
        kind != PartKind::Tool
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let Some(event) = event_of(part, change) else { return };
        begin_event(event, out);
        if part.raw != PLAN_MARK {
            out.extend_from_slice(format!(",\"index\":{}", part.out_index).as_bytes());
        }
        match change {
            Change::Opened => write_opening(part, out),
            Change::Text { from, to } => write_piece(part, &part.text[from..to], out),
            Change::Replaced => write_piece(part, &part.text, out),
            _ => {}
        }
        out.extend_from_slice(b"}\n\n");
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    /// The stop reason stands in the last event.
    fn write_stop(&mut self, _turn: &Turn, _choice: u32, _stop: Stop, _raw: &str, _out: &mut Vec<u8>) {}

    fn write_end(&mut self, turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        begin_event("message-end", out);
        out.extend_from_slice(b",\"delta\":{\"finish_reason\":");
        string_into(finish_reason(turn), out);
        let total = turn.total_usage();
        if let Some(output) = total.output {
            let input = total.input.unwrap_or(0);
            out.extend_from_slice(
                format!(",\"usage\":{{\"tokens\":{{\"input_tokens\":{input},\"output_tokens\":{output}}}}}")
                    .as_bytes(),
            );
        }
        out.extend_from_slice(b"}}\n\n");
    }

    fn write_error(&self, _kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        begin_event("message-end", out);
        out.extend_from_slice(b",\"delta\":{\"finish_reason\":\"ERROR\",\"error\":");
        string_into(message, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b": keep-alive\n\n"
    }
}

impl Cohere {}
