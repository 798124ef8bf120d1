//! Gemini Interactions: events into deltas.

use std::borrow::Cow;

use super::Interactions;
use super::errors::read_error;
use super::events::{Event, Step, parse, parse_interaction, parse_step};
use crate::cursor::Cursor;
use crate::delta::{Counters, Delta, Key, PartKind, Stop};
use crate::dialect::objects::members;
use crate::frame::{Frame, FrameKind};

impl Interactions {
    pub(super) fn read_event<'a>(&mut self, data: &'a [u8], frame: &Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let Some(event) = parse(data) else {
            deltas.push(Delta::Opaque);
            return;
        };
        if event.error.first() == Some(&b'{') {
            deltas.push(Delta::Failure(read_error(event.error)));
            return;
        }
        if frame.kind == FrameKind::Unknown {
            deltas.push(Delta::Opaque);
            return;
        }
        self.marks.saw(&event.id, event.index.filter(|_| event.starts()));
        self.marks.note(&event.kind, event.index);
        let key = Key { choice: 0, slot: u32::try_from(event.index.unwrap_or(0)).unwrap_or(u32::MAX) };
        match event.kind.as_ref() {
            "interaction.created" | "interaction.start" => self.begin(&event, deltas),
            "interaction.completed" | "interaction.complete" => read_end(event.interaction, deltas),
            "step.start" | "content.start" => read_start(key, event.step, deltas),
            "step.delta" | "content.delta" => read_delta(key, event.delta, deltas),
            "step.stop" | "content.stop" => deltas.push(Delta::Close { key }),
            _ => deltas.push(Delta::Opaque),
        }
    }

    pub(super) fn begin<'a>(&mut self, event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
        let interaction = parse_interaction(event.interaction);
        self.marks.interaction = Cursor::new(interaction.id).string().unwrap_or_default().into_owned();
        if self.id.is_empty() {
            interaction.id.clone_into(&mut self.id);
            interaction.model.clone_into(&mut self.model);
            self.older = event.kind == "interaction.start";
        }
        let text = |raw: &'a [u8]| Cursor::new(raw).string().unwrap_or_default();
        deltas.push(Delta::Begin { id: text(interaction.id), model: text(interaction.model) });
    }
}

/// The proof of the end says how it ended.
fn read_end<'a>(raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let interaction = parse_interaction(raw);
    if let Some(counters) = read_usage(interaction.usage) {
        deltas.push(Delta::Usage(counters));
    }
    if interaction.status == "failed" {
        let mut failure = read_error(interaction.error);
        if failure.kind.is_empty() {
            "failed".clone_into(&mut failure.kind);
        }
        deltas.push(Delta::Failure(failure));
    } else {
        let raw = interaction.status;
        deltas.push(Delta::Stop { choice: 0, stop: normalise(&raw), raw });
    }
}

fn read_start<'a>(key: Key, raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let step = parse_step(raw);
    let kind = step_kind(&step.kind);
    let result = step.kind.ends_with("_result");
    let id = if kind == PartKind::Server { server_id(result) } else { step.id };
    deltas.push(Delta::Open { key, kind, index: key.slot, id, name: step.name, raw });
    if let (Some(text), true) = (step.text, matches!(kind, PartKind::Text | PartKind::Reasoning)) {
        deltas.push(Delta::Text { key, kind, text });
    }
    if let Some(text) = step.signature {
        deltas.push(Delta::Signature { key, text });
    }
    push_arguments(key, kind, step.arguments, deltas);
}

/// A server-side call has an id until its result comes.
fn server_id(result: bool) -> Cow<'static, str> {
    Cow::Borrowed(if result { "" } else { "server" })
}

fn step_kind(kind: &str) -> PartKind {
    match kind {
        "model_output" | "text" => PartKind::Text,
        "thought" => PartKind::Reasoning,
        "function_call" => PartKind::Tool,
        other if other.ends_with("_call") || other.ends_with("_result") => PartKind::Server,
        _ => PartKind::Other,
    }
}

fn push_arguments(key: Key, kind: PartKind, raw: &[u8], deltas: &mut Vec<Delta<'_>>) {
    if kind == PartKind::Tool && raw.first() == Some(&b'{') && raw.trim_ascii() != b"{}" {
        deltas.push(Delta::ReplaceArguments { key, text: String::from_utf8_lossy(raw).into_owned() });
    }
}

fn read_delta<'a>(key: Key, raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let mut content: &[u8] = b"";
    let mut step = Step::default();
    members(raw, |member, cursor| match member {
        b"type" => step.kind = cursor.string().unwrap_or_default(),
        b"text" => step.text = cursor.string(),
        b"signature" => step.signature = cursor.string(),
        b"arguments" => step.arguments = cursor.skip(),
        b"content" => content = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    deltas.push(match step.kind.as_ref() {
        "text" => Delta::Text { key, kind: PartKind::Text, text: step.text.unwrap_or_default() },
        "thought_summary" => {
            let text = parse_step(content).text.or(step.text).unwrap_or_default();
            Delta::Text { key, kind: PartKind::Reasoning, text }
        }
        "thought_signature" => Delta::Signature { key, text: step.signature.unwrap_or_default() },
        "arguments_delta" if step.arguments.first() == Some(&b'"') => {
            Delta::Arguments { key, text: Cursor::new(step.arguments).string().unwrap_or_default() }
        }
        "arguments_delta" | "function_call" if step.arguments.first() == Some(&b'{') => {
            Delta::ReplaceArguments { key, text: String::from_utf8_lossy(step.arguments).into_owned() }
        }
        _ => Delta::Raw { key, raw, closes: false },
    });
}

/// Thoughts are output too.
fn read_usage(raw: &[u8]) -> Option<Counters> {
    let (mut counters, mut thoughts) = (Counters::default(), None);
    members(raw, |key, cursor| match key {
        b"total_input_tokens" => counters.input = cursor.unsigned(),
        b"total_output_tokens" => counters.output = cursor.unsigned(),
        b"total_cached_tokens" => counters.cache_read = cursor.unsigned(),
        b"total_thought_tokens" => thoughts = cursor.unsigned(),
        _ => {
            cursor.skip();
        }
    });
    if let Some(thoughts) = thoughts {
        counters.output = Some(counters.output.unwrap_or(0).saturating_add(thoughts));
    }
    (!counters.is_empty()).then_some(counters)
}

fn normalise(status: &str) -> Stop {
    match status {
        "completed" => Stop::EndTurn,
        "requires_action" => Stop::ToolUse,
        "incomplete" => Stop::MaxTokens,
        "requires_continuation" => Stop::Pause,
        _ => Stop::Other,
    }
}
