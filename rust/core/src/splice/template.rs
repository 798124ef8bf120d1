//! The fast path: most events of an answer differ from the one before in nothing but one string.
//!
//! When an event was read as exactly one piece of text, its bytes before and after that string are kept. An event
//! that begins and ends with the same bytes parses the same way, so only the string needs to be looked at. Anything
//! else takes the slow path; the result is the same (tests run every stream both ways).

use std::borrow::Cow;

use memchr::{memchr2, memmem};

use crate::cursor::unescape;
use crate::delta::PartKind;

/// Providers pad events with random text under this key to hide token lengths.
const PADDING: &[u8] = b"\"obfuscation\":\"";

#[derive(Debug)]
pub(super) struct Template {
    before: Vec<u8>,
    after: Vec<u8>,
    /// The rest behind a padding string that follows `after`.
    after_padding: Option<Vec<u8>>,
    pub(super) part: usize,
    pub(super) kind: PartKind,
}

impl Template {
    /// From an event's raw bytes and the text that was read from them without unescaping.
    pub(super) fn learn(raw: &[u8], text: &str, part: usize, kind: PartKind) -> Option<Self> {
        let start = (text.as_ptr() as usize).checked_sub(raw.as_ptr() as usize)?;
        let end = start.checked_add(text.len())?;
        let is_the_string = raw.get(start..end)? == text.as_bytes()
            && raw.get(start.wrapping_sub(1)) == Some(&b'"')
            && raw.get(end) == Some(&b'"')
            && raw.ends_with(b"\n\n");
        if !is_the_string {
            return None;
        }
        let rest = &raw[end..];
        let (after, after_padding) = match memmem::find(rest, PADDING) {
            None => (rest, None),
            Some(at) => {
                let (head, tail) = rest.split_at(at + PADDING.len());
                (head, Some(tail[memchr2(b'"', b'\\', tail)?..].to_vec()))
            }
        };
        Some(Self { before: raw[..start].to_vec(), after: after.to_vec(), after_padding, part, kind })
    }

    /// Length and text of the event at the start of `input`, if it is of this form.
    pub(super) fn read<'b>(&self, input: &'b [u8]) -> Option<(usize, Cow<'b, str>)> {
        let rest = input.strip_prefix(self.before.as_slice())?;
        let text = &rest[..string_end(rest)?];
        let rest = rest[text.len()..].strip_prefix(self.after.as_slice())?;
        let rest = match &self.after_padding {
            None => rest,
            Some(after) => rest[string_end(rest)?..].strip_prefix(after.as_slice())?,
        };
        (!text.is_empty()).then(|| (input.len() - rest.len(), unescape(text)))
    }
}

/// Where a JSON string's closing quote is; `None` if it does not end here or holds a raw line end.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[at] == b'"' {
            return memchr2(b'\n', b'\r', &bytes[..at]).is_none().then_some(at);
        }
        at += 2;
        if at > bytes.len() {
            return None;
        }
    }
}
