//! `OpenAI` Responses: writing. One response id, rising sequence numbers, `.done` and `output` built from what left.

use super::SLOTS_PER_ITEM;
use super::book::{Book, Entry};
use super::items::{Carries, Item};
use super::pieces::{
    carries, content_part, ending, item_id, line_into, replaced, under_id, unfinished, usage_of,
};
use crate::cursor::string_into;
use crate::delta::PartKind;
use crate::turn::{Change, Part, Turn};

/// Writing state of one reader.
#[derive(Debug)]
pub(super) struct Writer {
    /// The response object of `response.created`.
    pub(super) response: Vec<u8>,
    /// Number of the next event.
    pub(super) next_sequence: u64,
    pub(super) rewriting: bool,
    pub(super) attempt: u32,
    pub(super) book: Book,
}

impl Default for Writer {
    fn default() -> Self {
        Self { response: Vec::new(), next_sequence: 0, rewriting: false, attempt: 1, book: Book::default() }
    }
}

/// What was read. While nothing is rewritten the provider's numbers are the reader's.
impl Writer {
    pub(super) fn sequence(&self) -> u64 {
        self.next_sequence
    }

    pub(super) fn saw(&mut self, sequence: Option<u64>) {
        if !self.rewriting {
            self.next_sequence = sequence.unwrap_or(self.next_sequence).saturating_add(1);
        }
    }

    pub(super) fn created(&mut self, response: &[u8]) {
        if !self.rewriting {
            self.response = response.to_vec();
        }
    }

    pub(super) fn added(&mut self, index: u32, slot: u32, id: &str, item: &[u8], at: u64) {
        if !self.rewriting {
            self.book.added(index, (self.attempt, slot), id.to_owned(), item, at);
        }
    }

    pub(super) fn content_added(&mut self, index: u32, content: u32, at: u64) {
        if !self.rewriting {
            self.book.content_added(index, content, at);
        }
    }

    pub(super) fn annotated(&mut self, index: u32, annotation: &[u8], at: u64) {
        if !self.rewriting {
            self.book.annotated(index, annotation, at);
        }
    }

    pub(super) fn content_done(&mut self, index: u32, content: u32, part: &[u8], at: u64) {
        if !self.rewriting {
            self.book.content_done(index, content, part, at);
        }
    }

    pub(super) fn item_done(&mut self, index: u32, item: &[u8], at: u64) {
        if !self.rewriting {
            self.book.done(index, item, at);
        }
    }

    pub(super) fn next_attempt(&mut self, rewriting: bool) {
        let attempt = self.attempt + 1;
        if !rewriting {
            *self = Self::default();
        }
        self.rewriting = rewriting;
        self.attempt = attempt;
        self.book.next_attempt();
    }

    /// Only what has left counts: the event that would have had number `mark` did not.
    pub(super) fn settle(&mut self, mark: u64) {
        self.next_sequence = mark;
        self.book.settle(mark);
    }
}

/// What is written.
impl Writer {
    pub(super) fn change(&mut self, part: &Part, change: Change, out: &mut Vec<u8>) {
        match (part.kind, change) {
            (PartKind::Text | PartKind::Refusal, Change::Opened) => self.open_message(part, out),
            (_, Change::Opened) => self.open_item(part, &item_id(part), &part.raw, out),
            (PartKind::Text | PartKind::Refusal, Change::Text { from, to }) => {
                self.open_content(part, out);
                self.text_delta(part, &part.text[from..to], out);
            }
            (PartKind::Tool, Change::Text { from, to }) => self.call_delta(part, &part.text[from..to], out),
            (PartKind::Tool, Change::Replaced) => self.call_delta(part, &part.text, out),
            (PartKind::Text | PartKind::Refusal, Change::Closed) => {
                self.open_content(part, out);
                self.close_message(part, out);
            }
            (PartKind::Tool, Change::Closed) if carries(part) != Carries::Item => self.close_call(part, out),
            (_, Change::Closed) => self.close_as_received(part, out),
            _ => {}
        }
    }

    fn open_item(&mut self, part: &Part, id: &str, item: &[u8], out: &mut Vec<u8>) {
        let (index, key) = (part.out_index, (part.attempt, part.key.slot));
        let id = self.book.unused(id, index);
        let item = under_id(item, &id);
        self.book.added(index, key, id, &item, self.next_sequence);
        self.item_event("response.output_item.added", index, &item, out);
    }

    /// A message item. Further content of one the provider opened becomes a message of its own.
    fn open_message(&mut self, part: &Part, out: &mut Vec<u8>) {
        if !part.raw.is_empty() {
            return self.open_item(part, &item_id(part), &part.raw, out);
        }
        let content = part.key.slot % SLOTS_PER_ITEM;
        let id = match (part.id.as_str(), content) {
            ("", _) => format!("msg_{}_{}", part.attempt, part.out_index),
            (id, 0) => id.to_owned(),
            (id, content) => format!("{id}_{content}"),
        };
        let mut item = b"{\"id\":".to_vec();
        string_into(&id, &mut item);
        item.extend_from_slice(
            b",\"type\":\"message\",\"status\":\"in_progress\",\"content\":[],\"role\":\"assistant\"}",
        );
        self.open_item(part, &id, &item, out);
    }

    /// The content part that text goes into, unless it is there.
    fn open_content(&mut self, part: &Part, out: &mut Vec<u8>) {
        if self.book.find(part.out_index).is_some_and(|entry| entry.content().is_none()) {
            self.book.content_added(part.out_index, 0, self.next_sequence);
            self.part_event("response.content_part.added", part, &content_part(part, "", b"[]"), out);
        }
    }

    fn text_delta(&mut self, part: &Part, text: &str, out: &mut Vec<u8>) {
        let name = if part.kind == PartKind::Refusal {
            "response.refusal.delta"
        } else {
            "response.output_text.delta"
        };
        self.begin(name, out);
        self.place(part, out);
        out.extend_from_slice(b",\"delta\":");
        string_into(text, out);
        if part.kind == PartKind::Text {
            out.extend_from_slice(b",\"logprobs\":[]");
        }
        out.extend_from_slice(b"}\n\n");
    }

    fn close_message(&mut self, part: &Part, out: &mut Vec<u8>) {
        let (name, member) = if part.kind == PartKind::Refusal {
            ("response.refusal.done", "refusal")
        } else {
            ("response.output_text.done", "text")
        };
        self.begin(name, out);
        self.place(part, out);
        out.extend_from_slice(format!(",\"{member}\":").as_bytes());
        string_into(&part.text, out);
        if part.kind == PartKind::Text {
            out.extend_from_slice(b",\"logprobs\":[]");
        }
        out.extend_from_slice(b"}\n\n");
        let annotations = self.book.find(part.out_index).map_or(b"[]".to_vec(), Entry::annotation_list);
        let content = content_part(part, &part.text, &annotations);
        let at = self.next_sequence;
        self.part_event("response.content_part.done", part, &content, out);
        self.book.content_done(part.out_index, self.content_of(part), &content, at);
        self.finish_item(part.out_index, out);
    }

    /// Finishes an item from what the book knows of it.
    fn finish_item(&mut self, index: u32, out: &mut Vec<u8>) {
        let Some(entry) = self.book.find(index) else { return };
        let item = if Item::read(&entry.raw).part_kind() == Some(PartKind::Text) {
            replaced(&entry.raw, &[("status", b"\"completed\""), ("content", &entry.content_list())])
        } else {
            replaced(&entry.raw, &[("status", b"\"incomplete\"")])
        };
        self.item_done_event(index, &item, out);
    }

    fn call_delta(&mut self, part: &Part, text: &str, out: &mut Vec<u8>) {
        let name = match carries(part) {
            Carries::Json => "response.function_call_arguments.delta",
            Carries::FreeText => "response.custom_tool_call_input.delta",
            Carries::Item => return,
        };
        self.call_event(name, part, "delta", text, out);
    }

    fn close_call(&mut self, part: &Part, out: &mut Vec<u8>) {
        let (name, member) = match carries(part) {
            Carries::FreeText => ("response.custom_tool_call_input.done", "input"),
            _ => ("response.function_call_arguments.done", "arguments"),
        };
        self.call_event(name, part, member, part.final_arguments(), out);
        let mut arguments = Vec::new();
        string_into(part.final_arguments(), &mut arguments);
        let item = replaced(&part.raw, &[(member, &arguments), ("status", b"\"completed\"")]);
        let item = under_id(&item, &self.id_of(part));
        self.item_done_event(part.out_index, &item, out);
    }

    fn call_event(&mut self, name: &str, part: &Part, member: &str, text: &str, out: &mut Vec<u8>) {
        self.begin(name, out);
        out.extend_from_slice(b",\"item_id\":");
        string_into(&self.id_of(part), out);
        out.extend_from_slice(format!(",\"output_index\":{},\"{member}\":", part.out_index).as_bytes());
        string_into(text, out);
        out.extend_from_slice(b"}\n\n");
    }

    /// An item whose finished form was received and has not left, or that its attempt left open.
    fn close_as_received(&mut self, part: &Part, out: &mut Vec<u8>) {
        let finished = self.book.unsent((part.attempt, part.key.slot)).map(<[u8]>::to_vec);
        let item = under_id(&finished.unwrap_or_else(|| unfinished(part)), &self.id_of(part));
        self.item_done_event(part.out_index, &item, out);
    }

    pub(super) fn end(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        for index in self.book.unfinished() {
            self.finish_item(index, out);
        }
        let (name, status, details) = ending(turn);
        let (output, usage) = (self.book.output(), usage_of(turn));
        let values =
            [("status", status), ("output", &output), ("usage", &usage), ("incomplete_details", &details)];
        let response = replaced(&self.response, &values);
        self.begin(name, out);
        out.extend_from_slice(b",\"response\":");
        line_into(&response, out);
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
}
