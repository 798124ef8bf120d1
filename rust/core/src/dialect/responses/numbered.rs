//! `OpenAI` Responses: single events on the wire, each with its number and its place.

use super::book::Entry;
use super::pieces::{item_id, line_into, replaced, under_id};
use super::write::Writer;
use crate::cursor::string_into;
use crate::delta::PartKind;
use crate::dialect::objects::members;
use crate::turn::Part;

impl Writer {
    /// An event of the provider under the reader's numbers.
    pub(super) fn raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>) {
        let (mut name, mut item, mut annotation): (_, &[u8], &[u8]) = (String::new(), b"", b"");
        members(raw, |member, cursor| match member {
            b"type" => name = cursor.string().unwrap_or_default().into_owned(),
            b"item" => item = cursor.skip(),
            b"annotation" => annotation = cursor.skip(),
            _ => {
                cursor.skip();
            }
        });
        let (index, at, id) = (part.out_index, self.take_sequence(), self.id_of(part));
        let (item, mut quoted) = (under_id(item, &id), Vec::new());
        string_into(&id, &mut quoted);
        if name == "response.output_item.done" {
            self.book.done(index, &item, at);
        } else if !annotation.is_empty() {
            self.book.annotated(index, annotation, at);
        }
        let (sequence, output_index) = (at.to_string(), index.to_string());
        let mut values: Vec<(&str, &[u8])> =
            vec![("sequence_number", sequence.as_bytes()), ("output_index", output_index.as_bytes())];
        if item.is_empty() {
            values.push(("item_id", &quoted));
        } else {
            values.push(("item", &item));
        }
        let content = self.content_of(part).to_string();
        if matches!(part.kind, PartKind::Text | PartKind::Refusal) {
            values.push(("content_index", content.as_bytes()));
        }
        out.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
        line_into(&replaced(raw, &values), out);
        out.extend_from_slice(b"\n\n");
    }

    fn take_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence - 1
    }

    pub(super) fn begin(&mut self, name: &str, out: &mut Vec<u8>) {
        let sequence = self.take_sequence();
        out.extend_from_slice(
            format!("event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{sequence}").as_bytes(),
        );
    }

    /// The number of the content part that a message's text goes into.
    pub(super) fn content_of(&self, part: &Part) -> u32 {
        self.book.find(part.out_index).and_then(Entry::content).unwrap_or(0)
    }

    /// The id of the part's item on the reader's wire; `part.id` of a call is the client's `call_id`.
    pub(super) fn id_of(&self, part: &Part) -> String {
        self.book.find(part.out_index).map_or_else(|| item_id(part), |entry| entry.id.clone())
    }

    pub(super) fn place(&self, part: &Part, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"item_id\":");
        string_into(&self.id_of(part), out);
        let (index, content) = (part.out_index, self.content_of(part));
        let place = format!(",\"output_index\":{index},\"content_index\":{content}");
        out.extend_from_slice(place.as_bytes());
    }

    pub(super) fn item_done_event(&mut self, index: u32, item: &[u8], out: &mut Vec<u8>) {
        self.book.done(index, item, self.next_sequence);
        self.item_event("response.output_item.done", index, item, out);
    }

    pub(super) fn item_event(&mut self, name: &str, index: u32, item: &[u8], out: &mut Vec<u8>) {
        self.begin(name, out);
        out.extend_from_slice(format!(",\"output_index\":{index},\"item\":").as_bytes());
        line_into(item, out);
        out.extend_from_slice(b"}\n\n");
    }

    pub(super) fn part_event(&mut self, name: &str, part: &Part, content: &[u8], out: &mut Vec<u8>) {
        self.begin(name, out);
        self.place(part, out);
        out.extend_from_slice(b",\"part\":");
        line_into(content, out);
        out.extend_from_slice(b"}\n\n");
    }
}
