//! `OpenAI` Responses: events into deltas.

use std::borrow::Cow;

use super::Responses;
use super::errors::{read_error, read_terminal};
use super::events::{Event, item_key, key, parse};
use super::items::{Carries, Item};
use crate::delta::{Delta, PartKind};
use crate::dialect::objects::members;
use crate::frame::FrameKind;

impl Responses {
    pub(super) fn read_event<'a>(&mut self, data: &'a [u8], kind: FrameKind, deltas: &mut Vec<Delta<'a>>) {
        let Some(mut event) = parse(data) else {
            deltas.push(Delta::Opaque);
            return;
        };
        self.place(&mut event);
        let has_error = !matches!(event.error, b"" | b"null" | b"{}");
        if kind == FrameKind::Unknown && !has_error {
            deltas.push(Delta::Opaque);
            return;
        }
        match event.kind.as_ref() {
            "error" => deltas.push(Delta::Failure(read_error(event.error, event.code, event.message))),
            "response.completed" | "response.incomplete" | "response.cancelled" | "response.failed" => {
                read_terminal(&event.kind, event.response, deltas);
            }
            _ if has_error => {
                deltas.push(Delta::Failure(read_error(event.error, event.code, event.message)));
            }
            "keepalive" | "response.keepalive" | "ping" | "heartbeat" => deltas.push(Delta::Keepalive),
            "response.created" => self.read_created(&event, deltas),
            "response.output_item.added" => self.read_item(&event, deltas),
            "response.output_item.done" => self.read_item_done(&event, data, deltas),
            _ if event.output_index.is_some() => self.read_content(&event, data, deltas),
            _ => {}
        }
        if !deltas.iter().any(|delta| matches!(delta, Delta::Failure(_))) {
            self.writer.saw(event.sequence);
            self.last = event.sequence.or(self.last);
            self.note_place(&event);
        }
        if deltas.is_empty() {
            deltas.push(Delta::Opaque);
        }
    }

    fn note_place(&mut self, event: &Event<'_>) {
        if event.output_index.is_none() && self.place.is_some() {
            return; // a keep-alive says nothing about where the response stands
        }
        let place = self.place.get_or_insert_default();
        event.kind.as_ref().clone_into(&mut place.event);
        place.item = event.output_index.unwrap_or(0);
        place.inner = event.summary_index.unwrap_or(event.content_index);
    }

    /// llama.cpp leaves out the numbers of items: there they are numbered as they come.
    pub(super) fn place(&mut self, event: &mut Event<'_>) {
        if event.output_index.is_some() || (event.item_id.is_empty() && event.item.is_empty()) {
            return;
        }
        let id = if event.item_id.is_empty() { Item::read(event.item).id } else { event.item_id.clone() };
        let at = self.unplaced.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.unplaced.push(id.into_owned());
            self.unplaced.len() - 1
        });
        event.output_index = u32::try_from(at).ok();
    }

    /// The number of this event on the wire.
    pub(super) fn number(&self, event: &Event<'_>) -> u64 {
        event.sequence.unwrap_or(self.writer.sequence())
    }

    fn read_created<'a>(&mut self, event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
        self.writer.created(event.response);
        let (mut id, mut model) = (Cow::Borrowed(""), Cow::Borrowed(""));
        members(event.response, |name, cursor| match name {
            b"id" => id = cursor.string().unwrap_or_default(),
            b"model" => model = cursor.string().unwrap_or_default(),
            _ => {
                cursor.skip();
            }
        });
        id.as_ref().clone_into(&mut self.response_id);
        deltas.push(Delta::Begin { id, model });
    }

    fn read_item<'a>(&mut self, event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
        let item = Item::read(event.item);
        let Some(kind) = item.part_kind() else { return };
        let (key, index) = (item_key(event), event.output_index.unwrap_or(0));
        self.writer.added(index, key.slot, &item.id, event.item, self.number(event));
        let free_text = item.carries() == Some(Carries::FreeText);
        let (id, name) = item.names();
        deltas.push(Delta::Open { key, kind, index, id, name, raw: event.item });
        if free_text {
            deltas.push(Delta::FreeText { key });
        }
    }

    /// Everything that happens inside an item.
    fn read_content<'a>(&mut self, event: &Event<'a>, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        match event.kind.as_ref() {
            "response.output_text.delta" => self.push_text(event, PartKind::Text, deltas),
            "response.refusal.delta" => self.push_text(event, PartKind::Refusal, deltas),
            "response.output_text.done" => self.read_text_done(event, PartKind::Text, deltas),
            "response.refusal.done" => self.read_text_done(event, PartKind::Refusal, deltas),
            "response.content_part.added" => self.read_part(event, data, deltas),
            "response.content_part.done" => self.read_part_done(event, data, deltas),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.push_arguments(event, event.delta.clone(), deltas);
            }
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                self.push_unheard_arguments(event, event.whole.clone(), deltas);
                deltas.push(Delta::Finished { key: item_key(event) });
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                let key = item_key(event);
                if let Some(text) = event.delta.clone() {
                    deltas.push(Delta::Text { key, kind: PartKind::Reasoning, text });
                }
                deltas.push(Delta::Raw { key, raw: data, closes: false });
            }
            "response.output_text.annotation.added" => {
                self.writer.annotated(event.output_index.unwrap_or(0), event.annotation, self.number(event));
                deltas.push(Delta::Raw { key: key(event), raw: data, closes: false });
            }
            _ => deltas.push(Delta::Raw { key: item_key(event), raw: data, closes: false }),
        }
    }
}
