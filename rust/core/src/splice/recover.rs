//! What happens at and after a cut: taking stock, going on, and the closing bytes.

use super::native::Cut;
use super::{Reader, Splice, TypedEvent};
use crate::delta::{Failure, Key, PartKind, Stop};
use crate::frame::Frame;
use crate::seam::{Seam, StopWatch};
use crate::turn::{Change, Effect, Part};

/// Plans that need a new attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    Continue,
    Truncate,
    Restart,
    /// The same response goes on at the position where it was cut.
    Native,
}

/// How the next attempt was asked to go on.
#[derive(Clone, Debug)]
pub struct Resume {
    pub plan: Plan,
    /// The strategy continues right after the prefix, without an echo.
    pub exact: bool,
    /// Else: the end of the text that was asked to be repeated.
    pub quote: String,
    /// Blanks at the end of the text that the request did not carry.
    pub stripped: String,
    pub strict: bool,
    pub stop: Vec<String>,
    pub reason: String,
}

impl Splice {
    /// The attempt is over. A pending event that is whole but for its blank line is taken; returns what may leave.
    pub fn cut(&mut self) -> Vec<u8> {
        if self.degraded.is_some() {
            return std::mem::take(&mut self.tail);
        }
        let mut out = Vec::new();
        if self.cut.unsettled {
            return out; // a clean end is looked at before it is taken for a cut
        }
        self.hold.attempt_is_over();
        let undecided = self.seam.is_some() || self.watch.is_some();
        let received = self.bytes_received - self.stream_start;
        let whole = received - self.tail.len() as u64;
        let pending = if self.must_end() || self.done { 0 } else { self.take_pending_frame(&mut out) };
        self.tail.clear();
        self.watch = None;
        self.seam = None; // what it had not decided is no progress
        self.hold.mark_shown(&mut self.turn);
        let closed = self.turn.complete_whole_calls(); // after that: nobody closed them for the reader either
        self.cut = Cut { unsettled: true, closed, offset: whole + pending, unended: pending > 0, undecided };
        self.announce_ready();
        out
    }

    /// Once the response that was cut does not go on: numbers of parts that never left are free again.
    fn settle_numbers(&mut self) {
        if !std::mem::take(&mut self.cut.unsettled) {
            return;
        }
        for part in self.turn.parts.iter().filter(|part| part.shown.opened) {
            if self.dialect.numbers(part.kind) {
                self.settled_index = self.settled_index.max(part.out_index.saturating_add(1));
            }
        }
        self.next_index = self.settled_index;
        self.mark = self.dialect.mark();
        self.dialect.settle(self.hold.first_mark().unwrap_or(self.mark));
    }

    /// Returns how many bytes of the tail were an event.
    fn take_pending_frame(&mut self, out: &mut Vec<u8>) -> u64 {
        let tail = std::mem::take(&mut self.tail);
        let Some(frame) = self.framing.finish(&tail) else { return 0 };
        let used = frame.len as u64;
        let mut raw = tail[..frame.len].to_vec();
        raw.extend_from_slice(frame.completion);
        let whole = Frame {
            len: raw.len(),
            kind: frame.kind,
            name: frame.name,
            data: frame.data,
            has_id: frame.has_id,
            completion: b"",
        };
        let mut outbox = super::outbox::Outbox::new(&raw);
        self.take_frame(&whole, &raw, &mut outbox, 0);
        if let super::Output::Bytes(bytes) = outbox.finish(raw.len(), false) {
            out.extend_from_slice(&bytes);
        }
        used
    }

    /// The next attempt begins under that plan. Returns bytes that leave now.
    pub fn resume(&mut self, resume: &Resume) -> Vec<u8> {
        let mut out = Vec::new();
        self.template = None;
        self.failure = None;
        self.early_end = false;
        self.error_after_stop = false;
        self.seam_refusal = None;
        if resume.plan == Plan::Native {
            self.go_on_natively();
            return out;
        }
        self.settle_numbers();
        self.native = false;
        self.replayed = false;
        self.skips_line_ends = false;
        self.stream_start = self.bytes_received;
        self.stopped_here = false;
        self.stop_written = false;
        self.target = None;
        self.plan = resume.plan;
        self.phase = super::Phase::Start;
        match resume.plan {
            Plan::Native => {}
            Plan::Restart => self.restart(&resume.reason, &mut out),
            Plan::Continue | Plan::Truncate => self.go_on(resume, &mut out),
        }
        self.framing.reset();
        self.dialect.next_attempt(self.rewriting);
        self.turn.next_attempt();
        out
    }

    fn restart(&mut self, reason: &str, out: &mut Vec<u8>) {
        self.seam = None;
        self.watch = None;
        self.server_items.clear();
        if self.options.reader == Reader::Typed {
            if !self.turn.parts.is_empty() {
                self.announce(TypedEvent::Reset { reason: reason.to_owned() });
            }
        } else if self.begun {
            self.close_shown_parts(None, out);
            self.rewriting = true;
        }
        self.seams.clear();
        self.turn.clear();
        self.hold.restart(!self.rewriting);
    }

    fn go_on(&mut self, resume: &Resume, out: &mut Vec<u8>) {
        self.cancel_unfinished_calls();
        let kind = self.text_kind();
        let received = self.turn.joined(kind).len();
        if self.options.reader == Reader::Bytes {
            self.write_envelope(out);
            self.write_unshown(out);
            self.rewriting = true;
        }
        self.hold.restart(false);
        self.target = self.open_target(kind);
        if let Some(target) = self.target {
            self.turn.parts[target].closed = false; // its closing never left, so it is open again
        }
        self.close_shown_parts(self.target, out);
        let text = self.turn.joined(kind);
        // Of the blanks that the request did not carry, those that were dropped just now are not with the reader either.
        let left = resume.stripped.len().saturating_sub(received.saturating_sub(text.len()));
        let stripped = resume.stripped.get(..left).unwrap_or(&resume.stripped);
        let prefix = text.strip_suffix(stripped).unwrap_or(&text);
        self.seam = Some(Seam::new(prefix, &resume.quote, stripped, resume.exact, resume.strict));
        self.watch = StopWatch::new(&resume.stop, &text);
        self.seam_kind = kind;
        self.seam_key = Key { choice: 0, slot: u32::MAX };
    }

    /// What a continuation goes on with: the text, or the refusal when that is all there is.
    fn text_kind(&self) -> PartKind {
        let any = |kind| self.turn.parts.iter().any(|part| part.kind == kind && !part.is_blank());
        if any(PartKind::Refusal) && !any(PartKind::Text) { PartKind::Refusal } else { PartKind::Text }
    }

    /// The last part, if it is text whose closing has not left; where parts have no closing, the last text part.
    fn open_target(&self, kind: PartKind) -> Option<usize> {
        let numbered = self.dialect.numbers(PartKind::Text);
        let last = self.turn.parts.len().checked_sub(1)?;
        let target = self.turn.parts.iter().rposition(|part| part.kind == kind && part.key.choice == 0)?;
        let open = !self.turn.parts[target].shown.closed || self.options.reader == Reader::Typed;
        (!numbered || (open && target == last)).then_some(target)
    }

    fn cancel_unfinished_calls(&mut self) {
        let parts = std::mem::take(&mut self.turn.parts);
        for part in parts {
            if part.is_tool() && !part.is_complete_tool() {
                self.announce(TypedEvent::ToolCancel {
                    id: part.id,
                    name: part.name,
                    reason: "the stream was cut before its arguments were complete".to_owned(),
                });
            } else {
                self.turn.parts.push(part);
            }
        }
    }

    /// The held events in front of the first part, verbatim.
    fn write_envelope(&mut self, out: &mut Vec<u8>) {
        if !self.begun && !self.rewriting {
            self.begun |= self.hold.release_envelope(out);
            self.dialect.settle(self.hold.first_mark().unwrap_or(self.mark));
        }
    }

    /// Writes what was received and has not left; blanks at the end of a text are dropped, the model sends them again.
    fn write_unshown(&mut self, out: &mut Vec<u8>) {
        self.drop_unshown();
        for index in 0..self.turn.parts.len() {
            let part = &mut self.turn.parts[index];
            let shown = part.shown;
            if matches!(part.kind, PartKind::Text | PartKind::Refusal)
                && part.text[shown.bytes..].trim().is_empty()
            {
                part.text.truncate(shown.bytes);
            }
            if shown.opened || !part.text.is_empty() {
                self.write_rest(index, out);
            }
        }
        self.turn.parts.retain(|part| part.shown.opened || !part.text.is_empty());
    }

    /// Parts whose events are only passed on cannot be written any more.
    fn drop_unshown(&mut self) {
        let dialect = &self.dialect;
        self.turn.parts.retain(|part| part.shown.opened || dialect.rewrites(part.kind));
    }

    /// Writes what of one part has not left, its closing excepted.
    fn write_rest(&mut self, index: usize, out: &mut Vec<u8>) {
        let part = &self.turn.parts[index];
        let (shown, bytes, signature) = (part.shown, part.text.len(), part.signature.len());
        if !shown.opened {
            self.write_effect(Effect { part: index, change: Change::Opened }, out);
        }
        if shown.bytes < bytes {
            self.write_effect(
                Effect { part: index, change: Change::Text { from: shown.bytes, to: bytes } },
                out,
            );
        }
        if shown.signature < signature {
            let change = Change::Signature { from: shown.signature, to: signature };
            self.write_effect(Effect { part: index, change }, out);
        }
        let part = &mut self.turn.parts[index];
        part.shown.opened = true;
        part.shown.bytes = bytes;
        part.shown.signature = signature;
    }

    /// Closes every part on the reader's wire but the one that goes on.
    fn close_shown_parts(&mut self, except: Option<usize>, out: &mut Vec<u8>) {
        for index in 0..self.turn.parts.len() {
            let part = &mut self.turn.parts[index];
            if part.shown.opened && !part.shown.closed && except != Some(index) {
                part.closed = true;
                part.shown.closed = true;
                if part.kind == PartKind::Reasoning && part.signature.is_empty() {
                    self.unsigned.push(part.text[..part.shown.bytes].to_owned());
                }
                if self.options.reader == Reader::Bytes {
                    self.write_effect(Effect { part: index, change: Change::Closed }, out);
                }
            }
        }
    }

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
