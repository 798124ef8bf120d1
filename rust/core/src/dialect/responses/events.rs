//! `OpenAI` Responses: the members of an event that matter.

use std::borrow::Cow;

use super::SLOTS_PER_ITEM;
use crate::cursor::Cursor;
use crate::delta::Key;

/// The members of an event that matter here.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) sequence: Option<u64>,
    pub(super) output_index: Option<u32>,
    pub(super) content_index: u32,
    pub(super) summary_index: Option<u32>,
    pub(super) item_id: Cow<'a, str>,
    pub(super) delta: Option<Cow<'a, str>>,
    /// What a `.done` event repeats whole.
    pub(super) whole: Option<Cow<'a, str>>,
    pub(super) item: &'a [u8],
    pub(super) part: &'a [u8],
    pub(super) annotation: &'a [u8],
    pub(super) response: &'a [u8],
    pub(super) error: &'a [u8],
    pub(super) code: &'a [u8],
    pub(super) message: &'a [u8],
}

pub(super) fn parse(data: &[u8]) -> Option<Event<'_>> {
    let mut event = Event::default();
    let mut cursor = Cursor::new(data);
    cursor.enter_object();
    while let Some(name) = cursor.key() {
        match name {
            b"type" => event.kind = cursor.string().unwrap_or_default(),
            b"sequence_number" => event.sequence = cursor.unsigned(),
            b"output_index" => event.output_index = index(&mut cursor),
            b"content_index" => event.content_index = index(&mut cursor).unwrap_or(0),
            b"summary_index" => event.summary_index = index(&mut cursor),
            b"item_id" => event.item_id = cursor.string().unwrap_or_default(),
            b"delta" => event.delta = cursor.string(),
            b"arguments" | b"input" | b"text" | b"refusal" => event.whole = cursor.string(),
            b"item" => event.item = cursor.skip(),
            b"part" => event.part = cursor.skip(),
            b"annotation" => event.annotation = cursor.skip(),
            b"response" => event.response = cursor.skip(),
            b"error" => event.error = cursor.skip(),
            b"code" => event.code = cursor.skip(),
            b"message" => event.message = cursor.skip(),
            _ => {
                cursor.skip();
            }
        }
    }
    cursor.ok().then_some(event)
}

pub(super) fn index(cursor: &mut Cursor<'_>) -> Option<u32> {
    cursor.unsigned().map(|value| u32::try_from(value).unwrap_or(u32::MAX))
}

pub(super) fn item_key(event: &Event<'_>) -> Key {
    Key { choice: 0, slot: event.output_index.unwrap_or(0).saturating_mul(SLOTS_PER_ITEM) }
}

pub(super) fn key(event: &Event<'_>) -> Key {
    let item = item_key(event);
    Key { slot: item.slot.saturating_add(event.content_index.min(SLOTS_PER_ITEM - 1)), ..item }
}
