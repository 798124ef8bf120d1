//! Incremental completeness of one JSON value, such as the arguments of a tool call.
//!
//! The question on every delta is "is this whole, still open, or broken, and where". Parsing the text again for each
//! delta is quadratic, so the scanner keeps the state of a JSON reader between deltas instead: constant work per byte,
//! one bit per open bracket, nothing is built. Offsets count bytes from the start of the value's text.

/// Where a value stands after the bytes seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonState {
    /// A valid beginning that needs more bytes. A bare number stays open until `finish` or a blank.
    Open,
    /// One whole value, and nothing but white space after it.
    Complete,
    /// No continuation can make this valid, or a limit was passed.
    Invalid,
}

/// What the next byte has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    /// After `[`: a value or `]`.
    FirstElement,
    /// After `{`: a key or `}`.
    FirstKey,
    Key,
    Colon,
    /// After a value inside a container: `,` or the closing bracket.
    Separator,
    /// After the whole value: white space.
    End,
    Text,
    Escape,
    Hex {
        left: u8,
        code: u16,
    },
    Number(Number),
    Literal(&'static [u8]),
    /// Nothing: the value is broken for good.
    Broken {
        at: usize,
        by_limit: bool,
    },
}

/// The part of a number that was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Number {
    fn next(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Some(Self::Integer),
            (Self::Zero | Self::Integer, b'.') => Some(Self::Point),
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Some(Self::Exponent),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Exponent, b'+' | b'-') => Some(Self::ExponentSign),
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => {
                Some(Self::ExponentDigits)
            }
            _ => None,
        }
    }

    fn is_whole(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits)
    }
}

/// Reads one JSON value (RFC 8259) piece by piece.
///
/// Bytes inside strings are not checked to be UTF-8, and lone surrogate escapes are legal, as in the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonScanner {
    expect: Expect,
    in_key: bool,
    max_depth: usize,
    depth: usize,
    /// One bit per open container, set for objects.
    objects: Vec<u64>,
    seen: usize,
    first: Option<u8>,
    empty_object: bool,
    /// The value could be closed here: behind the last opening bracket or the last value.
    closable_at: usize,
    /// Start of an escape, or of a high surrogate that waits for its partner, at the end of an open string.
    half_escape_at: Option<usize>,
    /// The last bytes seen, to find half a UTF-8 character.
    tail: [u8; 3],
}

impl JsonScanner {
    pub fn new(max_depth: usize) -> Self {
        Self {
            expect: Expect::Value,
            in_key: false,
            max_depth,
            depth: 0,
            objects: Vec::new(),
            seen: 0,
            first: None,
            empty_object: false,
            closable_at: 0,
            half_escape_at: None,
            tail: [0; 3],
        }
    }

    pub fn push(&mut self, bytes: &[u8]) -> JsonState {
        let mut index = 0;
        while index < bytes.len() && !matches!(self.expect, Expect::Broken { .. }) {
            if self.expect == Expect::Text {
                let run = plain_run(&bytes[index..]);
                if run > 0 {
                    self.half_escape_at = None;
                    index += run;
                }
                if index == bytes.len() {
                    break;
                }
            }
            self.step(bytes[index], self.seen + index);
            index += 1;
        }
        self.seen += bytes.len();
        self.remember_tail(bytes);
        self.state()
    }

    /// End of input: only now a bare number at the top level is whole. What is open stays open.
    pub fn finish(&mut self) -> JsonState {
        if let Expect::Number(number) = self.expect
            && self.depth == 0
            && number.is_whole()
        {
            self.expect = Expect::End;
        }
        self.state()
    }

    pub fn state(&self) -> JsonState {
        match self.expect {
            Expect::End => JsonState::Complete,
            Expect::Broken { .. } => JsonState::Invalid,
            _ => JsonState::Open,
        }
    }

    /// Offset of the first byte that cannot be part of a valid value.
    pub fn invalid_at(&self) -> Option<usize> {
        match self.expect {
            Expect::Broken { at, .. } => Some(at),
            _ => None,
        }
    }

    /// True when the value is invalid only because it nests deeper than `max_depth`.
    pub fn limit_passed(&self) -> bool {
        matches!(self.expect, Expect::Broken { by_limit: true, .. })
    }

    /// Number of containers that are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Bytes seen, those after an error included.
    pub fn offset(&self) -> usize {
        self.seen
    }

    /// Nothing but white space so far.
    pub fn is_blank(&self) -> bool {
        self.first.is_none()
    }

    /// The whole value is an object without members.
    pub fn is_empty_object(&self) -> bool {
        self.empty_object && self.expect == Expect::End
    }

    /// The first byte that is not white space is `{`.
    pub fn starts_object(&self) -> bool {
        self.first == Some(b'{')
    }

    /// What makes the first `display_cut()` bytes valid JSON, for display only; `None` when invalid.
    pub fn suffix(&self) -> Option<String> {
        if self.state() == JsonState::Invalid {
            return None;
        }
        let mut suffix = String::new();
        if self.in_value_text() {
            suffix.push('"');
        } else if self.closable_at == 0 {
            suffix.push_str("null");
        }
        suffix.extend((0..self.depth).rev().map(|level| if self.is_object(level) { '}' } else { ']' }));
        Some(suffix)
    }

    /// How many bytes of the input the display form keeps. Half escapes, characters, pairs, literals and members are
    /// left out; it never shrinks as bytes arrive. When invalid: the bytes before the error.
    pub fn display_cut(&self) -> usize {
        match self.expect {
            Expect::End => self.seen,
            Expect::Broken { at, .. } => at,
            _ if self.in_value_text() => {
                self.half_escape_at.unwrap_or_else(|| self.seen - half_character(self.tail))
            }
            _ => self.closable_at,
        }
    }

    fn step(&mut self, byte: u8, at: usize) {
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

    fn value(&mut self, byte: u8, at: usize) {
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

    fn open(&mut self, object: bool, at: usize) {
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

    fn text(&mut self, byte: u8, at: usize) {
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

    fn escape(&mut self, byte: u8, at: usize) {
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

    fn number(&mut self, number: Number, byte: u8, at: usize) {
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

    fn broken(&mut self, at: usize) {
        self.expect = Expect::Broken { at, by_limit: false };
    }

    fn in_object(&self) -> bool {
        self.is_object(self.depth - 1)
    }

    fn is_object(&self, level: usize) -> bool {
        self.objects[level / 64] >> (level % 64) & 1 == 1
    }

    fn in_value_text(&self) -> bool {
        !self.in_key && matches!(self.expect, Expect::Text | Expect::Escape | Expect::Hex { .. })
    }

    fn remember_tail(&mut self, bytes: &[u8]) {
        for byte in &bytes[bytes.len().saturating_sub(self.tail.len())..] {
            self.tail = [self.tail[1], self.tail[2], *byte];
        }
    }
}

/// Length of the leading bytes that mean themselves inside a string, found eight at a time.
fn plain_run(bytes: &[u8]) -> usize {
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
fn half_character(tail: [u8; 3]) -> usize {
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
