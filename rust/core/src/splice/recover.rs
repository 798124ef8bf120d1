//! What happens at and after a cut: taking stock, going on, and the closing bytes.

use super::native::Cut;
use super::{Reader, Splice, TypedEvent};
use crate::delta::{Key, PartKind};
use crate::frame::Frame;
use crate::seam::{Seam, StopWatch};

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
    pub(super) fn settle_numbers(&mut self) {
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

    pub(super) fn cancel_unfinished_calls(&mut self) {
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
}
