//! An SSE stream as its events, for whoever wants no more than those.

use super::block::{lines, split_field};
use super::{BOM, SseFraming};
use crate::error::FrameTooLarge;
use crate::frame::{Frame, FrameKind, Framing};

/// One dispatched event, for users who want the framing alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// `message` when the block names none.
    pub event: String,
    pub data: String,
    /// The last event id at the time of dispatch.
    pub id: String,
}

/// An event-stream decoder with its own buffer: `feed` bytes, get events.
#[derive(Debug)]
pub struct SseDecoder {
    framing: SseFraming,
    buffer: Vec<u8>,
    last_event_id: String,
    retry_ms: Option<u64>,
}

impl SseDecoder {
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            framing: SseFraming::new(max_event_bytes),
            buffer: Vec::new(),
            last_event_id: String::new(),
            retry_ms: None,
        }
    }

    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Events that `chunk` completed.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<Vec<SseEvent>, FrameTooLarge> {
        let mut events = Vec::new();
        if self.buffer.is_empty() {
            let used = self.drain(chunk, &mut events)?;
            self.buffer.extend_from_slice(&chunk[used..]);
        } else {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.extend_from_slice(chunk);
            let used = self.drain(&buffer, &mut events)?;
            buffer.drain(..used);
            self.buffer = buffer;
        }
        Ok(events)
    }

    /// End of input: a pending event whose data is one whole JSON object or `[DONE]` is given, anything else dropped.
    pub fn finish(&mut self) -> Vec<SseEvent> {
        let buffer = std::mem::take(&mut self.buffer);
        let mut events = Vec::new();
        if let Some(frame) = self.framing.finish(&buffer)
            && frame.kind == FrameKind::Event
        {
            self.note_control_fields(&buffer);
            events.push(self.event(&frame));
        }
        self.framing.reset();
        events
    }

    fn drain(&mut self, buffer: &[u8], events: &mut Vec<SseEvent>) -> Result<usize, FrameTooLarge> {
        let mut used = 0;
        while let Some(frame) = self.framing.next(&buffer[used..])? {
            let raw = &buffer[used..used + frame.len];
            used += frame.len;
            self.note_control_fields(raw);
            if frame.kind == FrameKind::Event {
                events.push(self.event(&frame));
            }
        }
        Ok(used)
    }

    fn note_control_fields(&mut self, raw: &[u8]) {
        for line in lines(raw.strip_prefix(BOM).unwrap_or(raw)) {
            match split_field(line) {
                (b"id", value) if !value.contains(&0) => {
                    self.last_event_id = String::from_utf8_lossy(value).into_owned();
                }
                (b"retry", value) if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                    self.retry_ms = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                }
                _ => {}
            }
        }
    }

    fn event(&self, frame: &Frame<'_>) -> SseEvent {
        let name = if frame.name.is_empty() { b"message".as_slice() } else { frame.name };
        SseEvent {
            event: String::from_utf8_lossy(name).into_owned(),
            data: String::from_utf8_lossy(&frame.data).into_owned(),
            id: self.last_event_id.clone(),
        }
    }
}
