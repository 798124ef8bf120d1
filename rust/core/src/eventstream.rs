//! The binary event streams of AWS: frames with a length, headers, a payload, and checksums of all of it.
//!
//! A frame that its checksums deny is not passed on and nothing behind it is believed: lengths are part of what they
//! guard, so there is no next frame to find.

use std::borrow::Cow;

use crate::error::FrameTooLarge;
use crate::frame::{Frame, FrameKind, Framing};

const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;

/// `Framing` for `application/vnd.amazon.eventstream`.
#[derive(Debug)]
pub struct EventStreamFraming {
    max_event_bytes: usize,
}

impl EventStreamFraming {
    pub fn new(max_event_bytes: usize) -> Self {
        Self { max_event_bytes }
    }
}

impl Framing for EventStreamFraming {
    fn next<'b>(&mut self, buffer: &'b [u8]) -> Result<Option<Frame<'b>>, FrameTooLarge> {
        let Some(prelude) = buffer.get(..PRELUDE) else { return Ok(None) };
        let (total, headers) = (number(&prelude[..4]), number(&prelude[4..8]));
        if !is_sealed(prelude) || total < PRELUDE + headers + CHECKSUM {
            return Ok(Some(corrupt(buffer)));
        }
        if total > self.max_event_bytes {
            return Err(FrameTooLarge { bytes: total, limit: self.max_event_bytes });
        }
        let Some(raw) = buffer.get(..total) else { return Ok(None) };
        if !is_sealed(raw) {
            return Ok(Some(corrupt(buffer)));
        }
        let payload = &raw[PRELUDE + headers..total - CHECKSUM];
        let Some((kind, name, message)) = read_headers(&raw[PRELUDE..PRELUDE + headers]) else {
            return Ok(Some(corrupt(buffer)));
        };
        let data = if payload.is_empty() { message } else { payload };
        Ok(Some(frame(total, kind, name, data)))
    }

    /// A frame says how long it is: half of one is never whole.
    fn finish<'b>(&mut self, _buffer: &'b [u8]) -> Option<Frame<'b>> {
        None
    }

    fn reset(&mut self) {}
}

/// Appends one event as a frame.
pub fn write_event(kind: &str, payload: &[u8], out: &mut Vec<u8>) {
    write_frame(
        &[(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")],
        payload,
        out,
    );
}

/// Appends one exception as a frame.
pub fn write_exception(kind: &str, payload: &[u8], out: &mut Vec<u8>) {
    write_frame(
        &[(":exception-type", kind), (":content-type", "application/json"), (":message-type", "exception")],
        payload,
        out,
    );
}

fn write_frame(headers: &[(&str, &str)], payload: &[u8], out: &mut Vec<u8>) {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let total = PRELUDE + head.len() + payload.len() + CHECKSUM;
    let start = out.len();
    for length in [total, head.len()] {
        out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }
    seal(start, out);
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
    seal(start, out);
}

fn seal(start: usize, out: &mut Vec<u8>) {
    let checksum = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&checksum.to_be_bytes());
}

/// Do the last four bytes fit the others?
fn is_sealed(raw: &[u8]) -> bool {
    let (guarded, checksum) = raw.split_at(raw.len() - CHECKSUM);
    crc32fast::hash(guarded).to_be_bytes() == checksum
}

fn number(raw: &[u8]) -> usize {
    raw.iter().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

/// Is it an event or an error, its name, and the message that an error carries in a header.
fn read_headers(mut rest: &[u8]) -> Option<(FrameKind, &[u8], &[u8])> {
    let mut frame_kind = FrameKind::Event;
    let (mut found, mut message) = (b"".as_slice(), b"".as_slice());
    while let Some((&length, after)) = rest.split_first() {
        let (name, after) = after.split_at_checked(usize::from(length))?;
        let (&kind, after) = after.split_first()?;
        let (value, after) = take_value(kind, after)?;
        match name {
            b":event-type" => found = value,
            b":exception-type" | b":error-code" => (frame_kind, found) = (FrameKind::Failure, value),
            b":error-message" => message = value,
            _ => {}
        }
        rest = after;
    }
    Some((frame_kind, found, message))
}

fn take_value(kind: u8, rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let fixed = match kind {
        0 | 1 => 0,
        2 => 1,
        3 => 2,
        4 => 4,
        5 | 8 => 8,
        9 => 16,
        6 | 7 => {
            let (length, rest) = rest.split_at_checked(2)?;
            return rest.split_at_checked(number(length));
        }
        _ => return None,
    };
    rest.split_at_checked(fixed)
}

fn corrupt(buffer: &[u8]) -> Frame<'_> {
    frame(buffer.len(), FrameKind::Corrupt, b"", b"")
}

fn frame<'b>(len: usize, kind: FrameKind, name: &'b [u8], data: &'b [u8]) -> Frame<'b> {
    Frame { len, kind, name, data: Cow::Borrowed(data), has_id: false, completion: b"" }
}
