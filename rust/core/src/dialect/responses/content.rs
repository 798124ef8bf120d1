//! `OpenAI` Responses: what happens inside an item.

use std::borrow::Cow;

use super::Responses;
use super::events::{Event, item_key, key};
use super::items::{Carries, Item, kind_of};
use crate::delta::{Delta, PartKind};

impl Responses {
    fn hear(&mut self, slot: u32) {
        if !self.heard.contains(&slot) {
            self.heard.push(slot);
        }
    }

    pub(super) fn push_text<'a>(&mut self, event: &Event<'a>, kind: PartKind, deltas: &mut Vec<Delta<'a>>) {
        let key = key(event);
        if let Some(text) = event.delta.clone() {
            if kind == PartKind::Refusal {
                deltas.push(Delta::Retype { key, kind });
            }
            self.hear(key.slot);
            deltas.push(Delta::Text { key, kind, text });
        }
    }

    /// Text that came in no delta stands in its closing event.
    pub(super) fn read_text_done<'a>(
        &mut self,
        event: &Event<'a>,
        kind: PartKind,
        deltas: &mut Vec<Delta<'a>>,
    ) {
        let key = key(event);
        if let Some(text) = event.whole.clone().filter(|_| !self.heard.contains(&key.slot)) {
            self.hear(key.slot);
            deltas.push(Delta::Text { key, kind, text });
        }
        deltas.push(Delta::Close { key });
    }

    pub(super) fn push_arguments<'a>(
        &mut self,
        event: &Event<'a>,
        text: Option<Cow<'a, str>>,
        deltas: &mut Vec<Delta<'a>>,
    ) {
        let key = item_key(event);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.hear(key.slot);
            deltas.push(Delta::Arguments { key, text });
        }
    }

    pub(super) fn push_unheard_arguments<'a>(
        &mut self,
        event: &Event<'a>,
        text: Option<Cow<'a, str>>,
        deltas: &mut Vec<Delta<'a>>,
    ) {
        if !self.heard.contains(&item_key(event).slot) {
            self.push_arguments(event, text, deltas);
        }
    }

    /// The first content of a message is the part that its item opened; more content is a part of its own.
    pub(super) fn read_part<'a>(&mut self, event: &Event<'a>, data: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let (key, index) = (key(event), event.output_index.unwrap_or(0));
        let kind = match kind_of(event.part).as_ref() {
            "output_text" => PartKind::Text,
            "refusal" => PartKind::Refusal,
            _ => {
                deltas.push(Delta::Raw { key: item_key(event), raw: data, closes: false });
                return;
            }
        };
        self.writer.content_added(index, event.content_index, self.number(event));
        if event.content_index > 0 {
            let (id, name) = (event.item_id.clone(), Cow::Borrowed(""));
            deltas.push(Delta::Open { key, kind, index, id, name, raw: b"" });
        } else if kind == PartKind::Refusal {
            deltas.push(Delta::Retype { key, kind });
        }
    }

    pub(super) fn read_part_done<'a>(
        &mut self,
        event: &Event<'a>,
        data: &'a [u8],
        deltas: &mut Vec<Delta<'a>>,
    ) {
        if matches!(kind_of(event.part).as_ref(), "output_text" | "refusal") {
            let index = event.output_index.unwrap_or(0);
            self.writer.content_done(index, event.content_index, event.part, self.number(event));
        } else {
            deltas.push(Delta::Raw { key: item_key(event), raw: data, closes: false });
        }
    }

    /// A call closes with its item; text has closed already; everything else is passed on.
    pub(super) fn read_item_done<'a>(
        &mut self,
        event: &Event<'a>,
        data: &'a [u8],
        deltas: &mut Vec<Delta<'a>>,
    ) {
        self.writer.item_done(event.output_index.unwrap_or(0), event.item, self.number(event));
        let (key, item) = (item_key(event), Item::read(event.item));
        match (item.carries(), item.part_kind()) {
            (Some(Carries::Item), _) => {
                if let Some(arguments) = item.arguments() {
                    deltas.push(Delta::ReplaceArguments { key, text: arguments.into_owned() });
                }
                deltas.push(Delta::Raw { key, raw: data, closes: true });
            }
            (Some(_), _) => {
                self.push_unheard_arguments(event, item.arguments(), deltas);
                deltas.push(Delta::Close { key });
            }
            (None, Some(PartKind::Text) | None) => {}
            (None, Some(_)) => deltas.push(Delta::Raw { key, raw: data, closes: true }),
        }
    }
}
