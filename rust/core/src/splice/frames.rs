//! One frame: what it says goes into the turn, what the reader may have of it leaves.

use std::borrow::Cow;

use super::outbox::Outbox;
use super::template::Template;
use super::{Reader, Splice};
use crate::delta::Delta;
use crate::frame::{Frame, FrameKind};
use crate::turn::LimitPassed;

/// A provider whose events never repeat their form is not asked again.
const MOST_UNUSED: u8 = 32;

impl Splice {
    pub(super) fn take_frame(&mut self, frame: &Frame<'_>, raw: &[u8], outbox: &mut Outbox<'_>, at: usize) {
        self.maybe_panic();
        self.ids_seen |= frame.has_id;
        match frame.kind {
            FrameKind::Silent => return self.take_silent(raw, outbox, at),
            FrameKind::Corrupt => {
                let message = "a frame's checksum or length is wrong".to_owned();
                return self.fail_with("malformed_frame", "checksum", message);
            }
            FrameKind::Event | FrameKind::Failure | FrameKind::Unknown => {}
        }
        if self.native && self.is_known(frame) {
            return;
        }
        self.mark = self.dialect.mark();
        let mut deltas = Vec::new();
        self.dialect.read(frame, &mut deltas);
        if deltas.iter().all(|delta| matches!(delta, Delta::Keepalive)) {
            self.take_keepalive(raw, outbox, at);
            return;
        }
        self.take_event(deltas, raw, outbox, at);
    }

    /// What an event says goes into the turn, and then out as far as it may.
    fn take_event(&mut self, deltas: Vec<Delta<'_>>, raw: &[u8], outbox: &mut Outbox<'_>, at: usize) {
        self.progress += 1;
        self.progressed = true;
        self.effects.clear();
        self.raw_deltas.clear();
        self.template = None;
        let learnt = match deltas.as_slice() {
            [Delta::Text { key, kind, text: Cow::Borrowed(text) }] if self.unused_templates < MOST_UNUSED => {
                Template::learn(raw, text, 0, *kind).map(|template| (*key, *kind, template))
            }
            _ => None,
        };
        for delta in deltas {
            if let Err(LimitPassed(limit)) = self.take_delta(delta, raw) {
                self.pass_limit(limit, outbox);
                return;
            }
            if self.must_end() {
                return;
            }
        }
        self.note_events();
        if self.options.reader == Reader::Typed {
            self.done |= self.turn.ended;
        } else if self.rewriting {
            let bytes = self.rewrite();
            self.settle(None, &bytes, outbox);
        } else {
            self.settle(Some(at), raw, outbox);
        }
        self.learn_template(learnt);
    }

    /// Keep-alives do not wait behind held events, once the message has begun; blank lines keep their place. Those of
    /// another attempt do not pass where readers break on them.
    fn take_silent(&mut self, raw: &[u8], outbox: &mut Outbox<'_>, at: usize) {
        let separator = raw.iter().all(u8::is_ascii_whitespace);
        let unbearable = separator || self.dialect.keepalive(self.ids_seen).is_empty();
        if self.options.reader == Reader::Typed || (self.rewriting && unbearable) {
            return;
        }
        if self.hold.is_empty() || (self.begun && !separator) {
            outbox.pass(at, at + raw.len());
        } else {
            self.hold.push(raw, Vec::new(), true, self.dialect.mark());
        }
    }

    fn take_keepalive(&mut self, raw: &[u8], outbox: &mut Outbox<'_>, at: usize) {
        if !self.dialect.numbers_keepalives() {
            self.take_silent(raw, outbox, at);
        } else if self.options.reader == Reader::Bytes && !self.rewriting {
            self.effects.clear();
            self.settle(Some(at), raw, outbox);
        }
    }

    /// Queues or passes one event and releases whatever may leave now.
    pub(super) fn settle(&mut self, at: Option<usize>, bytes: &[u8], outbox: &mut Outbox<'_>) {
        let effects = std::mem::take(&mut self.effects);
        self.hold.note(&mut self.turn, &effects);
        if self.hold.lets_pass() {
            self.hold.passed();
            self.begun |= !bytes.is_empty();
            match at {
                Some(at) => outbox.pass(at, at + bytes.len()),
                None => outbox.push(bytes),
            }
            self.effects = effects;
        } else {
            self.hold.push(bytes, effects, bytes.is_empty(), self.mark);
            self.begun |= outbox.push_with(|out| self.hold.release(out));
        }
        self.done |= self.turn.ended;
    }
}
