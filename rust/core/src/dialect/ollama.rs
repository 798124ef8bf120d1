//! Ollama's own protocol: `/api/chat` and `/api/generate`, one JSON object a line.
//!
//! A tool call comes whole, in one line. The last line, with `done`, carries the stop reason and the counters.

use std::borrow::Cow;

use super::Dialect;
use crate::cursor::{Cursor, string_into};
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::frame::{Frame, Framing};
use crate::ndjson::NdjsonFraming;
use crate::turn::{Change, Part, Turn};

const TEXT: Key = Key { choice: 0, slot: u32::MAX };
const REASONING: Key = Key { choice: 0, slot: u32::MAX - 1 };

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Ollama {
    /// Raw values of the first line; every written line repeats them.
    model: Vec<u8>,
    created_at: Vec<u8>,
    /// The lines are those of `/api/generate`.
    generates: bool,
    /// Tool calls of this attempt.
    calls: u32,
}

/// The members of a line that matter here.
#[derive(Default)]
struct Line<'a> {
    model: &'a [u8],
    created_at: &'a [u8],
    message: &'a [u8],
    response: Option<Cow<'a, str>>,
    thinking: Option<Cow<'a, str>>,
    done: bool,
    reason: Option<Cow<'a, str>>,
    counters: Counters,
    error: &'a [u8],
}

impl Dialect for Ollama {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(NdjsonFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        match parse(&frame.data) {
            Some(line) => self.read_line(line, deltas),
            None => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        self.calls = 0;
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        false
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        match (part.kind, change) {
            (PartKind::Tool, Change::Closed) => self.write_call(part, out),
            (PartKind::Text | PartKind::Reasoning, Change::Text { from, to }) => {
                self.write_text(part.kind, &part.text[from..to], out);
            }
            _ => {}
        }
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    /// The stop reason stands in the last line.
    fn write_stop(&mut self, _turn: &Turn, _choice: u32, _stop: Stop, _raw: &str, _out: &mut Vec<u8>) {}

    fn write_end(&mut self, turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        self.write_head(out);
        out.extend_from_slice(if self.generates {
            b"\"response\":\"\"".as_slice()
        } else {
            b"\"message\":{\"role\":\"assistant\",\"content\":\"\"}"
        });
        out.extend_from_slice(b",\"done\":true,\"done_reason\":");
        string_into(done_reason(turn), out);
        let total = turn.total_usage();
        for (name, count) in [("prompt_eval_count", total.input), ("eval_count", total.output)] {
            if let Some(count) = count {
                out.extend_from_slice(format!(",\"{name}\":{count}").as_bytes());
            }
        }
        out.extend_from_slice(b"}\n");
    }

    fn write_error(&self, _kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"error\":");
        string_into(message, out);
        out.extend_from_slice(b"}\n");
    }

    /// Clients take every line for an object.
    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b""
    }
}

impl Ollama {
    fn read_line<'a>(&mut self, line: Line<'a>, deltas: &mut Vec<Delta<'a>>) {
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

    fn write_head(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (name, raw) in [("model", &self.model), ("created_at", &self.created_at)] {
            if !raw.is_empty() {
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                out.extend_from_slice(raw);
                out.push(b',');
            }
        }
    }

    fn write_text(&self, kind: PartKind, text: &str, out: &mut Vec<u8>) {
        self.write_head(out);
        out.extend_from_slice(match (self.generates, kind) {
            (true, PartKind::Reasoning) => b"\"response\":\"\",\"thinking\":".as_slice(),
            (true, _) => b"\"response\":",
            (false, PartKind::Reasoning) => {
                b"\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":"
            }
            (false, _) => b"\"message\":{\"role\":\"assistant\",\"content\":",
        });
        string_into(text, out);
        out.extend_from_slice(if self.generates { b",\"done\":false}\n" } else { b"},\"done\":false}\n" });
    }

    fn write_call(&self, part: &Part, out: &mut Vec<u8>) {
        self.write_head(out);
        out.extend_from_slice(b"\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{");
        if !part.id.is_empty() {
            out.extend_from_slice(b"\"id\":");
            string_into(&part.id, out);
            out.push(b',');
        }
        out.extend_from_slice(b"\"function\":{\"name\":");
        string_into(&part.name, out);
        out.extend_from_slice(b",\"arguments\":");
        out.extend_from_slice(part.final_arguments().as_bytes());
        out.extend_from_slice(b"}}]},\"done\":false}\n");
    }
}

fn parse(data: &[u8]) -> Option<Line<'_>> {
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

fn done_reason(turn: &Turn) -> &str {
    match turn.stops.first() {
        Some(Some((Stop::MaxTokens, _))) => "length",
        Some(Some((_, raw))) if !raw.is_empty() => raw,
        _ => "stop",
    }
}
