//! `OpenAI` Chat Completions, and the many servers that speak it.

mod calls;
mod errors;
mod reading;
mod usage;
mod writing;

use reading::text_payload;
use writing::{finish_reason, write_arguments, write_call, write_thinking};

use super::Dialect;
use crate::cursor::string_into;
use crate::delta::{Delta, PartKind, Stop};
use crate::frame::{Frame, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};
use calls::Calls;

const TEXT_SLOT: u32 = u32::MAX;
const REASONING_SLOT: u32 = u32::MAX - 1;
const REFUSAL_SLOT: u32 = u32::MAX - 2;

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Chat {
    calls: Calls,
    /// Raw values of the first chunk that names the message; every written chunk repeats them.
    id: Vec<u8>,
    created: Vec<u8>,
    model: Vec<u8>,
    fingerprint: Vec<u8>,
    reasoning_field: Option<&'static str>,
    /// Reasoning came as parts in a list of content (Mistral), so it goes on as such.
    reasons_in_lists: bool,
    /// How much of each call's arguments was written where the call was opened, by its index.
    told: Vec<usize>,
}

impl Dialect for Chat {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            _ if data == b"[DONE]" => deltas.push(Delta::End),
            None | Some(b':') => deltas.push(Delta::Keepalive),
            Some(b'{') => self.read_chunk(data, frame.kind, deltas),
            _ => deltas.push(text_payload(data)),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        self.calls = Calls::default();
    }

    fn numbers(&self, kind: PartKind) -> bool {
        kind == PartKind::Tool
    }

    fn write_change(&mut self, part: &Part, change: Change, begun: bool, out: &mut Vec<u8>) {
        let mut delta = Vec::new();
        if !begun {
            delta.extend_from_slice(b"\"role\":\"assistant\",");
        }
        match (part.kind, change) {
            (PartKind::Tool, Change::Opened) => {
                write_call(part, &mut delta);
                self.note_told(part);
            }
            (PartKind::Tool, Change::Text { from, to }) => {
                let from = from.max(self.told.get(part.out_index as usize).copied().unwrap_or(0));
                if from >= to {
                    return;
                }
                write_arguments(part, &part.text[from..to], &mut delta);
            }
            (PartKind::Tool, Change::Replaced) => write_arguments(part, &part.text, &mut delta),
            (PartKind::Reasoning, Change::Text { from, to }) if self.reasons_in_lists => {
                write_thinking(&part.text[from..to], &mut delta);
            }
            (_, Change::Text { from, to }) => {
                delta.push(b'"');
                delta.extend_from_slice(self.field(part.kind).as_bytes());
                delta.extend_from_slice(b"\":");
                string_into(&part.text[from..to], &mut delta);
            }
            _ => return,
        }
        self.write_chunk(part.key.choice, &delta, "null", out);
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    fn write_stop(&mut self, _turn: &Turn, choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        let mut reason = Vec::new();
        string_into(if raw.is_empty() { finish_reason(stop) } else { raw }, &mut reason);
        self.write_chunk(choice, b"", &String::from_utf8_lossy(&reason), out);
    }

    fn write_end(&mut self, turn: &Turn, usage: bool, out: &mut Vec<u8>) {
        let total = turn.total_usage();
        if let (Some(output), true) = (total.output, usage) {
            let input = total.input.unwrap_or(0);
            self.write_head(out);
            out.extend_from_slice(
                format!(
                    "\"choices\":[],\"usage\":{{\"prompt_tokens\":{input},\"completion_tokens\":{output},\"total_tokens\":{}}}}}\n\n",
                    input + output
                )
                .as_bytes(),
            );
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn write_error(&self, kind: &str, message: &str, status: Option<u16>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: {\"error\":{\"message\":");
        string_into(message, out);
        out.extend_from_slice(b",\"type\":");
        string_into(kind, out);
        let code = status.map_or_else(|| "null".to_owned(), |status| status.to_string());
        out.extend_from_slice(format!(",\"param\":null,\"code\":{code}}}}}\n\n").as_bytes());
    }

    /// Once an id was set, openai-python takes every blank line for an event and fails on its empty data.
    fn keepalive(&self, ids_seen: bool) -> &'static [u8] {
        if ids_seen { b"" } else { b": keep-alive\n\n" }
    }
}

impl Chat {}
