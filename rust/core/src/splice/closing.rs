//! The bytes that end a reader's stream: the answer is whole, closed by us, or failed for good.

use super::{Reader, Splice};
use crate::delta::{Failure, PartKind, Stop};
use crate::turn::{Change, Effect, Part};

impl Splice {
    /// R0: the closing bytes that are still missing.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.settle_numbers();
        if self.options.reader == Reader::Typed {
            if !self.done {
                self.announce_finish();
            }
            self.done = true;
            return out;
        }
        self.begun |= self.hold.release_all(&mut out);
        if self.stopped_here {
            self.close_everything(&mut out);
        }
        if !self.turn.ended && !self.done {
            self.dialect.write_end(&self.turn, self.rewriting, &mut out);
        }
        self.done = true;
        out
    }

    fn close_everything(&mut self, out: &mut Vec<u8>) {
        self.turn.mark_all_shown();
        for part in &mut self.turn.parts {
            part.shown.closed = part.closed;
        }
        self.close_shown_parts(None, out);
        if !self.stop_written {
            self.write_stops(out);
        }
    }

    /// R2: the complete calls that were held, the tool-use stop and the end.
    pub fn synthesize_tool_use(&mut self) -> Vec<u8> {
        self.end_with(Stop::ToolUse)
    }

    /// Ends the turn as `length` without a request: nothing is left of `max_tokens`.
    pub fn finish_length(&mut self) -> Vec<u8> {
        self.end_with(Stop::MaxTokens)
    }

    fn end_with(&mut self, stop: Stop) -> Vec<u8> {
        let mut out = Vec::new();
        self.settle_numbers();
        self.cancel_unfinished_calls();
        self.turn.stops = vec![Some((stop, String::new()))];
        self.failure = None;
        if self.options.reader == Reader::Typed {
            self.announce_finish();
        } else {
            self.write_envelope(&mut out);
            self.drop_unshown();
            for index in 0..self.turn.parts.len() {
                if !matches!(self.turn.parts[index].kind, PartKind::Server | PartKind::Other) {
                    self.write_rest(index, &mut out);
                    self.close_one(index, &mut out);
                }
            }
            self.write_stops(&mut out);
            self.dialect.write_end(&self.turn, true, &mut out);
        }
        self.hold.restart(false);
        self.done = true;
        out
    }

    fn close_one(&mut self, index: usize, out: &mut Vec<u8>) {
        let part = &mut self.turn.parts[index];
        if !part.shown.closed {
            part.closed = true;
            part.shown.closed = true;
            self.write_effect(Effect { part: index, change: Change::Closed }, out);
        }
    }

    /// For good: what was received and held, then the provider's own error event if there was one.
    pub fn fail(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.settle_numbers();
        if self.options.reader == Reader::Bytes && self.degraded.is_none() {
            self.begun |= self.hold.release_all(&mut out);
            out.extend_from_slice(
                self.failure.as_ref().map_or(b"", |failure: &Failure| failure.raw.as_slice()),
            );
        }
        self.done = true;
        out
    }

    /// An error in the dialect's own form.
    pub fn error_event(&self, kind: &str, message: &str, status: Option<u16>) -> Vec<u8> {
        let mut out = Vec::new();
        self.dialect.write_error(kind, message, status, &mut out);
        out
    }

    pub fn keepalive(&self) -> &'static [u8] {
        self.dialect.keepalive(self.ids_seen)
    }

    /// What of the turn has left for the reader; only meaningful after `cut`.
    pub fn shown_parts(&self) -> impl Iterator<Item = &Part> {
        self.turn.parts.iter().filter(|part| part.shown.opened)
    }

    pub fn has_begun(&self) -> bool {
        self.begun
    }
}
