//! Gemini `streamGenerateContent` with `alt=sse`: data lines only. Its readers break on comments, event names and
//! `[DONE]`, so none of them is ever written.

mod arguments;
mod errors;
mod parts;
mod reading;
mod usage;
mod writing;

pub(super) use errors::status_of;

use writing::{finish_reason, write_call, write_text};

use super::Dialect;
use crate::cursor::string_into;
use crate::delta::{Delta, Key, PartKind, Stop};
use crate::frame::{Frame, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};
use arguments::Arguments;

const TEXT_SLOT: u32 = u32::MAX;
const REASONING_SLOT: u32 = u32::MAX - 1;

/// A call whose arguments come in pieces.
#[derive(Debug)]
struct OpenCall {
    key: Key,
    arguments: Arguments,
}

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Gemini {
    /// Raw values of the first chunk that names the message; every written chunk repeats them.
    id: Vec<u8>,
    model: Vec<u8>,
    open: Vec<OpenCall>,
    next_slot: u32,
    attempt: u32,
    /// The first attempt (from 0) that was not passed on as it came.
    rewritten_from: Option<u32>,
}

impl Dialect for Gemini {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None => deltas.push(Delta::Keepalive),
            Some(b'{') => self.read_chunk(data, frame.kind, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, rewriting: bool) {
        self.open.clear();
        self.attempt += 1;
        if rewriting {
            self.rewritten_from.get_or_insert(self.attempt);
        }
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        false
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let mut json = Vec::new();
        match (part.kind, change) {
            (PartKind::Tool, Change::Closed) if self.left_in_pieces(part) => {
                json.extend_from_slice(b"{\"functionCall\":{}}");
            }
            (PartKind::Tool, Change::Closed) => write_call(part, &mut json),
            (PartKind::Server | PartKind::Other, Change::Opened) => json.extend_from_slice(&part.raw),
            (PartKind::Text | PartKind::Reasoning | PartKind::Refusal, Change::Text { from, to }) => {
                write_text(part, &part.text[from..to], &mut json);
            }
            _ => return,
        }
        self.write_chunk(part.key.choice, &json, b"", None, out);
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    fn write_stop(&mut self, turn: &Turn, choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        let mut reason = b",\"finishReason\":".to_vec();
        string_into(if raw.is_empty() { finish_reason(stop) } else { raw }, &mut reason);
        self.write_chunk(choice, b"{\"text\":\"\"}", &reason, Some(turn.total_usage()), out);
    }

    /// The stop reason is the last that this protocol says.
    fn write_end(&mut self, _turn: &Turn, _usage: bool, _out: &mut Vec<u8>) {}

    fn write_error(&self, kind: &str, message: &str, status: Option<u16>, out: &mut Vec<u8>) {
        let code = status.unwrap_or(500);
        out.extend_from_slice(format!("data: {{\"error\":{{\"code\":{code},\"message\":").as_bytes());
        string_into(message, out);
        out.extend_from_slice(b",\"status\":");
        string_into(kind, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b""
    }
}

impl Gemini {}
