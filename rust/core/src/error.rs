//! The one error that the core raises by itself; everything else is data about the stream.

use std::fmt;

/// An event grew beyond `max_event_bytes`; what was received before it is still pending in its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTooLarge {
    /// Bytes of the event that had arrived.
    pub bytes: usize,
    /// The limit that was passed.
    pub limit: usize,
}

impl fmt::Display for FrameTooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "one event is larger than max_event_bytes ({} > {})", self.bytes, self.limit)
    }
}

impl std::error::Error for FrameTooLarge {}
