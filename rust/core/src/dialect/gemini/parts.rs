//! Gemini: one part of a content, as its members say it.

use std::borrow::Cow;

use crate::cursor::Cursor;

/// The members of a part that matter here.
#[derive(Default)]
pub(super) struct PartRead<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) thought: bool,
    pub(super) signature: Option<Cow<'a, str>>,
    pub(super) call: &'a [u8],
    /// The provider runs something itself, or answers with more than text.
    pub(super) server: bool,
    pub(super) result: bool,
}

#[derive(Default)]
pub(super) struct CallRead<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: &'a [u8],
    pub(super) pieces: &'a [u8],
    pub(super) continues: bool,
}

pub(super) fn parse_part(raw: &[u8]) -> PartRead<'_> {
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

pub(super) fn parse_call(raw: &[u8]) -> CallRead<'_> {
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
