//! `OpenAI` Chat Completions, and the many servers that speak it.

use std::borrow::Cow;

use super::Dialect;
use super::chat_calls::Calls;
use crate::cursor::{Cursor, string_into, unescape};
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::frame::{Frame, FrameKind, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

const TEXT_SLOT: u32 = u32::MAX;
const REASONING_SLOT: u32 = u32::MAX - 1;
const REFUSAL_SLOT: u32 = u32::MAX - 2;

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Chat {
    calls: Calls,
    /// Raw values of the first chunk that names the message; every written chunk repeats them.
    id: Vec<u8>,
    created: Vec<u8>,
    model: Vec<u8>,
    fingerprint: Vec<u8>,
    reasoning_field: Option<&'static str>,
    /// Reasoning came as parts in a list of content (Mistral), so it goes on as such.
    reasons_in_lists: bool,
    /// How much of each call's arguments was written where the call was opened, by its index.
    told: Vec<usize>,
}

impl Dialect for Chat {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            _ if data == b"[DONE]" => deltas.push(Delta::End),
            None | Some(b':') => deltas.push(Delta::Keepalive),
            Some(b'{') => self.read_chunk(data, frame.kind, deltas),
            _ => deltas.push(text_payload(data)),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        self.calls = Calls::default();
    }

    fn numbers(&self, kind: PartKind) -> bool {
        kind == PartKind::Tool
    }

    fn write_change(&mut self, part: &Part, change: Change, begun: bool, out: &mut Vec<u8>) {
        let mut delta = Vec::new();
        if !begun {
            delta.extend_from_slice(b"\"role\":\"assistant\",");
        }
        match (part.kind, change) {
            (PartKind::Tool, Change::Opened) => {
                write_call(part, &mut delta);
                self.note_told(part);
            }
            (PartKind::Tool, Change::Text { from, to }) => {
                let from = from.max(self.told.get(part.out_index as usize).copied().unwrap_or(0));
                if from >= to {
                    return;
                }
                write_arguments(part, &part.text[from..to], &mut delta);
            }
            (PartKind::Tool, Change::Replaced) => write_arguments(part, &part.text, &mut delta),
            (PartKind::Reasoning, Change::Text { from, to }) if self.reasons_in_lists => {
                write_thinking(&part.text[from..to], &mut delta);
            }
            (_, Change::Text { from, to }) => {
                delta.push(b'"');
                delta.extend_from_slice(self.field(part.kind).as_bytes());
                delta.extend_from_slice(b"\":");
                string_into(&part.text[from..to], &mut delta);
            }
            _ => return,
        }
        self.write_chunk(part.key.choice, &delta, "null", out);
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    fn write_stop(&mut self, _turn: &Turn, choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        let mut reason = Vec::new();
        string_into(if raw.is_empty() { finish_reason(stop) } else { raw }, &mut reason);
        self.write_chunk(choice, b"", &String::from_utf8_lossy(&reason), out);
    }

    fn write_end(&mut self, turn: &Turn, usage: bool, out: &mut Vec<u8>) {
        let total = turn.total_usage();
        if let (Some(output), true) = (total.output, usage) {
            let input = total.input.unwrap_or(0);
            self.write_head(out);
            out.extend_from_slice(
                format!(
                    "\"choices\":[],\"usage\":{{\"prompt_tokens\":{input},\"completion_tokens\":{output},\"total_tokens\":{}}}}}\n\n",
                    input + output
                )
                .as_bytes(),
            );
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn write_error(&self, kind: &str, message: &str, status: Option<u16>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: {\"error\":{\"message\":");
        string_into(message, out);
        out.extend_from_slice(b",\"type\":");
        string_into(kind, out);
        let code = status.map_or_else(|| "null".to_owned(), |status| status.to_string());
        out.extend_from_slice(format!(",\"param\":null,\"code\":{code}}}}}\n\n").as_bytes());
    }

    /// Once an id was set, openai-python takes every blank line for an event and fails on its empty data.
    fn keepalive(&self, ids_seen: bool) -> &'static [u8] {
        if ids_seen { b"" } else { b": keep-alive\n\n" }
    }
}

impl Chat {
    fn read_chunk<'a>(&mut self, data: &'a [u8], kind: FrameKind, deltas: &mut Vec<Delta<'a>>) {
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

    fn note_told(&mut self, part: &Part) {
        let index = part.out_index as usize;
        self.told.resize(self.told.len().max(index + 1), 0);
        self.told[index] = part.text.len();
    }

    fn note_reasoning_field(&mut self, key: &[u8]) {
        let name = if key == b"reasoning" { "reasoning" } else { "reasoning_content" };
        self.reasoning_field.get_or_insert(name);
    }

    fn field(&self, kind: PartKind) -> &'static str {
        match kind {
            PartKind::Reasoning => self.reasoning_field.unwrap_or("reasoning_content"),
            PartKind::Refusal => "refusal",
            _ => "content",
        }
    }

    fn write_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: {");
        for (name, raw) in [("id", &self.id), ("created", &self.created), ("model", &self.model)] {
            if !raw.is_empty() {
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                out.extend_from_slice(raw);
                out.push(b',');
            }
        }
        out.extend_from_slice(b"\"object\":\"chat.completion.chunk\",");
        if !self.fingerprint.is_empty() {
            out.extend_from_slice(b"\"system_fingerprint\":");
            out.extend_from_slice(&self.fingerprint);
            out.push(b',');
        }
    }

    /// `delta` holds members, a trailing comma is dropped.
    fn write_chunk(&self, choice: u32, delta: &[u8], reason: &str, out: &mut Vec<u8>) {
        self.write_head(out);
        out.extend_from_slice(format!("\"choices\":[{{\"index\":{choice},\"delta\":{{").as_bytes());
        out.extend_from_slice(delta.strip_suffix(b",").unwrap_or(delta));
        out.extend_from_slice(format!("}},\"finish_reason\":{reason}}}]}}\n\n").as_bytes());
    }
}

/// Raw values of a chunk's envelope.
#[derive(Default)]
struct Head<'a> {
    id: &'a [u8],
    created: &'a [u8],
    model: &'a [u8],
    fingerprint: &'a [u8],
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

fn read_usage(raw: &[u8]) -> Option<Counters> {
    let mut cursor = Cursor::new(raw);
    if raw.first() != Some(&b'{') || !cursor.enter_object() {
        return None;
    }
    let mut counters = Counters::default();
    while let Some(key) = cursor.key() {
        match key {
            b"prompt_tokens" => counters.input = cursor.unsigned(),
            b"completion_tokens" => counters.output = cursor.unsigned(),
            b"prompt_tokens_details" => counters.cache_read = read_cached(cursor.skip()),
            _ => {
                cursor.skip();
            }
        }
    }
    (!counters.is_empty()).then_some(counters)
}

fn read_cached(raw: &[u8]) -> Option<u64> {
    let mut cursor = Cursor::new(raw);
    if raw.first() != Some(&b'{') || !cursor.enter_object() {
        return None;
    }
    let mut cached = None;
    while let Some(key) = cursor.key() {
        if key == b"cached_tokens" {
            cached = cursor.unsigned();
        } else {
            cursor.skip();
        }
    }
    cached
}

/// An `error` that is absent, null, empty or false is none.
fn is_nothing(raw: &[u8]) -> bool {
    matches!(raw, b"" | b"null" | b"{}" | b"false" | b"\"\"")
}

fn read_error(raw: &[u8]) -> Failure {
    let mut failure = Failure::default();
    let mut cursor = Cursor::new(raw);
    if raw.first() != Some(&b'{') {
        failure.message =
            cursor.string().map_or_else(|| String::from_utf8_lossy(raw).into_owned(), Cow::into_owned);
        return failure;
    }
    cursor.enter_object();
    while let Some(key) = cursor.key() {
        let value = cursor.skip();
        match key {
            b"message" => failure.message = plain(value),
            b"type" => failure.kind = plain(value),
            b"code" => failure.code = plain(value),
            // TGI's `http_status_code` is always 422, whatever went wrong.
            b"status" => failure.status = plain(value).parse().ok(),
            _ => {}
        }
    }
    failure.status =
        failure.code.parse().ok().or(failure.status).or_else(|| status_of(&failure.kind, &failure.code));
    failure
}

/// A scalar as text; null is empty.
fn plain(raw: &[u8]) -> String {
    match raw {
        b"null" => String::new(),
        [b'"', inner @ .., b'"'] => unescape(inner).into_owned(),
        other => String::from_utf8_lossy(other).into_owned(),
    }
}

/// The HTTP status that a named error would have had.
fn status_of(kind: &str, code: &str) -> Option<u16> {
    [code, kind].into_iter().find_map(|name| match name {
        "server_error"
        | "internal_error"
        | "internal_server_error"
        | "InternalError"
        | "InternalServerError"
        | "INTERNAL_SERVER_ERROR"
        | "server"
        | "api_error" => Some(500),
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" | "tokens" | "requests" => {
            Some(429)
        }
        "overloaded"
        | "overloaded_error"
        | "service_unavailable"
        | "unavailable_error"
        | "provider_overloaded"
        | "provider_unavailable"
        | "engine_overloaded" => Some(503),
        "timeout" => Some(504),
        "invalid_request_error" | "context_length_exceeded" | "content_filter" | "BadRequestError" => {
            Some(400)
        }
        "invalid_api_key" | "authentication_error" => Some(401),
        "model_not_found" | "not_found_error" => Some(404),
        _ => None,
    })
}

/// A payload that is no JSON: some servers put an error's text into the stream.
fn text_payload<'a>(data: &[u8]) -> Delta<'a> {
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

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::MaxTokens => "length",
        Stop::ToolUse => "tool_calls",
        Stop::ContentFilter | Stop::Refusal => "content_filter",
        _ => "stop",
    }
}

fn write_thinking(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":");
    string_into(text, out);
    out.extend_from_slice(b"}]}]");
}

/// With the arguments that came in the same chunk: mistralai reads no chunk of a call without its name.
fn write_call(part: &Part, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\"tool_calls\":[{{\"index\":{},\"id\":", part.out_index).as_bytes());
    string_into(&part.id, out);
    out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
    string_into(&part.name, out);
    out.extend_from_slice(b",\"arguments\":");
    string_into(&part.text, out);
    out.extend_from_slice(b"}}]");
}

fn write_arguments(part: &Part, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!("\"tool_calls\":[{{\"index\":{},\"function\":{{\"arguments\":", part.out_index).as_bytes(),
    );
    string_into(text, out);
    out.extend_from_slice(b"}}]");
}
