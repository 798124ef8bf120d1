//! Attempts after a visible cut: the seam, and writing their deltas under the first attempt's envelope.

use super::{Plan, SeamMade, Splice, TypedEvent};
use crate::delta::{Delta, Key, PartKind, Stop};
use crate::seam::{Join, Verdict, Watched};
use crate::turn::{Change, Effect, LimitPassed};

/// Where text is kept until a continuation that has not opened its part is joined.
const NO_KEY: Key = Key { choice: 0, slot: u32::MAX };

impl Splice {
    /// Writes the effects of the frame at hand for the reader.
    pub(super) fn rewrite(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let effects = std::mem::take(&mut self.effects);
        for effect in &effects {
            self.write_effect(*effect, &mut out);
        }
        self.effects = effects;
        for (part, raw) in std::mem::take(&mut self.raw_deltas) {
            self.dialect.write_raw(&self.turn.parts[part], &raw, &mut out);
        }
        if self.turn.is_stopped() && !self.stop_written {
            self.write_stops(&mut out);
        }
        if self.turn.ended {
            self.dialect.write_end(&self.turn, true, &mut out);
        }
        out
    }

    pub(super) fn write_effect(&mut self, effect: Effect, out: &mut Vec<u8>) {
        let part = &mut self.turn.parts[effect.part];
        if effect.change == Change::Opened && self.dialect.numbers(part.kind) {
            part.out_index = self.next_index;
            self.next_index += 1;
        }
        let before = out.len();
        self.dialect.write_change(part, effect.change, self.begun, out);
        self.begun |= out.len() > before;
    }

    pub(super) fn write_stops(&mut self, out: &mut Vec<u8>) {
        self.stop_written = true;
        for choice in 0..self.turn.stops.len() {
            let Some((stop, raw)) = self.turn.stops[choice].clone() else { continue };
            let choice = u32::try_from(choice).unwrap_or(u32::MAX);
            self.dialect.write_stop(&self.turn, choice, stop, &raw, out);
        }
    }

    /// A delta of a continuation whose seam (or straddling stop sequence) is not decided yet.
    pub(super) fn take_at_seam(&mut self, delta: &Delta<'_>) -> Result<(), LimitPassed> {
        match delta {
            Delta::Text { key, kind: PartKind::Text | PartKind::Refusal, text } if key.choice == 0 => {
                self.continue_in(*key);
                self.take_seam_text(text)
            }
            Delta::Open { key, kind: PartKind::Text, .. } if self.target.is_some() => {
                self.continue_in(*key);
                Ok(())
            }
            Delta::Open { kind: PartKind::Text, .. } => self.turn.apply(delta, &mut self.effects),
            Delta::Text { kind: PartKind::Reasoning, .. } | Delta::Open { kind: PartKind::Reasoning, .. } => {
                self.leave_target();
                self.turn.apply(delta, &mut self.effects)
            }
            Delta::Open { .. } | Delta::Close { .. } | Delta::Stop { .. } | Delta::End
                if self.ends_seam(delta) =>
            {
                self.conclude_seam()?;
                if self.seam_refusal.is_some() || self.stopped_here {
                    return Ok(());
                }
                self.leave_target_for(delta);
                self.turn.apply(delta, &mut self.effects)
            }
            _ => self.turn.apply(delta, &mut self.effects),
        }
    }

    /// Closing a reasoning block says nothing about the text; everything else means that no more text comes.
    fn ends_seam(&self, delta: &Delta<'_>) -> bool {
        match delta {
            Delta::Close { key } => {
                self.turn.find(*key).is_none_or(|part| self.turn.parts[part].kind != PartKind::Reasoning)
            }
            _ => true,
        }
    }

    /// The continuation's text part with that key goes on in the part that was cut, if that is still open.
    fn continue_in(&mut self, key: Key) {
        if let Some(target) = self.target {
            self.adopt(target, key);
        }
        self.seam_key = key;
    }

    /// Numbered parts do not interleave: something else begins, so the cut part is over.
    fn leave_target(&mut self) {
        if let (Some(target), true) = (self.target, self.dialect.numbers(PartKind::Text)) {
            self.target = None;
            self.turn.close_part(target, &mut self.effects);
        }
    }

    fn leave_target_for(&mut self, delta: &Delta<'_>) {
        if matches!(delta, Delta::Open { .. } | Delta::Stop { .. }) {
            self.leave_target();
        }
    }

    fn take_seam_text(&mut self, text: &str) -> Result<(), LimitPassed> {
        let verdict = match self.seam.as_mut() {
            Some(seam) => seam.push(text),
            None => return self.watch_text(text),
        };
        self.take_verdict(verdict)
    }

    fn take_verdict(&mut self, verdict: Verdict) -> Result<(), LimitPassed> {
        match verdict {
            Verdict::Wait => Ok(()),
            Verdict::Refused(why) => {
                self.seam = None;
                self.watch = None;
                self.seam_refusal = Some(why);
                Ok(())
            }
            Verdict::Joined { join, text, guessed_blanks } => {
                self.seam = None;
                self.record_seam(join, guessed_blanks);
                if self.watch.is_some() { self.watch_text(&text) } else { self.append_text(&text) }
            }
        }
    }

    fn record_seam(&mut self, join: Join, guessed_blanks: bool) {
        let offset = self.turn.joined(PartKind::Text).chars().count();
        self.seams.push(SeamMade {
            offset,
            plan: if self.plan == Plan::Truncate { "R3" } else { "R1" },
            join: join.as_str(),
            attempt: self.streams(),
            guessed_blanks,
        });
        self.announce(TypedEvent::Seam { offset, join: join.as_str() });
    }

    fn watch_text(&mut self, text: &str) -> Result<(), LimitPassed> {
        let Some(watch) = self.watch.as_mut() else { return self.append_text(text) };
        match watch.push(text) {
            Watched::Wait => Ok(()),
            Watched::Clear(text) => {
                self.watch = None;
                self.append_text(&text)
            }
            Watched::Stopped(_) => {
                self.watch = None;
                self.stopped_here = true;
                self.turn.stops = vec![Some((Stop::StopSequence, String::new()))];
                Ok(())
            }
        }
    }

    fn append_text(&mut self, text: &str) -> Result<(), LimitPassed> {
        if text.is_empty() {
            return Ok(());
        }
        let undecided = self.seam_key == NO_KEY && self.target.is_some();
        let key = if undecided { self.target_key() } else { self.seam_key };
        self.turn.content_deltas += 1; // an echo is no part of the answer
        self.turn.text(key, self.seam_kind, text, &mut self.effects)
    }

    fn target_key(&mut self) -> Key {
        if let Some(target) = self.target {
            self.adopt(target, NO_KEY);
        }
        NO_KEY
    }

    /// No more text comes before this: the seam must be decided with what there is.
    fn conclude_seam(&mut self) -> Result<(), LimitPassed> {
        if let Some(seam) = self.seam.as_mut() {
            let verdict = seam.conclude();
            self.take_verdict(verdict)?;
        }
        if let Some(watch) = self.watch.take() {
            let text = watch.conclude();
            self.append_text(&text)?;
        }
        Ok(())
    }

    /// The driver gives no more time for the decision.
    pub(super) fn expire_seam(&mut self, out: &mut Vec<u8>) {
        self.effects.clear();
        self.mark = self.dialect.mark();
        if self.conclude_seam().is_err() {
            self.fail_with("seamstream_limit", "max_turn_bytes", "the run passed max_turn_bytes".to_owned());
        }
        self.note_events();
        if self.options.reader == super::Reader::Bytes {
            let bytes = self.rewrite();
            let mut outbox = super::outbox::Outbox::new(b"");
            self.settle(None, &bytes, &mut outbox);
            if let super::Output::Bytes(bytes) = outbox.finish(0, false) {
                out.extend_from_slice(&bytes);
            }
        }
    }
}
