//! Looking into raw JSON objects, and the beginning of a named event, for the dialects that share their shape.

use std::borrow::Cow;

use crate::cursor::Cursor;

/// Visits the members of an object; anything else is visited as empty. The visitor consumes each value. False when
/// it was no object, or is malformed.
pub(super) fn members<'a>(raw: &'a [u8], mut visit: impl FnMut(&'a [u8], &mut Cursor<'a>)) -> bool {
    let mut cursor = Cursor::new(raw);
    if raw.first() != Some(&b'{') || !cursor.enter_object() {
        return false;
    }
    while let Some(key) = cursor.key() {
        visit(key, &mut cursor);
    }
    cursor.ok()
}

/// The raw value of a member; empty where there is none, or null.
pub(super) fn member<'a>(raw: &'a [u8], name: &[u8]) -> &'a [u8] {
    let mut found: &[u8] = b"";
    members(raw, |key, cursor| {
        let value = cursor.skip();
        if key == name && value != b"null" {
            found = value;
        }
    });
    found
}

/// The raw value at the end of a path of members; empty where it does not exist.
pub(super) fn descend<'a>(raw: &'a [u8], path: &[&[u8]]) -> &'a [u8] {
    path.iter().fold(raw, |value, name| member(value, name))
}

/// A member that is a string.
pub(super) fn string_at<'a>(raw: &'a [u8], name: &[u8]) -> Option<Cow<'a, str>> {
    let value = member(raw, name);
    if value.is_empty() { None } else { Cursor::new(value).string() }
}

/// A member that is an unsigned integer.
pub(super) fn unsigned_at(raw: &[u8], name: &[u8]) -> Option<u64> {
    let value = member(raw, name);
    if value.is_empty() { None } else { Cursor::new(value).unsigned() }
}

/// The `event:` line and the start of its data, for clients that need both.
pub(super) fn begin_event(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("event: {kind}\ndata: {{\"type\":\"{kind}\"").as_bytes());
}
