//! Received bytes, cut into frames. While nothing waits, events in the form of the last one take a short way.

use super::outbox::Outbox;
use super::template::Template;
use super::{Output, Reader, Splice, events};
use crate::delta::{Failure, Key, PartKind};

impl Splice {
    /// Gives received bytes; returns what may go to the reader now. An event above the limit ends the attempt with a
    /// failure of kind `frame_too_large`; what came before it leaves as usual.
    pub fn feed(&mut self, chunk: &[u8]) -> Output {
        self.bytes_received += chunk.len() as u64;
        self.progressed = false;
        if self.degraded.is_some() {
            return Output::Same;
        }
        if self.done || self.must_end() {
            let kept =
                if self.must_end() || self.rewriting { 0 } else { self.framing.belongs_to_last(chunk) };
            return Output::Bytes(chunk[..kept].to_vec());
        }
        let skipped = self.skipped_line_ends(chunk);
        if skipped > 0 {
            return match self.feed_on(&chunk[skipped..]) {
                Output::Same => Output::Bytes(chunk[skipped..].to_vec()),
                output @ Output::Bytes(_) => output,
            };
        }
        self.feed_on(chunk)
    }

    fn feed_on(&mut self, chunk: &[u8]) -> Output {
        if self.tail.is_empty() {
            let mut outbox = Outbox::new(chunk);
            let used = self.consume(&mut outbox);
            if !self.is_over() {
                self.tail.extend_from_slice(&chunk[used..]);
            }
            return outbox.finish(used, true);
        }
        let mut buffer = std::mem::take(&mut self.tail);
        buffer.extend_from_slice(chunk);
        let mut outbox = Outbox::new(&buffer);
        let used = self.consume(&mut outbox);
        let output = outbox.finish(used, false);
        if !self.is_over() {
            buffer.drain(..used);
            self.tail = buffer;
        }
        output
    }

    /// Nothing more of this attempt will be looked at.
    fn is_over(&self) -> bool {
        self.degraded.is_some() || self.done || self.must_end()
    }

    /// Takes whole frames; returns how many bytes were used (all of them once the run is degraded).
    fn consume(&mut self, outbox: &mut Outbox<'_>) -> usize {
        let input = outbox.input();
        let mut used = 0;
        while !self.is_over() {
            if let Some(length) = self.take_by_template(&input[used..]) {
                if self.options.reader == Reader::Bytes {
                    outbox.pass(used, used + length);
                }
                used += length;
                continue;
            }
            let frame = match self.framing.next(&input[used..]) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => {
                    self.fail_with("frame_too_large", "max_event_bytes", error.to_string());
                    break;
                }
            };
            let start = used;
            used += frame.len;
            self.take_frame(&frame, &input[start..used], outbox, start);
            if self.degraded.is_some() {
                outbox.pass(start, input.len());
                used = input.len();
            }
        }
        used
    }

    /// The event at the start of `input`, if it is text in the form of the last one and nothing waits.
    fn take_by_template(&mut self, input: &[u8]) -> Option<usize> {
        let template = self.template.as_ref()?;
        if !self.framing.may_skip() || self.panic_after.is_some() {
            return None;
        }
        let (length, text) = template.read(input)?;
        self.unused_templates = 0;
        if length > self.options.limits.max_event_bytes || !self.turn.has_room(text.len()) {
            return None;
        }
        self.turn.append_known(template.part, &text);
        if self.options.reader == Reader::Typed {
            self.events.push(events::text_event(template.kind, text.into_owned())?);
        }
        self.framing.skipped();
        self.progress += 1;
        self.progressed = true;
        Some(length)
    }

    /// Remembers the form of an event that was one piece of text and passed at once.
    pub(super) fn learn_template(&mut self, learnt: Option<(Key, PartKind, Template)>) {
        let steady = !self.rewriting && self.seam.is_none() && self.watch.is_none() && self.target.is_none();
        let idle = self.options.reader == Reader::Typed || self.hold.is_idle();
        let (Some((key, kind, mut template)), true) = (learnt, steady && idle && !self.terminal_seen())
        else {
            return;
        };
        let Some(part) = self.turn.find(key) else { return };
        template.part = part;
        let blank = self.turn.parts[part].is_blank() && kind != PartKind::Reasoning;
        self.template = (!blank && key.choice == 0).then_some(template);
        self.unused_templates = self.unused_templates.saturating_add(1);
    }

    pub(super) fn fail_with(&mut self, kind: &str, code: &str, message: String) {
        self.failure =
            Some(Failure { kind: kind.to_owned(), code: code.to_owned(), message, ..Failure::default() });
    }

    /// A passed limit: a healthy stream goes on verbatim, a spliced one cannot.
    pub(super) fn pass_limit(&mut self, limit: &'static str, outbox: &mut Outbox<'_>) {
        if self.rewriting || self.options.reader == Reader::Typed {
            self.fail_with("seamstream_limit", limit, format!("the run passed {limit}"));
        } else {
            outbox.push_with(|out| self.hold.release_all(out));
            self.degraded = Some(limit.to_owned());
        }
    }

    pub(super) fn maybe_panic(&mut self) {
        if let Some(left) = self.panic_after.as_mut() {
            assert!(*left > 0, "a panic that a test asked for");
            *left -= 1;
        }
    }
}
