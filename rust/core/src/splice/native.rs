//! The same response taken up again, at the very position where its stream was cut: nothing is stripped, joined or
//! decided anew, and everything that was open or held simply goes on.

use super::{SeamMade, Splice, TypedEvent};
use crate::delta::PartKind;
use crate::dialect::{Follows, Place};
use crate::frame::Frame;

/// Where a server that still has the stream would have to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePoint {
    /// The provider's id of the response; empty where none was read.
    pub response: String,
    /// The mark of the last event that was read, for servers that go on behind an event.
    pub event: Option<String>,
    /// Bytes of this response's stream that were read in whole events, for servers that go on at a byte.
    pub offset: u64,
}

/// What a cut left, as far as it must be undone when the same response goes on.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// Numbers and books are still those of everything received, not of what has left.
    pub(super) unsettled: bool,
    /// Calls that only the cut made complete.
    pub(super) closed: Vec<usize>,
    /// Bytes of the response that were read in whole events.
    pub(super) offset: u64,
    /// The last event was taken without the line ends that close it.
    pub(super) unended: bool,
    /// A seam was still undecided, so that the turn is not what its provider has sent.
    pub(super) undecided: bool,
}

impl Splice {
    /// Where the response could be taken up again; only meaningful after `cut`.
    pub fn resume_point(&self) -> Option<ResumePoint> {
        if self.cut.undecided || self.replayed || self.degraded.is_some() {
            return None;
        }
        let (response, event) = self.dialect.resume_point();
        Some(ResumePoint { response, event, offset: self.cut.offset })
    }

    /// The last event of the response that was read, for answers that the server has only as a whole.
    pub fn last_place(&self) -> Option<Place> {
        self.dialect.last_place()
    }

    /// What was read of each part of the response at hand: where it stands, its text and its signature.
    pub fn read_parts(&self) -> impl Iterator<Item = ((u32, u32), &str, &str)> {
        let attempt = self.turn.attempt();
        let parts = self.turn.parts.iter().filter(move |part| part.attempt == attempt);
        parts.map(|part| (self.dialect.item_of(part.key.slot), &*part.text, &*part.signature))
    }

    /// What was fed was a stored turn and not a server's stream, so that its bytes and numbers mean nothing to one.
    pub fn was_replayed(&mut self) {
        self.replayed = true;
    }

    /// Goes on with the same response as if it had never been cut.
    pub(super) fn go_on_natively(&mut self) {
        let cut = std::mem::take(&mut self.cut);
        for part in cut.closed {
            self.turn.parts[part].closed = false;
        }
        self.framing.reset();
        self.dialect.resumed();
        self.stream_start = self.bytes_received - cut.offset;
        self.skips_line_ends = cut.unended;
        self.native = true;
        self.resumptions += 1;
        let offset = self.turn.joined(PartKind::Text).chars().count();
        let (plan, join, attempt) = ("R1", "native", self.streams());
        self.seams.push(SeamMade { offset, plan, join, attempt, guessed_blanks: false });
        self.announce(TypedEvent::Seam { offset, join });
    }

    /// True when the frame has nothing new: it was read before the cut. A gap ends the attempt.
    pub(super) fn is_known(&mut self, frame: &Frame<'_>) -> bool {
        match self.dialect.follows(frame) {
            Follows::Next => false,
            Follows::Read => true,
            Follows::Gap => {
                self.seam_refusal = Some("events are missing from the resumed stream");
                true
            }
        }
    }

    /// The part of a resumed stream's chunk that still ends the event before the cut.
    pub(super) fn skipped_line_ends(&mut self, chunk: &[u8]) -> usize {
        if !self.skips_line_ends {
            return 0;
        }
        let ends = chunk.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.skips_line_ends = ends == chunk.len();
        ends
    }

    /// Streams that began: the attempts of the turn, and those that only took up the response of the one before.
    pub fn streams(&self) -> u32 {
        self.turn.attempt() + self.resumptions
    }
}
