//! Bytes of text that need no look each.

/// Length of the leading bytes that mean themselves inside a string, found eight at a time.
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| **byte >= 0x20 && **byte != b'"' && **byte != b'\\');
    words.len() * 8 + plain.count()
}

/// Marks the top bit of each byte that is a quote, a backslash or a control character. Only the lowest mark is
/// exact: a borrow may mark bytes above it.
fn special_bytes(word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 0xFF;
    let below = |limit: u8, word: u64| word.wrapping_sub(EACH * u64::from(limit)) & !word;
    let equals = |byte: u8| below(1, word ^ (EACH * u64::from(byte)));
    (below(0x20, word) | equals(b'"') | equals(b'\\')) & (EACH << 7)
}

/// How many of the last bytes are the beginning of a UTF-8 character that needs more.
pub(super) fn half_character(tail: [u8; 3]) -> usize {
    for (length, byte) in (1..).zip(tail.iter().rev()) {
        let needed = match byte {
            0x80..=0xBF => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 0,
        };
        return if needed > length { length } else { 0 };
    }
    0
}
