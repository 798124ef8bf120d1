//! A forward-only reader over one JSON document: it descends where the dialect looks and skips the rest.
//!
//! Nothing is built. After the first malformed byte every call says "nothing more" and `ok()` is false.

use std::borrow::Cow;

use memchr::memchr2;

#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    data: &'a [u8],
    position: usize,
    bad: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0, bad: false }
    }

    pub fn ok(&self) -> bool {
        !self.bad
    }

    fn fail<T>(&mut self) -> Option<T> {
        self.bad = true;
        self.position = self.data.len();
        None
    }

    /// The next significant byte, not consumed.
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.data.get(self.position) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.position += 1;
        }
        None
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.position += 1;
        }
        found
    }

    /// Enters an object; false (and the value is skipped) when it is something else.
    pub fn enter_object(&mut self) -> bool {
        self.enter(b'{')
    }

    /// Enters an array; false (and the value is skipped) when it is something else.
    pub fn enter_array(&mut self) -> bool {
        self.enter(b'[')
    }

    fn enter(&mut self, open: u8) -> bool {
        if self.eat(open) {
            return true;
        }
        self.skip();
        false
    }

    /// The next key of the object the cursor is in, or `None` at its end (which is consumed). Keys are compared raw.
    pub fn key(&mut self) -> Option<&'a [u8]> {
        self.eat(b',');
        match self.peek() {
            Some(b'}') => {
                self.position += 1;
                None
            }
            Some(b'"') => {
                let key = self.raw_string()?;
                if self.eat(b':') { Some(key) } else { self.fail() }
            }
            _ => self.fail(),
        }
    }

    /// True when the array the cursor is in has another element; its end is consumed.
    pub fn element(&mut self) -> bool {
        self.eat(b',');
        match self.peek() {
            Some(b']') => {
                self.position += 1;
                false
            }
            Some(_) => true,
            None => {
                self.bad = true;
                false
            }
        }
    }

    /// Contents of a string without its quotes, escapes as they are.
    fn raw_string(&mut self) -> Option<&'a [u8]> {
        if !self.eat(b'"') {
            return self.fail();
        }
        let start = self.position;
        loop {
            let Some(found) = memchr2(b'"', b'\\', &self.data[self.position..]) else { return self.fail() };
            self.position += found;
            if self.data[self.position] == b'"' {
                let raw = &self.data[start..self.position];
                self.position += 1;
                return Some(raw);
            }
            self.position += 2;
            if self.position > self.data.len() {
                return self.fail();
            }
        }
    }

    /// A string value; `None` for null and for every other kind of value (which is skipped).
    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        if self.peek() == Some(b'"') {
            return self.raw_string().map(unescape);
        }
        self.skip();
        None
    }

    /// A string that is not empty.
    pub fn filled_string(&mut self) -> Option<Cow<'a, str>> {
        self.string().filter(|text| !text.is_empty())
    }

    /// An unsigned integer; `None` for anything else (which is skipped).
    pub fn unsigned(&mut self) -> Option<u64> {
        let raw = self.skip();
        std::str::from_utf8(raw).ok()?.parse().ok()
    }

    /// Skips a value and gives its raw bytes.
    pub fn skip(&mut self) -> &'a [u8] {
        let Some(first) = self.peek() else {
            self.bad = true;
            return b"";
        };
        let start = self.position;
        match first {
            b'"' => {
                self.raw_string();
            }
            b'{' | b'[' => self.skip_container(),
            b'}' | b']' | b',' | b':' => {
                self.fail::<()>();
            }
            _ => self.skip_literal(),
        }
        if self.bad { b"" } else { &self.data[start..self.position] }
    }

    fn skip_literal(&mut self) {
        while let Some(&byte) = self.data.get(self.position) {
            if matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r') {
                break;
            }
            self.position += 1;
        }
    }

    /// Depth is a counter, not recursion; brackets are not matched by kind, which is enough for skipping.
    fn skip_container(&mut self) {
        let mut depth = 0_usize;
        while let Some(&byte) = self.data.get(self.position) {
            match byte {
                b'"' => {
                    if self.raw_string().is_none() {
                        return;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.position += 1;
            if depth == 0 {
                return;
            }
        }
        self.bad = true;
    }
}

/// Text of a raw JSON string. Lone surrogates, broken escapes and invalid UTF-8 become U+FFFD.
pub fn unescape(raw: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', raw).is_none() {
        return String::from_utf8_lossy(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.push_str(&String::from_utf8_lossy(&rest[..at]));
        let (character, width) = escape(&rest[at..]);
        text.push(character);
        rest = &rest[(at + width).min(rest.len())..];
    }
    text.push_str(&String::from_utf8_lossy(rest));
    Cow::Owned(text)
}

fn escape(raw: &[u8]) -> (char, usize) {
    match raw.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(&byte @ (b'"' | b'\\' | b'/')) => (char::from(byte), 2),
        Some(b'u') => unicode_escape(raw),
        _ => (char::REPLACEMENT_CHARACTER, 2),
    }
}

fn unicode_escape(raw: &[u8]) -> (char, usize) {
    let Some(first) = hex4(raw, 2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    if (0xd800..0xdc00).contains(&first)
        && raw.get(6..8) == Some(b"\\u")
        && let Some(second @ 0xdc00..0xe000) = hex4(raw, 8)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::REPLACEMENT_CHARACTER, 6)
}

fn hex4(raw: &[u8], at: usize) -> Option<u32> {
    let digits = raw.get(at..at + 4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

/// Appends `text` to `out` as the inside of a JSON string. What Unicode calls a line end is escaped too: some clients
/// split the wire there, and providers escape it.
pub fn escape_into(text: &str, out: &mut Vec<u8>) {
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            control if control < ' ' || matches!(control, '\u{85}' | '\u{2028}' | '\u{2029}') => {
                out.extend_from_slice(format!("\\u{:04x}", control as u32).as_bytes());
            }
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Appends `text` to `out` as a JSON string with its quotes.
pub fn string_into(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape_into(text, out);
    out.push(b'"');
}
