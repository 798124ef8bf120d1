//! The framing trait takes formats that are not event streams: a toy dialect over NDJSON and over binary frames.

use std::borrow::Cow;

use seamstream_core::cursor::Cursor;
use seamstream_core::delta::{Delta, Key, PartKind, Stop};
use seamstream_core::dialect::Dialect;
use seamstream_core::error::FrameTooLarge;
use seamstream_core::frame::{Frame, FrameKind, Framing};
use seamstream_core::limits::Limits;
use seamstream_core::splice::{Options, Output, Plan, Reader, Resume, Splice};
use seamstream_core::turn::{Change, Part, Turn};

/// One JSON object a line.
#[derive(Default)]
struct Lines {
    searched: usize,
}

impl Framing for Lines {
    fn next<'b>(&mut self, buffer: &'b [u8]) -> Result<Option<Frame<'b>>, FrameTooLarge> {
        let Some(found) = buffer[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = buffer.len();
            return Ok(None);
        };
        let end = self.searched + found;
        self.searched = 0;
        Ok(Some(frame(end + 1, &buffer[..end], b"")))
    }

    fn finish<'b>(&mut self, buffer: &'b [u8]) -> Option<Frame<'b>> {
        buffer.ends_with(b"}").then(|| frame(buffer.len(), buffer, b"\n"))
    }

    fn reset(&mut self) {
        self.searched = 0;
    }
}

/// A length in two bytes, then a JSON object.
struct Lengths;

impl Framing for Lengths {
    fn next<'b>(&mut self, buffer: &'b [u8]) -> Result<Option<Frame<'b>>, FrameTooLarge> {
        let [high, low, rest @ ..] = buffer else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        Ok((rest.len() >= length).then(|| frame(length + 2, &rest[..length], b"")))
    }

    fn finish<'b>(&mut self, _buffer: &'b [u8]) -> Option<Frame<'b>> {
        None
    }

    fn reset(&mut self) {}
}

fn frame<'b>(len: usize, data: &'b [u8], completion: &'static [u8]) -> Frame<'b> {
    let kind = if data.is_empty() { FrameKind::Silent } else { FrameKind::Event };
    Frame { len, kind, name: b"", data: Cow::Borrowed(data), has_id: false, completion }
}

/// `{"t": text, "done": true, "error": message}`
struct Toy {
    binary: bool,
}

impl Toy {
    fn wrap(&self, body: &str, out: &mut Vec<u8>) {
        if self.binary {
            out.extend(u16::try_from(body.len()).expect("short").to_be_bytes());
            out.extend(body.as_bytes());
        } else {
            out.extend(body.as_bytes());
            out.push(b'\n');
        }
    }
}

impl Dialect for Toy {
    fn framing(&self, _max_event_bytes: usize) -> Box<dyn Framing> {
        if self.binary { Box::new(Lengths) } else { Box::new(Lines::default()) }
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let mut cursor = Cursor::new(&frame.data);
        cursor.enter_object();
        while let Some(key) = cursor.key() {
            match key {
                b"t" => deltas.push(Delta::Text {
                    key: Key { choice: 0, slot: 0 },
                    kind: PartKind::Text,
                    text: cursor.string().unwrap_or_default(),
                }),
                b"done" => {
                    cursor.skip();
                    deltas.push(Delta::Stop { choice: 0, stop: Stop::EndTurn, raw: Cow::Borrowed("done") });
                    deltas.push(Delta::End);
                }
                b"error" => deltas.push(Delta::Failure(seamstream_core::delta::Failure {
                    message: cursor.string().unwrap_or_default().into_owned(),
                    ..Default::default()
                })),
                _ => {
                    cursor.skip();
                }
            }
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {}

    fn numbers(&self, _kind: PartKind) -> bool {
        false
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        if let Change::Text { from, to } = change {
            self.wrap(&format!("{{\"t\":\"{}\"}}", &part.text[from..to]), out);
        }
    }

    fn write_raw(&mut self, _part: &Part, _raw: &[u8], _out: &mut Vec<u8>) {}

    fn write_stop(&mut self, _turn: &Turn, _choice: u32, _stop: Stop, _raw: &str, _out: &mut Vec<u8>) {}

    fn write_end(&mut self, _turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        self.wrap("{\"done\":true}", out);
    }

    fn write_error(&self, _kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        self.wrap(&format!("{{\"error\":\"{message}\"}}"), out);
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b""
    }
}

fn splice(binary: bool) -> Splice {
    let limits = Limits::default();
    let options = Options { reader: Reader::Bytes, hold_tools: true, choices: 1, done_is_end: false, limits };
    Splice::with_dialect(Box::new(Toy { binary }), options)
}

fn feed(splice: &mut Splice, chunk: &[u8], out: &mut Vec<u8>) {
    match splice.feed(chunk) {
        Output::Same => out.extend_from_slice(chunk),
        Output::Bytes(bytes) => out.extend(bytes),
    }
}

fn encoded(binary: bool, bodies: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for body in bodies {
        Toy { binary }.wrap(body, &mut out);
    }
    out
}

#[test]
fn a_healthy_stream_passes_verbatim_however_it_is_cut() {
    for binary in [false, true] {
        let stream = encoded(binary, &["{\"t\":\"Hello \"}", "{\"t\":\"world\"}", "{\"done\":true}"]);
        for size in 1..=stream.len() {
            let mut splice = splice(binary);
            let mut out = Vec::new();
            stream.chunks(size).for_each(|chunk| feed(&mut splice, chunk, &mut out));
            assert_eq!(out, stream, "binary {binary}, chunks of {size}");
            assert!(splice.is_done());
        }
    }
}

#[test]
fn a_cut_at_every_byte_is_continued() {
    for binary in [false, true] {
        let stream = encoded(binary, &["{\"t\":\"Hello \"}", "{\"t\":\"world\"}", "{\"done\":true}"]);
        let whole = {
            let mut splice = splice(binary);
            splice.feed(&stream);
            splice.turn().joined(PartKind::Text)
        };
        for at in 0..stream.len() {
            let mut splice = splice(binary);
            let mut out = Vec::new();
            feed(&mut splice, &stream[..at], &mut out);
            out.extend(splice.cut());
            if splice.terminal_seen() {
                out.extend(splice.finish());
            } else {
                let text = splice.turn().joined(PartKind::Text);
                let plan = if text.trim().is_empty() { Plan::Restart } else { Plan::Continue };
                let prefix = text.trim_end().to_owned();
                let rest = whole.strip_prefix(prefix.as_str()).expect("a prefix").to_owned();
                let stripped = text[prefix.len()..].to_owned();
                out.extend(splice.resume(&Resume {
                    plan,
                    exact: true,
                    quote: String::new(),
                    stripped,
                    strict: true,
                    stop: Vec::new(),
                    reason: "cut".to_owned(),
                }));
                let rest = if plan == Plan::Restart { whole.clone() } else { rest };
                let body = format!("{{\"t\":\"{rest}\"}}");
                feed(&mut splice, &encoded(binary, &[&body, "{\"done\":true}"]), &mut out);
            }
            let mut reader = self::splice(binary);
            reader.feed(&out);
            assert_eq!(reader.turn().joined(PartKind::Text), whole, "binary {binary}, cut at {at}");
            assert!(reader.is_done(), "binary {binary}, cut at {at}");
        }
    }
}

#[test]
fn an_error_line_ends_the_attempt_and_keeps_the_text() {
    let mut splice = splice(false);
    let mut out = Vec::new();
    for chunk in [&b"{\"t\":\"a\"}\n{\"t\""[..], b":\"b\"}\n", b"{\"error\":\"runner crashed\"}"] {
        feed(&mut splice, chunk, &mut out);
    }
    out.extend(splice.cut());
    assert_eq!(out, b"{\"t\":\"a\"}\n{\"t\":\"b\"}\n");
    assert_eq!(splice.turn().joined(PartKind::Text), "ab");
    assert_eq!(splice.failure().expect("an error").message, "runner crashed");
    assert!(!splice.terminal_seen());
}
