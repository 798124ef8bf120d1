//! Gemini: chunks into deltas.

use std::borrow::Cow;

use super::arguments::Arguments;
use super::errors::read_error;
use super::parts::{PartRead, parse_call, parse_part};
use super::usage::read_usage;
use super::{Gemini, OpenCall, REASONING_SLOT, TEXT_SLOT};
use crate::cursor::Cursor;
use crate::delta::{Delta, Key, PartKind, Stop};
use crate::frame::FrameKind;

impl Gemini {
    pub(super) fn read_chunk<'a>(&mut self, data: &'a [u8], kind: FrameKind, deltas: &mut Vec<Delta<'a>>) {
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
