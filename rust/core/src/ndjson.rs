//! Newline-delimited JSON: one object a line. Blank lines separate nothing and mean nothing.

use std::borrow::Cow;

use memchr::memchr;

use crate::error::FrameTooLarge;
use crate::frame::{Frame, FrameKind, Framing};
use crate::json::{JsonScanner, JsonState};

/// `Framing` for NDJSON.
#[derive(Debug)]
pub struct NdjsonFraming {
    max_event_bytes: usize,
    /// How far the line at hand has been searched for its end.
    searched: usize,
}

impl NdjsonFraming {
    pub fn new(max_event_bytes: usize) -> Self {
        Self { max_event_bytes, searched: 0 }
    }
}

impl Framing for NdjsonFraming {
    fn next<'b>(&mut self, buffer: &'b [u8]) -> Result<Option<Frame<'b>>, FrameTooLarge> {
        let found = memchr(b'\n', &buffer[self.searched..]).map(|at| self.searched + at + 1);
        let bytes = found.unwrap_or(buffer.len());
        if bytes > self.max_event_bytes {
            return Err(FrameTooLarge { bytes, limit: self.max_event_bytes });
        }
        self.searched = if found.is_some() { 0 } else { buffer.len() };
        Ok(found.map(|end| line(&buffer[..end], b"")))
    }

    /// A line whose end never came counts if it is one whole object.
    fn finish<'b>(&mut self, buffer: &'b [u8]) -> Option<Frame<'b>> {
        self.searched = 0;
        let data = buffer.trim_ascii();
        let mut scanner = JsonScanner::new(usize::MAX);
        scanner.push(data);
        let whole = data.first() == Some(&b'{') && scanner.state() == JsonState::Complete;
        whole.then(|| line(buffer, b"\n"))
    }

    fn reset(&mut self) {
        self.searched = 0;
    }
}

fn line<'b>(raw: &'b [u8], completion: &'static [u8]) -> Frame<'b> {
    let data = raw.trim_ascii();
    let kind = if data.is_empty() { FrameKind::Silent } else { FrameKind::Event };
    Frame { len: raw.len(), kind, name: b"", data: Cow::Borrowed(data), has_id: false, completion }
}
