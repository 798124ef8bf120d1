//! `OpenAI` Responses: writing. One response id, rising sequence numbers, `.done` and `output` built from what left.

use super::responses::members;
use crate::cursor::{Cursor, string_into};
use crate::delta::{PartKind, Stop};
use crate::turn::{Change, Part, Turn};

/// Writing state of one reader.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The response object of `response.created`.
    response: Vec<u8>,
    /// Number of the next event.
    next_sequence: u64,
    rewriting: bool,
    /// Finished output items by their number on the reader's wire.
    items: Vec<(u32, Vec<u8>)>,
}

impl Writer {
    pub(super) fn sequence(&self) -> u64 {
        self.next_sequence
    }

    /// An event was read; while nothing is rewritten its number is the reader's.
    pub(super) fn saw(&mut self, sequence: Option<u64>) {
        if let (Some(sequence), false) = (sequence, self.rewriting) {
            self.next_sequence = sequence + 1;
        }
    }

    pub(super) fn created(&mut self, response: &[u8]) {
        if !self.rewriting {
            self.response = response.to_vec();
        }
    }

    pub(super) fn item_done(&mut self, output_index: Option<u64>, item: &[u8]) {
        if let (Some(index), false) = (output_index, self.rewriting) {
            self.put_item(u32::try_from(index).unwrap_or(u32::MAX), item.to_vec());
        }
    }

    pub(super) fn next_attempt(&mut self, rewriting: bool) {
        self.rewriting = rewriting;
        if !rewriting {
            *self = Self::default();
        }
    }

    /// Only what has left counts: the event that would have had number `mark` did not.
    pub(super) fn settle(&mut self, mark: Option<u64>, next_index: u32) {
        if let Some(mark) = mark {
            self.next_sequence = mark;
        }
        self.items.retain(|(index, _)| *index < next_index);
    }

    fn put_item(&mut self, index: u32, item: Vec<u8>) {
        self.items.retain(|(known, _)| *known != index);
        self.items.push((index, item));
    }

    pub(super) fn change(&mut self, part: &Part, change: Change, out: &mut Vec<u8>) {
        match (part.kind, change) {
            (PartKind::Text | PartKind::Refusal, Change::Opened) => self.open_message(part, out),
            (_, Change::Opened) => self.item("response.output_item.added", part, &part.raw.clone(), out),
            (PartKind::Text, Change::Text { from, to }) => {
                self.delta("response.output_text.delta", part, &part.text[from..to], out);
            }
            (PartKind::Refusal, Change::Text { from, to }) => {
                self.delta("response.refusal.delta", part, &part.text[from..to], out);
            }
            (PartKind::Tool, Change::Text { from, to }) => {
                self.delta(call_event(part, "delta"), part, &part.text[from..to], out);
            }
            (PartKind::Tool, Change::Replaced) => {
                self.delta(call_event(part, "delta"), part, &part.text, out);
            }
            (PartKind::Text | PartKind::Refusal, Change::Closed) => self.close_message(part, out),
            (PartKind::Tool, Change::Closed) => self.close_call(part, out),
            (_, Change::Closed) => self.close_other(part, out),
            _ => {}
        }
        if change != Change::Closed {
            self.items.retain(|(index, _)| *index != part.out_index);
        }
    }

    fn open_message(&mut self, part: &Part, out: &mut Vec<u8>) {
        let mut item = b"{\"id\":".to_vec();
        string_into(&message_id(part), &mut item);
        item.extend_from_slice(
            b",\"type\":\"message\",\"status\":\"in_progress\",\"content\":[],\"role\":\"assistant\"}",
        );
        self.item("response.output_item.added", part, &item, out);
        self.part_event("response.content_part.added", part, "", out);
    }

    fn close_message(&mut self, part: &Part, out: &mut Vec<u8>) {
        let (name, member) = if part.kind == PartKind::Refusal {
            ("response.refusal.done", "refusal")
        } else {
            ("response.output_text.done", "text")
        };
        self.begin(name, out);
        Self::place(part, out);
        out.extend_from_slice(format!(",\"{member}\":").as_bytes());
        string_into(&part.text, out);
        if part.kind == PartKind::Text {
            out.extend_from_slice(b",\"logprobs\":[]");
        }
        out.extend_from_slice(b"}\n\n");
        self.part_event("response.content_part.done", part, &part.text, out);
        let mut item = b"{\"id\":".to_vec();
        string_into(&message_id(part), &mut item);
        item.extend_from_slice(b",\"type\":\"message\",\"status\":\"completed\",\"content\":[");
        content_into(part, &part.text, &mut item);
        item.extend_from_slice(b"],\"role\":\"assistant\"}");
        self.item("response.output_item.done", part, &item, out);
        self.put_item(part.out_index, item);
    }

    fn close_call(&mut self, part: &Part, out: &mut Vec<u8>) {
        let member = if call_event(part, "done").contains("custom") { "input" } else { "arguments" };
        self.begin(call_event(part, "done"), out);
        out.extend_from_slice(b",\"item_id\":");
        string_into(&item_id(part), out);
        out.extend_from_slice(format!(",\"output_index\":{},\"{member}\":", part.out_index).as_bytes());
        string_into(part.final_arguments(), out);
        out.extend_from_slice(b"}\n\n");
        let mut arguments = Vec::new();
        string_into(part.final_arguments(), &mut arguments);
        let item = replaced(&part.raw, &[(member, &arguments), ("status", b"\"completed\"")]);
        self.item("response.output_item.done", part, &item, out);
        self.put_item(part.out_index, item);
    }

    /// A reasoning or server-side item that its attempt left open.
    fn close_other(&mut self, part: &Part, out: &mut Vec<u8>) {
        let item = replaced(&part.raw, &[("status", b"\"incomplete\"")]);
        self.item("response.output_item.done", part, &item, out);
        self.put_item(part.out_index, item);
    }

    /// An event of the provider under the reader's numbers.
    pub(super) fn raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>) {
        let (mut kind, mut item): (&[u8], &[u8]) = (b"", b"");
        members(raw, |name, cursor| match name {
            b"type" => kind = cursor.skip(),
            b"item" => item = cursor.skip(),
            _ => {
                cursor.skip();
            }
        });
        let name = Cursor::new(kind).string().unwrap_or_default();
        if name == "response.output_item.done" {
            self.put_item(part.out_index, item.to_vec());
        }
        let sequence = self.take_sequence().to_string();
        let index = part.out_index.to_string();
        let mut id = Vec::new();
        string_into(&message_id(part), &mut id);
        let text = matches!(part.kind, PartKind::Text | PartKind::Refusal);
        let mut values: Vec<(&str, &[u8])> =
            vec![("sequence_number", sequence.as_bytes()), ("output_index", index.as_bytes())];
        if text {
            values.push(("item_id", &id));
        }
        out.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
        out.extend_from_slice(&replaced(raw, &values));
        out.extend_from_slice(b"\n\n");
    }

    pub(super) fn end(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        let stop = turn.stop_reason().map_or(Stop::Other, |(stop, _)| stop);
        let (name, status, details): (_, &[u8], &[u8]) = match stop {
            Stop::MaxTokens => {
                ("response.incomplete", b"\"incomplete\"", b"{\"reason\":\"max_output_tokens\"}")
            }
            Stop::ContentFilter => {
                ("response.incomplete", b"\"incomplete\"", b"{\"reason\":\"content_filter\"}")
            }
            _ => ("response.completed", b"\"completed\"", b"null"),
        };
        self.items.sort_by_key(|(index, _)| *index);
        let items: Vec<&[u8]> = self.items.iter().map(|(_, item)| item.as_slice()).collect();
        let output = [b"[".as_slice(), &items.join(b",".as_slice()), b"]"].concat();
        let usage = usage_of(turn);
        let values =
            [("status", status), ("output", &output), ("usage", &usage), ("incomplete_details", details)];
        let response = replaced(&self.response, &values);
        self.begin(name, out);
        out.extend_from_slice(b",\"response\":");
        out.extend_from_slice(&response);
        out.extend_from_slice(b"}\n\n");
    }

    pub(super) fn error(&self, kind: &str, message: &str, out: &mut Vec<u8>) {
        let sequence = self.next_sequence;
        out.extend_from_slice(
            format!("event: error\ndata: {{\"type\":\"error\",\"sequence_number\":{sequence},\"error\":{{\"type\":").as_bytes(),
        );
        string_into(kind, out);
        out.extend_from_slice(b",\"code\":");
        string_into(kind, out);
        out.extend_from_slice(b",\"message\":");
        string_into(message, out);
        out.extend_from_slice(b",\"param\":null}}\n\n");
    }

    fn take_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence - 1
    }

    fn begin(&mut self, name: &str, out: &mut Vec<u8>) {
        let sequence = self.take_sequence();
        out.extend_from_slice(
            format!("event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{sequence}").as_bytes(),
        );
    }

    fn place(part: &Part, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"item_id\":");
        string_into(&message_id(part), out);
        out.extend_from_slice(format!(",\"output_index\":{},\"content_index\":0", part.out_index).as_bytes());
    }

    fn delta(&mut self, name: &str, part: &Part, text: &str, out: &mut Vec<u8>) {
        self.begin(name, out);
        if part.kind == PartKind::Tool {
            out.extend_from_slice(b",\"item_id\":");
            string_into(&item_id(part), out);
            out.extend_from_slice(format!(",\"output_index\":{}", part.out_index).as_bytes());
        } else {
            Self::place(part, out);
        }
        out.extend_from_slice(b",\"delta\":");
        string_into(text, out);
        if part.kind == PartKind::Text {
            out.extend_from_slice(b",\"logprobs\":[]");
        }
        out.extend_from_slice(b"}\n\n");
    }

    fn item(&mut self, name: &str, part: &Part, item: &[u8], out: &mut Vec<u8>) {
        self.begin(name, out);
        out.extend_from_slice(format!(",\"output_index\":{},\"item\":", part.out_index).as_bytes());
        out.extend_from_slice(item);
        out.extend_from_slice(b"}\n\n");
    }

    fn part_event(&mut self, name: &str, part: &Part, text: &str, out: &mut Vec<u8>) {
        self.begin(name, out);
        Self::place(part, out);
        out.extend_from_slice(b",\"part\":");
        content_into(part, text, out);
        out.extend_from_slice(b"}\n\n");
    }
}

fn content_into(part: &Part, text: &str, out: &mut Vec<u8>) {
    if part.kind == PartKind::Refusal {
        out.extend_from_slice(b"{\"type\":\"refusal\",\"refusal\":");
    } else {
        out.extend_from_slice(b"{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":");
    }
    string_into(text, out);
    out.push(b'}');
}

fn message_id(part: &Part) -> String {
    if part.id.is_empty() { format!("msg_{}_{}", part.attempt, part.out_index) } else { part.id.clone() }
}

/// The item's own id; `part.id` of a call is the client's `call_id`.
fn item_id(part: &Part) -> String {
    let mut id = String::new();
    members(&part.raw, |name, cursor| match name {
        b"id" => id = cursor.string().unwrap_or_default().into_owned(),
        _ => {
            cursor.skip();
        }
    });
    id
}

fn call_event(part: &Part, stage: &str) -> &'static str {
    let custom = memchr::memmem::find(&part.raw, b"custom_tool_call").is_some();
    match (custom, stage) {
        (false, "delta") => "response.function_call_arguments.delta",
        (false, _) => "response.function_call_arguments.done",
        (true, "delta") => "response.custom_tool_call_input.delta",
        (true, _) => "response.custom_tool_call_input.done",
    }
}

/// `raw` with the values of some members replaced; members it lacks are added.
fn replaced(raw: &[u8], values: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = vec![b'{'];
    let mut put = |name: &[u8], value: &[u8]| {
        if out.len() > 1 {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value);
    };
    let mut seen = vec![false; values.len()];
    members(raw, |name, cursor| {
        let value = cursor.skip();
        match values.iter().position(|(known, _)| known.as_bytes() == name) {
            Some(at) => {
                seen[at] = true;
                put(name, values[at].1);
            }
            None => put(name, value),
        }
    });
    for ((name, value), _) in values.iter().zip(seen).filter(|(_, seen)| !seen) {
        put(name.as_bytes(), value);
    }
    out.push(b'}');
    out
}

fn usage_of(turn: &Turn) -> Vec<u8> {
    let total = turn.total_usage();
    let Some(output) = total.output else { return b"null".to_vec() };
    let (input, cached) = (total.input.unwrap_or(0), total.cache_read.unwrap_or(0));
    format!(
        "{{\"input_tokens\":{input},\"input_tokens_details\":{{\"cached_tokens\":{cached}}},\"output_tokens\":{output},\
         \"output_tokens_details\":{{\"reasoning_tokens\":0}},\"total_tokens\":{}}}",
        input + output
    )
    .into_bytes()
}
