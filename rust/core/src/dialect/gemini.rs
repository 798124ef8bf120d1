//! Gemini `streamGenerateContent` with `alt=sse`: data lines only. Its readers break on comments, event names and
//! `[DONE]`, so none of them is ever written.

use std::borrow::Cow;

use super::Dialect;
use super::gemini_arguments::Arguments;
use crate::cursor::{Cursor, string_into};
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::frame::{Frame, FrameKind, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

const TEXT_SLOT: u32 = u32::MAX;
const REASONING_SLOT: u32 = u32::MAX - 1;

/// A call whose arguments come in pieces.
#[derive(Debug)]
struct OpenCall {
    key: Key,
    arguments: Arguments,
}

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Gemini {
    /// Raw values of the first chunk that names the message; every written chunk repeats them.
    id: Vec<u8>,
    model: Vec<u8>,
    open: Vec<OpenCall>,
    next_slot: u32,
    attempt: u32,
    /// The first attempt (from 0) that was not passed on as it came.
    rewritten_from: Option<u32>,
}

/// The members of a part that matter here.
#[derive(Default)]
struct PartRead<'a> {
    text: Option<Cow<'a, str>>,
    thought: bool,
    signature: Option<Cow<'a, str>>,
    call: &'a [u8],
    /// The provider runs something itself, or answers with more than text.
    server: bool,
    result: bool,
}

#[derive(Default)]
struct CallRead<'a> {
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: &'a [u8],
    pieces: &'a [u8],
    continues: bool,
}

impl Dialect for Gemini {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None => deltas.push(Delta::Keepalive),
            Some(b'{') => self.read_chunk(data, frame.kind, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, rewriting: bool) {
        self.open.clear();
        self.attempt += 1;
        if rewriting {
            self.rewritten_from.get_or_insert(self.attempt);
        }
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        false
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let mut json = Vec::new();
        match (part.kind, change) {
            (PartKind::Tool, Change::Closed) if self.left_in_pieces(part) => {
                json.extend_from_slice(b"{\"functionCall\":{}}");
            }
            (PartKind::Tool, Change::Closed) => write_call(part, &mut json),
            (PartKind::Server | PartKind::Other, Change::Opened) => json.extend_from_slice(&part.raw),
            (PartKind::Text | PartKind::Reasoning | PartKind::Refusal, Change::Text { from, to }) => {
                write_text(part, &part.text[from..to], &mut json);
            }
            _ => return,
        }
        self.write_chunk(part.key.choice, &json, b"", None, out);
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    fn write_stop(&mut self, turn: &Turn, choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        let mut reason = b",\"finishReason\":".to_vec();
        string_into(if raw.is_empty() { finish_reason(stop) } else { raw }, &mut reason);
        self.write_chunk(choice, b"{\"text\":\"\"}", &reason, Some(turn.total_usage()), out);
    }

    /// The stop reason is the last that this protocol says.
    fn write_end(&mut self, _turn: &Turn, _usage: bool, _out: &mut Vec<u8>) {}

    fn write_error(&self, kind: &str, message: &str, status: Option<u16>, out: &mut Vec<u8>) {
        let code = status.unwrap_or(500);
        out.extend_from_slice(format!("data: {{\"error\":{{\"code\":{code},\"message\":").as_bytes());
        string_into(message, out);
        out.extend_from_slice(b",\"status\":");
        string_into(kind, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b""
    }
}

impl Gemini {
    fn read_chunk<'a>(&mut self, data: &'a [u8], kind: FrameKind, deltas: &mut Vec<Delta<'a>>) {
        let mut cursor = Cursor::new(data);
        let (mut id, mut model): (&[u8], &[u8]) = (b"", b"");
        let (mut usage, mut feedback, mut error): (&[u8], &[u8], &[u8]) = (b"", b"", b"");
        let (first, mut stops) = (deltas.len(), Vec::new());
        cursor.enter_object();
        while let Some(key) = cursor.key() {
            match key {
                b"candidates" => self.read_candidates(&mut cursor, deltas, &mut stops),
                b"usageMetadata" => usage = cursor.skip(),
                b"promptFeedback" => feedback = cursor.skip(),
                b"responseId" => id = cursor.skip(),
                b"modelVersion" => model = cursor.skip(),
                b"error" => error = cursor.skip(),
                _ => {
                    cursor.skip();
                }
            }
        }
        let failed = error.first() == Some(&b'{');
        if !cursor.ok() || kind == FrameKind::Unknown && !failed {
            deltas.truncate(first);
            deltas.push(Delta::Opaque);
            return;
        }
        self.name_message(id, model, deltas);
        if let Some(counters) = read_usage(usage) {
            deltas.push(Delta::Usage(counters));
        }
        if failed {
            deltas.push(Delta::Failure(read_error(error)));
        } else {
            deltas.extend(stops);
            if let Some(stop) = read_block(feedback) {
                deltas.extend([Delta::NoChoices, stop]);
            }
        }
        if deltas.len() == first {
            deltas.push(Delta::Opaque);
        }
    }

    fn name_message<'a>(&mut self, id: &'a [u8], model: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        if !self.id.is_empty() || id.is_empty() {
            return;
        }
        id.clone_into(&mut self.id);
        model.clone_into(&mut self.model);
        let text = |raw: &'a [u8]| Cursor::new(raw).string().unwrap_or_default();
        deltas.push(Delta::Begin { id: text(id), model: text(model) });
    }

    fn read_candidates<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        deltas: &mut Vec<Delta<'a>>,
        stops: &mut Vec<Delta<'a>>,
    ) {
        if !cursor.enter_array() {
            return;
        }
        while cursor.element() {
            if !cursor.enter_object() {
                continue;
            }
            let (mut choice, mut content, mut reason) = (0, b"".as_slice(), None);
            while let Some(key) = cursor.key() {
                match key {
                    b"index" => {
                        choice = u32::try_from(cursor.unsigned().unwrap_or(0)).unwrap_or(0).min(1023);
                    }
                    b"content" => content = cursor.skip(),
                    b"finishReason" => reason = cursor.filled_string(),
                    _ => {
                        cursor.skip();
                    }
                }
            }
            self.read_content(choice, content, deltas);
            if let Some(raw) = reason.filter(|raw| raw != "FINISH_REASON_UNSPECIFIED") {
                let stop = normalise(&raw);
                self.close_open_call(choice, stop == Stop::EndTurn, deltas);
                stops.push(Delta::Stop { choice, stop, raw });
            }
        }
    }

    fn read_content<'a>(&mut self, choice: u32, content: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let mut cursor = Cursor::new(content);
        if content.is_empty() || !cursor.enter_object() {
            return;
        }
        while let Some(key) = cursor.key() {
            if key != b"parts" || !cursor.enter_array() {
                if key != b"parts" {
                    cursor.skip();
                }
                continue;
            }
            while cursor.element() {
                self.read_part(choice, cursor.skip(), deltas);
            }
        }
    }

    fn read_part<'a>(&mut self, choice: u32, raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
        let part = parse_part(raw);
        if !part.call.is_empty() {
            self.read_call(choice, &part, deltas);
            return;
        }
        if part.server {
            let key = Key { choice, slot: self.slot() };
            let id = if part.result { "" } else { "server" };
            deltas.push(Delta::Open {
                key,
                kind: PartKind::Server,
                index: 0,
                id: Cow::Borrowed(id),
                name: Cow::Borrowed(""),
                raw,
            });
            return;
        }
        let (kind, slot) =
            if part.thought { (PartKind::Reasoning, REASONING_SLOT) } else { (PartKind::Text, TEXT_SLOT) };
        let key = Key { choice, slot };
        if let Some(text) = part.text {
            deltas.push(Delta::Text { key, kind, text });
        }
        if let Some(text) = part.signature {
            deltas.push(Delta::Signature { key, text });
        }
    }

    /// A whole call, or the opening, a piece or the end of one whose arguments are streamed.
    fn read_call<'a>(&mut self, choice: u32, part: &PartRead<'a>, deltas: &mut Vec<Delta<'a>>) {
        let call = parse_call(part.call);
        if let Some(name) = call.name {
            self.close_open_call(choice, true, deltas);
            let key = Key { choice, slot: self.slot() };
            let id = call.id.unwrap_or_default();
            deltas.push(Delta::Open { key, kind: PartKind::Tool, index: 0, id, name, raw: b"" });
            if let Some(text) = &part.signature {
                deltas.push(Delta::Signature { key, text: text.clone() });
            }
            if call.arguments.first() == Some(&b'{') {
                deltas.push(Delta::Arguments { key, text: String::from_utf8_lossy(call.arguments) });
                deltas.push(Delta::Close { key });
                return;
            }
            self.open.push(OpenCall { key, arguments: Arguments::default() });
        }
        if let Some(open) = self.open.iter_mut().find(|open| open.key.choice == choice) {
            open.arguments.take(call.pieces);
        }
        if !call.continues {
            self.close_open_call(choice, true, deltas);
        }
    }

    fn close_open_call(&mut self, choice: u32, whole: bool, deltas: &mut Vec<Delta<'_>>) {
        let Some(at) = self.open.iter().position(|open| open.key.choice == choice) else { return };
        let open = self.open.remove(at);
        let text = Cow::Owned(open.arguments.finish(whole));
        deltas.push(Delta::Arguments { key: open.key, text });
        if whole {
            deltas.push(Delta::Close { key: open.key });
        }
    }

    fn slot(&mut self) -> u32 {
        self.next_slot += 1;
        self.next_slot
    }

    /// The reader has the call's opening and its pieces as they came.
    fn left_in_pieces(&self, part: &Part) -> bool {
        part.live && self.rewritten_from.is_none_or(|from| part.attempt <= from)
    }

    fn write_chunk(
        &self,
        choice: u32,
        part: &[u8],
        reason: &[u8],
        usage: Option<Counters>,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"data: {\"candidates\":[{\"content\":{\"parts\":[");
        out.extend_from_slice(part);
        out.extend_from_slice(b"],\"role\":\"model\"}");
        out.extend_from_slice(reason);
        out.extend_from_slice(format!(",\"index\":{choice}}}]").as_bytes());
        if let Some(usage) = usage {
            write_usage(usage, out);
        }
        for (name, raw) in [("modelVersion", &self.model), ("responseId", &self.id)] {
            if !raw.is_empty() {
                out.extend_from_slice(format!(",\"{name}\":").as_bytes());
                out.extend_from_slice(raw);
            }
        }
        out.extend_from_slice(b"}\n\n");
    }
}

fn parse_part(raw: &[u8]) -> PartRead<'_> {
    let mut part = PartRead::default();
    let mut cursor = Cursor::new(raw);
    if !cursor.enter_object() {
        return part;
    }
    while let Some(key) = cursor.key() {
        match key {
            b"text" => part.text = cursor.filled_string(),
            b"thought" => part.thought = cursor.skip() == b"true",
            b"thoughtSignature" => part.signature = cursor.filled_string(),
            b"functionCall" => part.call = cursor.skip(),
            b"executableCode" | b"toolCall" | b"inlineData" | b"fileData" => {
                part.server = true;
                cursor.skip();
            }
            b"codeExecutionResult" | b"toolResponse" => {
                (part.server, part.result) = (true, true);
                cursor.skip();
            }
            _ => {
                cursor.skip();
            }
        }
    }
    part
}

fn parse_call(raw: &[u8]) -> CallRead<'_> {
    let mut call = CallRead::default();
    let mut cursor = Cursor::new(raw);
    if !cursor.enter_object() {
        return call;
    }
    while let Some(key) = cursor.key() {
        match key {
            b"id" => call.id = cursor.filled_string(),
            b"name" => call.name = cursor.filled_string(),
            b"args" => call.arguments = cursor.skip(),
            b"partialArgs" => call.pieces = cursor.skip(),
            b"willContinue" => call.continues = cursor.skip() == b"true",
            _ => {
                cursor.skip();
            }
        }
    }
    call
}

/// A prompt that was blocked gets no candidates: that is the whole answer.
fn read_block(feedback: &[u8]) -> Option<Delta<'_>> {
    let mut cursor = Cursor::new(feedback);
    if feedback.first() != Some(&b'{') || !cursor.enter_object() {
        return None;
    }
    let mut reason = None;
    while let Some(key) = cursor.key() {
        if key == b"blockReason" {
            reason = cursor.filled_string();
        } else {
            cursor.skip();
        }
    }
    let raw =
        reason.filter(|raw| raw != "BLOCK_REASON_UNSPECIFIED" && raw != "BLOCKED_REASON_UNSPECIFIED")?;
    Some(Delta::Stop { choice: 0, stop: Stop::ContentFilter, raw })
}

/// Thoughts are output too; each chunk tells the running total.
fn read_usage(raw: &[u8]) -> Option<Counters> {
    let mut cursor = Cursor::new(raw);
    if raw.first() != Some(&b'{') || !cursor.enter_object() {
        return None;
    }
    let (mut counters, mut thoughts) = (Counters::default(), None);
    while let Some(key) = cursor.key() {
        match key {
            b"promptTokenCount" => counters.input = cursor.unsigned(),
            b"candidatesTokenCount" => counters.output = cursor.unsigned(),
            b"thoughtsTokenCount" => thoughts = cursor.unsigned(),
            b"cachedContentTokenCount" => counters.cache_read = cursor.unsigned(),
            _ => {
                cursor.skip();
            }
        }
    }
    if let Some(thoughts) = thoughts {
        counters.output = Some(counters.output.unwrap_or(0).saturating_add(thoughts));
    }
    (!counters.is_empty()).then_some(counters)
}

fn write_usage(usage: Counters, out: &mut Vec<u8>) {
    let Some(output) = usage.output else { return };
    let input = usage.input.unwrap_or(0);
    out.extend_from_slice(
        format!(
            ",\"usageMetadata\":{{\"promptTokenCount\":{input},\"candidatesTokenCount\":{output},\"totalTokenCount\":{}}}",
            input.saturating_add(output)
        )
        .as_bytes(),
    );
}

fn read_error(raw: &[u8]) -> Failure {
    let mut failure = Failure::default();
    let mut cursor = Cursor::new(raw);
    cursor.enter_object();
    while let Some(key) = cursor.key() {
        match key {
            b"code" => failure.status = cursor.unsigned().and_then(|code| u16::try_from(code).ok()),
            b"message" => failure.message = cursor.string().unwrap_or_default().into_owned(),
            b"status" => failure.kind = cursor.string().unwrap_or_default().into_owned(),
            _ => {
                cursor.skip();
            }
        }
    }
    failure.code.clone_from(&failure.kind);
    failure.status = failure.status.or_else(|| status_of(&failure.kind));
    failure
}

/// The HTTP status of a `google.rpc.Code`.
pub(super) fn status_of(code: &str) -> Option<u16> {
    Some(match code {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => 400,
        "UNAUTHENTICATED" => 401,
        "PERMISSION_DENIED" => 403,
        "NOT_FOUND" => 404,
        "ABORTED" | "ALREADY_EXISTS" => 409,
        "RESOURCE_EXHAUSTED" => 429,
        "CANCELLED" => 499,
        "INTERNAL" | "UNKNOWN" | "DATA_LOSS" => 500,
        "UNIMPLEMENTED" => 501,
        "UNAVAILABLE" => 503,
        "DEADLINE_EXCEEDED" => 504,
        _ => return None,
    })
}

/// Every reason proves that the candidate is over, those of the filters too.
fn normalise(reason: &str) -> Stop {
    match reason {
        "STOP" => Stop::EndTurn,
        "MAX_TOKENS" => Stop::MaxTokens,
        "CONTINUATION" => Stop::Pause,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
        | "MODEL_ARMOR" => Stop::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MALFORMED_RESPONSE"
        | "MISSING_THOUGHT_SIGNATURE" => Stop::Error,
        other if other.starts_with("IMAGE_") => Stop::ContentFilter,
        _ => Stop::Other,
    }
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::ContentFilter | Stop::Refusal => "SAFETY",
        Stop::Other | Stop::Error => "OTHER",
        _ => "STOP",
    }
}

fn write_text(part: &Part, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"text\":");
    string_into(text, out);
    if part.kind == PartKind::Reasoning {
        out.extend_from_slice(b",\"thought\":true");
    }
    out.push(b'}');
}

/// A call is written whole; its signature belongs to it and goes back with it.
fn write_call(part: &Part, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"functionCall\":{");
    if !part.id.is_empty() {
        out.extend_from_slice(b"\"id\":");
        string_into(&part.id, out);
        out.push(b',');
    }
    out.extend_from_slice(b"\"name\":");
    string_into(&part.name, out);
    out.extend_from_slice(b",\"args\":");
    out.extend_from_slice(part.final_arguments().as_bytes());
    out.push(b'}');
    if !part.signature.is_empty() {
        out.extend_from_slice(b",\"thoughtSignature\":");
        string_into(&part.signature, out);
    }
    out.push(b'}');
}
