//! `OpenAI` chat: token counters.

use crate::cursor::Cursor;
use crate::delta::Counters;

pub(super) fn read_usage(raw: &[u8]) -> Option<Counters> {
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
