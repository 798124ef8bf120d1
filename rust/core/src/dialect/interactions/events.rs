//! Gemini Interactions: the members of an event that matter.

use std::borrow::Cow;

use crate::dialect::objects::members;

/// The members of an event that matter here, in whatever order they came.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) id: Cow<'a, str>,
    pub(super) index: Option<u64>,
    pub(super) interaction: &'a [u8],
    pub(super) step: &'a [u8],
    pub(super) delta: &'a [u8],
    pub(super) error: &'a [u8],
}

impl Event<'_> {
    pub(super) fn starts(&self) -> bool {
        matches!(self.kind.as_ref(), "step.start" | "content.start")
    }
}

#[derive(Default)]
pub(super) struct Interaction<'a> {
    pub(super) id: &'a [u8],
    pub(super) model: &'a [u8],
    pub(super) status: Cow<'a, str>,
    pub(super) usage: &'a [u8],
    pub(super) error: &'a [u8],
}

#[derive(Default)]
pub(super) struct Step<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: &'a [u8],
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) signature: Option<Cow<'a, str>>,
}

pub(super) fn parse(data: &[u8]) -> Option<Event<'_>> {
    let mut event = Event::default();
    let whole = members(data, |key, cursor| match key {
        b"event_type" => event.kind = cursor.string().unwrap_or_default(),
        b"event_id" => event.id = cursor.string().unwrap_or_default(),
        b"index" => event.index = cursor.unsigned(),
        b"interaction" => event.interaction = cursor.skip(),
        b"step" | b"content" => event.step = cursor.skip(),
        b"delta" => event.delta = cursor.skip(),
        b"error" => event.error = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    whole.then_some(event)
}

pub(super) fn parse_interaction(raw: &[u8]) -> Interaction<'_> {
    let mut interaction = Interaction::default();
    members(raw, |key, cursor| match key {
        b"id" => interaction.id = cursor.skip(),
        b"model" => interaction.model = cursor.skip(),
        b"status" => interaction.status = cursor.string().unwrap_or_default(),
        b"usage" => interaction.usage = cursor.skip(),
        b"error" => interaction.error = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    interaction
}

pub(super) fn parse_step(raw: &[u8]) -> Step<'_> {
    let mut step = Step::default();
    members(raw, |key, cursor| match key {
        b"type" => step.kind = cursor.string().unwrap_or_default(),
        b"id" => step.id = cursor.string().unwrap_or_default(),
        b"name" => step.name = cursor.string().unwrap_or_default(),
        b"arguments" => step.arguments = cursor.skip(),
        b"text" => step.text = cursor.filled_string(),
        b"signature" => step.signature = cursor.filled_string(),
        _ => {
            cursor.skip();
        }
    });
    step
}
