//! Gemini: token counters.

use crate::cursor::Cursor;
use crate::delta::Counters;

/// Thoughts are output too; each chunk tells the running total.
pub(super) fn read_usage(raw: &[u8]) -> Option<Counters> {
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

pub(super) fn write_usage(usage: Counters, out: &mut Vec<u8>) {
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
