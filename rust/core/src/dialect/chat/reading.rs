//! `OpenAI` chat: chunks into deltas.

use std::borrow::Cow;

use super::errors::read_error;
use super::usage::read_usage;
use super::{Chat, REASONING_SLOT, REFUSAL_SLOT, TEXT_SLOT};
use crate::cursor::Cursor;
use crate::delta::{Delta, Failure, Key, PartKind, Stop};
use crate::frame::FrameKind;

/// Raw values of a chunk's envelope.
#[derive(Default)]
struct Head<'a> {
    pub(super) id: &'a [u8],
    pub(super) created: &'a [u8],
    pub(super) model: &'a [u8],
    pub(super) fingerprint: &'a [u8],
}

impl Chat {
    pub(super) fn read_chunk<'a>(&mut self, data: &'a [u8], kind: FrameKind, deltas: &mut Vec<Delta<'a>>) {
        let mut cursor = Cursor::new(data);
        let mut head = Head::default();
        let (mut usage, mut error): (&[u8], &[u8]) = (b"", b"");
        let (first, mut stops) = (deltas.len(), Vec::new());
        cursor.enter_object();
        while let Some(key) = cursor.key() {
            match key {
                b"choices" => self.read_choices(&mut cursor, deltas, &mut stops),
                b"usage" => usage = cursor.skip(),
                b"error" => error = cursor.skip(),
                b"id" if self.id.is_empty() => head.id = cursor.skip(),
                b"created" if self.id.is_empty() => head.created = cursor.skip(),
                b"model" if self.id.is_empty() => head.model = cursor.skip(),
                b"system_fingerprint" if self.id.is_empty() => head.fingerprint = cursor.skip(),
                _ => {
                    cursor.skip();
                }
            }
        }
        if !cursor.ok() || kind == FrameKind::Unknown && is_nothing(error) {
            deltas.truncate(first);
            deltas.push(Delta::Opaque);
            return;
        }
        self.name_message(&head, deltas);
        if let Some(counters) = read_usage(usage) {
            deltas.push(Delta::Usage(counters));
        }
        if is_nothing(error) {
            deltas.extend(stops);
        } else {
            deltas.push(Delta::Failure(read_error(error)));
        }
        if deltas.len() == first {
            deltas.push(Delta::Opaque);
        }
    }

    /// The first chunk that carries an id names the message (Azure's first chunk carries empty strings).
    fn name_message<'a>(&mut self, head: &Head<'a>, deltas: &mut Vec<Delta<'a>>) {
        let id = Cursor::new(head.id).string().unwrap_or_default();
        if id.is_empty() {
            return;
        }
        head.id.clone_into(&mut self.id);
        head.created.clone_into(&mut self.created);
        head.model.clone_into(&mut self.model);
        head.fingerprint.clone_into(&mut self.fingerprint);
        deltas.push(Delta::Begin { id, model: Cursor::new(head.model).string().unwrap_or_default() });
    }

    fn read_choices<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        deltas: &mut Vec<Delta<'a>>,
        stops: &mut Vec<Delta<'a>>,
    ) {
        if !cursor.enter_array() {
            return;
        }
        self.calls.next_chunk();
        while cursor.element() {
            if !cursor.enter_object() {
                continue;
            }
            let (mut choice, mut delta, mut reason) = (0, b"".as_slice(), None);
            while let Some(key) = cursor.key() {
                match key {
                    b"index" => choice = clamp(cursor.unsigned()),
                    b"delta" => delta = cursor.skip(),
                    b"finish_reason" => reason = cursor.filled_string(),
                    _ => {
                        cursor.skip();
                    }
                }
            }
            self.read_delta(choice, delta, deltas);
            if let Some(raw) = reason {
                stops.push(Delta::Stop { choice, stop: normalise(&raw), raw });
            }
        }
    }

    fn read_delta<'a>(&mut self, choice: u32, delta: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let mut cursor = Cursor::new(delta);
        if delta.is_empty() || !cursor.enter_object() {
            return;
        }
        let mut reasoned = false;
        while let Some(key) = cursor.key() {
            match key {
                b"content" if cursor.peek() == Some(b'[') => {
                    self.reasons_in_lists |= read_content_list(choice, &mut cursor, deltas);
                }
                b"content" => push_text(choice, PartKind::Text, cursor.filled_string(), deltas),
                b"refusal" => push_text(choice, PartKind::Refusal, cursor.filled_string(), deltas),
                b"reasoning_content" | b"reasoning" => {
                    let text = cursor.filled_string();
                    if let (Some(_), false) = (&text, reasoned) {
                        reasoned = true;
                        self.note_reasoning_field(key);
                        push_text(choice, PartKind::Reasoning, text, deltas);
                    }
                }
                b"tool_calls" => self.calls.read_list(choice, &mut cursor, deltas),
                b"function_call" => self.calls.read_legacy(choice, &mut cursor, deltas),
                _ => {
                    cursor.skip();
                }
            }
        }
    }

    fn note_reasoning_field(&mut self, key: &[u8]) {
        let name = if key == b"reasoning" { "reasoning" } else { "reasoning_content" };
        self.reasoning_field.get_or_insert(name);
    }
}

fn clamp(index: Option<u64>) -> u32 {
    u32::try_from(index.unwrap_or(0)).unwrap_or(u32::MAX)
}

fn push_text<'a>(choice: u32, kind: PartKind, text: Option<Cow<'a, str>>, deltas: &mut Vec<Delta<'a>>) {
    let slot = match kind {
        PartKind::Reasoning => REASONING_SLOT,
        PartKind::Refusal => REFUSAL_SLOT,
        _ => TEXT_SLOT,
    };
    if let Some(text) = text {
        deltas.push(Delta::Text { key: Key { choice, slot }, kind, text });
    }
}

/// Mistral sends content as a list of text and thinking chunks. Tells whether there was thinking.
fn read_content_list<'a>(choice: u32, cursor: &mut Cursor<'a>, deltas: &mut Vec<Delta<'a>>) -> bool {
    let mut thinks = false;
    if !cursor.enter_array() {
        return thinks;
    }
    while cursor.element() {
        if cursor.peek() == Some(b'"') {
            push_text(choice, PartKind::Text, cursor.filled_string(), deltas);
            continue;
        }
        if !cursor.enter_object() {
            continue;
        }
        while let Some(key) = cursor.key() {
            match key {
                b"text" => push_text(choice, PartKind::Text, cursor.filled_string(), deltas),
                b"thinking" => {
                    thinks = true;
                    read_thinking(choice, cursor, deltas);
                }
                _ => {
                    cursor.skip();
                }
            }
        }
    }
    thinks
}

fn read_thinking<'a>(choice: u32, cursor: &mut Cursor<'a>, deltas: &mut Vec<Delta<'a>>) {
    if cursor.peek() == Some(b'"') {
        push_text(choice, PartKind::Reasoning, cursor.filled_string(), deltas);
        return;
    }
    if !cursor.enter_array() {
        return;
    }
    while cursor.element() {
        if !cursor.enter_object() {
            continue;
        }
        while let Some(key) = cursor.key() {
            if key == b"text" {
                push_text(choice, PartKind::Reasoning, cursor.filled_string(), deltas);
            } else {
                cursor.skip();
            }
        }
    }
}

/// An `error` that is absent, null, empty or false is none.
fn is_nothing(raw: &[u8]) -> bool {
    matches!(raw, b"" | b"null" | b"{}" | b"false" | b"\"\"")
}

/// A payload that is no JSON: some servers put an error's text into the stream.
pub(super) fn text_payload<'a>(data: &[u8]) -> Delta<'a> {
    let text = String::from_utf8_lossy(data);
    if data.len() >= 5 && data[..5].eq_ignore_ascii_case(b"error") {
        return Delta::Failure(Failure { message: text.into_owned(), ..Failure::default() });
    }
    Delta::Opaque
}

fn normalise(reason: &str) -> Stop {
    match reason {
        "stop" | "eos" | "eos_token" => Stop::EndTurn,
        "stop_sequence" => Stop::StopSequence,
        "length" | "model_length" => Stop::MaxTokens,
        "tool_calls" | "function_call" => Stop::ToolUse,
        "content_filter" => Stop::ContentFilter,
        "error" | "abort" | "insufficient_system_resource" => Stop::Abnormal,
        _ => Stop::Other,
    }
}
