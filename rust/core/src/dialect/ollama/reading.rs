//! Ollama: lines into deltas.

use std::borrow::Cow;

use super::{Ollama, REASONING, TEXT};
use crate::cursor::Cursor;
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};

/// The members of a line that matter here.
#[derive(Default)]
pub(super) struct Line<'a> {
    pub(super) model: &'a [u8],
    pub(super) created_at: &'a [u8],
    pub(super) message: &'a [u8],
    pub(super) response: Option<Cow<'a, str>>,
    pub(super) thinking: Option<Cow<'a, str>>,
    pub(super) done: bool,
    pub(super) reason: Option<Cow<'a, str>>,
    pub(super) counters: Counters,
    pub(super) error: &'a [u8],
}

impl Ollama {
    pub(super) fn read_line<'a>(&mut self, line: Line<'a>, deltas: &mut Vec<Delta<'a>>) {
        if !matches!(line.error, b"" | b"null" | b"\"\"") {
            deltas.push(Delta::Failure(read_error(line.error)));
            return;
        }
        if self.model.is_empty() && !line.model.is_empty() {
            line.model.clone_into(&mut self.model);
            line.created_at.clone_into(&mut self.created_at);
            self.generates = line.response.is_some();
            let model = Cursor::new(line.model).string().unwrap_or_default();
            deltas.push(Delta::Begin { id: Cow::Borrowed(""), model });
        }
        push_text(REASONING, PartKind::Reasoning, line.thinking, deltas);
        push_text(TEXT, PartKind::Text, line.response, deltas);
        self.read_message(line.message, deltas);
        if !line.counters.is_empty() {
            deltas.push(Delta::Usage(line.counters));
        }
        if line.done {
            let raw = line.reason.unwrap_or(Cow::Borrowed("stop"));
            deltas.push(Delta::Stop { choice: 0, stop: normalise(&raw), raw });
            deltas.push(Delta::End);
        }
        if deltas.is_empty() {
            deltas.push(Delta::Opaque);
        }
    }

    fn read_message<'a>(&mut self, message: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let mut cursor = Cursor::new(message);
        if message.first() != Some(&b'{') || !cursor.enter_object() {
            return;
        }
        while let Some(key) = cursor.key() {
            match key {
                b"content" => push_text(TEXT, PartKind::Text, cursor.string(), deltas),
                b"thinking" => push_text(REASONING, PartKind::Reasoning, cursor.string(), deltas),
                b"tool_calls" => self.read_calls(&mut cursor, deltas),
                _ => {
                    cursor.skip();
                }
            }
        }
    }

    fn read_calls<'a>(&mut self, cursor: &mut Cursor<'a>, deltas: &mut Vec<Delta<'a>>) {
        if !cursor.enter_array() {
            return;
        }
        while cursor.element() {
            let (mut id, mut name) = (Cow::Borrowed(""), Cow::Borrowed(""));
            let mut arguments: &[u8] = b"";
            if !cursor.enter_object() {
                continue;
            }
            while let Some(key) = cursor.key() {
                match key {
                    b"id" => id = cursor.string().unwrap_or_default(),
                    b"function" => (name, arguments) = read_function(cursor.skip()),
                    _ => {
                        cursor.skip();
                    }
                }
            }
            let key = Key { choice: 0, slot: self.calls };
            deltas.push(Delta::Open { key, kind: PartKind::Tool, index: self.calls, id, name, raw: b"" });
            let text = String::from_utf8_lossy(arguments).into_owned();
            deltas.push(Delta::ReplaceArguments { key, text });
            deltas.push(Delta::Close { key });
            self.calls += 1;
        }
    }
}

pub(super) fn parse(data: &[u8]) -> Option<Line<'_>> {
    if data.first() != Some(&b'{') {
        return None;
    }
    let mut line = Line::default();
    let mut cursor = Cursor::new(data);
    cursor.enter_object();
    while let Some(key) = cursor.key() {
        match key {
            b"model" => line.model = cursor.skip(),
            b"created_at" => line.created_at = cursor.skip(),
            b"message" => line.message = cursor.skip(),
            b"response" => line.response = cursor.string(),
            b"thinking" => line.thinking = cursor.string(),
            b"done" => line.done = cursor.skip() == b"true",
            b"done_reason" => line.reason = cursor.filled_string(),
            b"prompt_eval_count" => line.counters.input = cursor.unsigned(),
            b"eval_count" => line.counters.output = cursor.unsigned(),
            b"error" => line.error = cursor.skip(),
            _ => {
                cursor.skip();
            }
        }
    }
    cursor.ok().then_some(line)
}

fn push_text<'a>(key: Key, kind: PartKind, text: Option<Cow<'a, str>>, deltas: &mut Vec<Delta<'a>>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        deltas.push(Delta::Text { key, kind, text });
    }
}

fn read_function(raw: &[u8]) -> (Cow<'_, str>, &[u8]) {
    let (mut name, mut arguments) = (Cow::Borrowed(""), b"{}".as_slice());
    let mut cursor = Cursor::new(raw);
    if raw.first() == Some(&b'{') && cursor.enter_object() {
        while let Some(key) = cursor.key() {
            match key {
                b"name" => name = cursor.string().unwrap_or_default(),
                b"arguments" => arguments = cursor.skip(),
                _ => {
                    cursor.skip();
                }
            }
        }
    }
    (name, if arguments == b"null" { b"{}" } else { arguments })
}

fn read_error(raw: &[u8]) -> Failure {
    let message =
        Cursor::new(raw).string().map_or_else(|| String::from_utf8_lossy(raw).into_owned(), Cow::into_owned);
    Failure { message, ..Failure::default() }
}

fn normalise(reason: &str) -> Stop {
    match reason {
        "stop" => Stop::EndTurn,
        "length" => Stop::MaxTokens,
        _ => Stop::Other,
    }
}
