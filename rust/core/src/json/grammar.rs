//! JSON, byte by byte.

use super::number::Number;
use super::{Expect, JsonScanner};

impl JsonScanner {
    pub(super) fn step(&mut self, byte: u8, at: usize) {
        match self.expect {
            Expect::Text => self.text(byte, at),
            Expect::Escape => self.escape(byte, at),
            Expect::Hex { left, code } => self.hex_digit(byte, left, code, at),
            Expect::Number(number) => self.number(number, byte, at),
            Expect::Literal(rest) => self.literal(rest, byte, at),
            _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => {}
            _ => self.structure(byte, at),
        }
    }

    fn structure(&mut self, byte: u8, at: usize) {
        match (self.expect, byte) {
            (Expect::FirstElement, b']') | (Expect::FirstKey, b'}') => self.close(at),
            (Expect::Value | Expect::FirstElement, _) => self.value(byte, at),
            (Expect::FirstKey | Expect::Key, b'"') => self.open_text(true),
            (Expect::Separator, b',') if self.in_object() => self.expect = Expect::Key,
            (Expect::Separator, b',') | (Expect::Colon, b':') => self.expect = Expect::Value,
            (Expect::Separator, b'}') if self.in_object() => self.close(at),
            (Expect::Separator, b']') if !self.in_object() => self.close(at),
            _ => self.broken(at),
        }
    }

    pub(super) fn value(&mut self, byte: u8, at: usize) {
        self.first.get_or_insert(byte);
        match byte {
            b'{' => self.open(true, at),
            b'[' => self.open(false, at),
            b'"' => self.open_text(false),
            b't' => self.expect = Expect::Literal(b"rue"),
            b'f' => self.expect = Expect::Literal(b"alse"),
            b'n' => self.expect = Expect::Literal(b"ull"),
            b'-' => self.expect = Expect::Number(Number::Minus),
            // A first digit follows the same rule as a digit after the sign.
            _ => self.number(Number::Minus, byte, at),
        }
    }

    pub(super) fn open(&mut self, object: bool, at: usize) {
        if self.depth == self.max_depth {
            self.expect = Expect::Broken { at, by_limit: true };
            return;
        }
        let (word, bit) = (self.depth / 64, 1 << (self.depth % 64));
        if word == self.objects.len() {
            self.objects.push(0);
        }
        if object {
            self.objects[word] |= bit;
        } else {
            self.objects[word] &= !bit;
        }
        self.depth += 1;
        self.closable_at = at + 1;
        self.expect = if object { Expect::FirstKey } else { Expect::FirstElement };
    }

    fn close(&mut self, at: usize) {
        self.empty_object = self.expect == Expect::FirstKey;
        self.depth -= 1;
        self.value_ended(at + 1);
    }

    fn value_ended(&mut self, end: usize) {
        self.closable_at = end;
        self.expect = if self.depth == 0 { Expect::End } else { Expect::Separator };
    }

    fn open_text(&mut self, key: bool) {
        self.in_key = key;
        self.half_escape_at = None;
        self.expect = Expect::Text;
    }

    pub(super) fn text(&mut self, byte: u8, at: usize) {
        match byte {
            b'\\' => {
                self.half_escape_at.get_or_insert(at);
                self.expect = Expect::Escape;
            }
            b'"' if self.in_key => self.expect = Expect::Colon,
            b'"' => self.value_ended(at + 1),
            _ => self.broken(at),
        }
    }

    pub(super) fn escape(&mut self, byte: u8, at: usize) {
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.half_escape_at = None;
                self.expect = Expect::Text;
            }
            b'u' => self.expect = Expect::Hex { left: 4, code: 0 },
            _ => self.broken(at),
        }
    }

    fn hex_digit(&mut self, byte: u8, left: u8, code: u16, at: usize) {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return self.broken(at),
        };
        let code = code << 4 | u16::from(digit);
        if left > 1 {
            self.expect = Expect::Hex { left: left - 1, code };
            return;
        }
        let is_high_surrogate = (0xD800..0xDC00).contains(&code);
        self.half_escape_at = is_high_surrogate.then(|| at + 1 - br"\uXXXX".len());
        self.expect = Expect::Text;
    }

    pub(super) fn number(&mut self, number: Number, byte: u8, at: usize) {
        if let Some(next) = number.next(byte) {
            if next.is_whole() {
                self.closable_at = at + 1;
            }
            self.expect = Expect::Number(next);
        } else if number.is_whole() {
            self.value_ended(at);
            self.step(byte, at);
        } else {
            self.broken(at);
        }
    }

    fn literal(&mut self, rest: &'static [u8], byte: u8, at: usize) {
        match rest {
            [last] if *last == byte => self.value_ended(at + 1),
            [next, rest @ ..] if *next == byte => self.expect = Expect::Literal(rest),
            _ => self.broken(at),
        }
    }

    pub(super) fn broken(&mut self, at: usize) {
        self.expect = Expect::Broken { at, by_limit: false };
    }

    fn in_object(&self) -> bool {
        self.is_object(self.depth - 1)
    }

    pub(super) fn is_object(&self, level: usize) -> bool {
        self.objects[level / 64] >> (level % 64) & 1 == 1
    }

    pub(super) fn in_value_text(&self) -> bool {
        !self.in_key && matches!(self.expect, Expect::Text | Expect::Escape | Expect::Hex { .. })
    }
}
