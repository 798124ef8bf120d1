//! The fields of one event.

use std::borrow::Cow;

use memchr::memchr2;

use crate::frame::FrameKind;

pub(super) struct Block<'b> {
    pub(super) kind: FrameKind,
    pub(super) name: &'b [u8],
    pub(super) data: Cow<'b, [u8]>,
    pub(super) has_id: bool,
}

/// Fields of one block. Several `data` lines join with LF; unknown fields are ignored.
pub(super) fn parse_block(block: &[u8]) -> Block<'_> {
    let mut name: &[u8] = b"";
    let mut data: Option<Cow<'_, [u8]>> = None;
    let (mut known, mut has_id) = (false, false);
    let mut content = false;
    for line in lines(block) {
        content |= !line.is_empty();
        let (field, value) = split_field(line);
        match field {
            b"data" => match &mut data {
                None => data = Some(Cow::Borrowed(value)),
                Some(joined) => {
                    let joined = joined.to_mut();
                    joined.push(b'\n');
                    joined.extend_from_slice(value);
                }
            },
            b"event" => {
                name = value;
                known = true;
            }
            b"" if line.is_empty() => {}
            b"id" => (known, has_id) = (true, true),
            b"retry" | b"" => known = true,
            _ => {}
        }
    }
    match data {
        Some(data) => Block { kind: FrameKind::Event, name, data, has_id },
        None if content && !known => {
            Block { kind: FrameKind::Unknown, name, data: Cow::Borrowed(block), has_id }
        }
        None => Block { kind: FrameKind::Silent, name, data: Cow::Borrowed(b""), has_id },
    }
}

/// Field name and value of a line; at most one space after the colon is dropped. A comment has an empty name.
pub(super) fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', line) {
        None => (line, b""),
        Some(colon) => {
            let value = &line[colon + 1..];
            (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
        }
    }
}

pub(super) fn lines(mut block: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if block.is_empty() {
            return None;
        }
        let Some(end) = memchr2(b'\n', b'\r', block) else { return Some(std::mem::take(&mut block)) };
        let line = &block[..end];
        let width = if block[end..].starts_with(b"\r\n") { 2 } else { 1 };
        block = &block[end + width..];
        Some(line)
    })
}
