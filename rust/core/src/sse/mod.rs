//! WHATWG event-stream framing on bytes.
//!
//! Lines end in CR, LF or CRLF and nothing else (a text splitter that also honours U+2028 breaks JSON). A CR at the
//! end of the buffer ends its line at once; a following LF is then skipped, never waited for. A comment line at the
//! start of a block is a frame of its own, so that a keep-alive without a blank line is not delayed.

mod block;
mod decoder;

pub use decoder::{SseDecoder, SseEvent};

use block::parse_block;

use std::borrow::Cow;

use memchr::memchr2;

use crate::error::FrameTooLarge;
use crate::frame::{Frame, FrameKind, Framing};
use crate::json::{JsonScanner, JsonState};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// `Framing` for Server-Sent Events.
#[derive(Debug)]
pub struct SseFraming {
    max_event_bytes: usize,
    /// Start of the line that is being searched for its end.
    line_start: usize,
    /// How far that line has been searched.
    searched: usize,
    /// The last line ended in CR at the end of the buffer: an LF here belongs to it.
    after_cr: bool,
    /// The same across a frame border.
    skip_lf: bool,
    at_start: bool,
}

impl SseFraming {
    pub fn new(max_event_bytes: usize) -> Self {
        Self { max_event_bytes, line_start: 0, searched: 0, after_cr: false, skip_lf: false, at_start: true }
    }

    /// Bytes of the byte-order mark at the start of the stream; `None` while that is undecided.
    fn bom_len(&self, buffer: &[u8]) -> Option<usize> {
        if !self.at_start {
            return Some(0);
        }
        if buffer.starts_with(BOM) {
            return Some(BOM.len());
        }
        if !buffer.is_empty() && buffer.len() < BOM.len() && BOM.starts_with(buffer) { None } else { Some(0) }
    }

    fn frame_ends<'b>(&mut self, buffer: &'b [u8], skipped: usize, end: usize) -> Frame<'b> {
        self.line_start = 0;
        self.searched = 0;
        self.after_cr = false;
        self.at_start = false;
        let block = parse_block(&buffer[skipped..end]);
        Frame {
            len: end,
            kind: block.kind,
            name: block.name,
            data: block.data,
            has_id: block.has_id,
            completion: b"",
        }
    }

    fn too_large(&self, bytes: usize) -> FrameTooLarge {
        FrameTooLarge { bytes, limit: self.max_event_bytes }
    }
}

impl Framing for SseFraming {
    fn next<'b>(&mut self, buffer: &'b [u8]) -> Result<Option<Frame<'b>>, FrameTooLarge> {
        if self.skip_lf && !buffer.is_empty() {
            self.skip_lf = false;
            if buffer[0] == b'\n' {
                return Ok(Some(silent(1)));
            }
        }
        let Some(skipped) = self.bom_len(buffer) else { return Ok(None) };
        if self.line_start < skipped {
            self.line_start = skipped;
            self.searched = skipped;
        }
        loop {
            if self.after_cr && self.searched < buffer.len() {
                self.after_cr = false;
                if buffer[self.searched] == b'\n' {
                    self.searched += 1;
                    self.line_start += 1;
                }
            }
            let Some(found) = memchr2(b'\n', b'\r', &buffer[self.searched..]) else {
                self.searched = buffer.len();
                if buffer.len() > self.max_event_bytes {
                    return Err(self.too_large(buffer.len()));
                }
                return Ok(None);
            };
            let line_end = self.searched + found;
            let mut next_line = line_end + 1;
            let mut cr_at_end = false;
            if buffer[line_end] == b'\r' {
                if buffer.get(next_line) == Some(&b'\n') {
                    next_line += 1;
                } else {
                    cr_at_end = next_line == buffer.len();
                }
            }
            let blank = line_end == self.line_start;
            let lone_comment = self.line_start == skipped && buffer[self.line_start] == b':';
            if blank || lone_comment {
                if next_line > self.max_event_bytes {
                    return Err(self.too_large(next_line));
                }
                self.skip_lf = cr_at_end;
                return Ok(Some(self.frame_ends(buffer, skipped, next_line)));
            }
            self.line_start = next_line;
            self.searched = next_line;
            self.after_cr = cr_at_end;
        }
    }

    fn finish<'b>(&mut self, buffer: &'b [u8]) -> Option<Frame<'b>> {
        let skipped = self.bom_len(buffer)?;
        let block = parse_block(&buffer[skipped..]);
        let whole = match block.kind {
            FrameKind::Event => block.data.as_ref() == b"[DONE]" || is_whole_object(&block.data),
            FrameKind::Unknown => is_whole_object(&block.data),
            FrameKind::Silent | FrameKind::Failure | FrameKind::Corrupt => false,
        };
        let completion: &'static [u8] = if buffer.last() == Some(&b'\n') { b"\n" } else { b"\n\n" };
        whole.then_some(Frame {
            len: buffer.len(),
            kind: block.kind,
            name: block.name,
            data: block.data,
            has_id: block.has_id,
            completion,
        })
    }

    fn belongs_to_last(&mut self, chunk: &[u8]) -> usize {
        let lf = usize::from(self.skip_lf && chunk.first() == Some(&b'\n'));
        self.skip_lf &= chunk.is_empty();
        lf
    }

    fn may_skip(&self) -> bool {
        !self.at_start && !self.skip_lf
    }

    fn skipped(&mut self) {
        self.line_start = 0;
        self.searched = 0;
        self.after_cr = false;
    }

    fn reset(&mut self) {
        *self = Self::new(self.max_event_bytes);
    }
}

fn silent<'b>(len: usize) -> Frame<'b> {
    Frame {
        len,
        kind: FrameKind::Silent,
        name: b"",
        data: Cow::Borrowed(b""),
        has_id: false,
        completion: b"",
    }
}

/// True when `data` is one whole, non-broken JSON object.
pub(crate) fn is_whole_object(data: &[u8]) -> bool {
    let mut scanner = JsonScanner::new(512);
    scanner.push(data);
    scanner.starts_object() && scanner.finish() == JsonState::Complete
}
