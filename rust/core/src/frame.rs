//! Framing: where one event of a byte stream ends. SSE, NDJSON and binary event streams share this trait, so that
//! a dialect is free in its framing and the splice never looks at separators.

use std::borrow::Cow;

use crate::error::FrameTooLarge;

/// What kind of frame was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Carries data for the dialect.
    Event,
    /// Keeps the connection alive or separates events: comments, blank lines, control-only blocks.
    Silent,
    /// An error by the format's own account, whatever its name and data look like.
    Failure,
    /// Bytes that are no legal frame of the format; `data` is the raw block.
    Unknown,
    /// A checksum or a length is wrong: nothing from here on can be believed.
    Corrupt,
}

/// One whole frame at the start of the buffer.
#[derive(Debug)]
pub struct Frame<'b> {
    /// Raw bytes of the frame in the buffer, terminator included.
    pub len: usize,
    pub kind: FrameKind,
    /// Name of the event, empty if the format has none.
    pub name: &'b [u8],
    pub data: Cow<'b, [u8]>,
    /// The frame sets the stream's last event id.
    pub has_id: bool,
    /// What must follow the raw bytes to make them a whole frame; not empty only from `finish`.
    pub completion: &'static [u8],
}

/// Finds frames in a buffer that its caller owns. The buffer always starts where the last frame ended; bytes are
/// only ever appended to it. An implementation remembers how far it has looked, so that total work stays linear.
pub trait Framing: Send + Sync {
    /// The first whole frame, or `None` when more bytes are needed.
    fn next<'b>(&mut self, buffer: &'b [u8]) -> Result<Option<Frame<'b>>, FrameTooLarge>;

    /// End of input: the pending frame if its payload is whole although its terminator never came.
    fn finish<'b>(&mut self, buffer: &'b [u8]) -> Option<Frame<'b>>;

    /// How many bytes at the start of `chunk` still belong to the frame that was given last.
    fn belongs_to_last(&mut self, _chunk: &[u8]) -> usize {
        0
    }

    /// True when a frame may begin at the start of the buffer, so that its owner may take one it knows by heart.
    fn may_skip(&self) -> bool {
        false
    }

    /// The owner took the frame at the start of the buffer by itself.
    fn skipped(&mut self) {}

    /// A new attempt begins: forget everything about the last one.
    fn reset(&mut self);
}
