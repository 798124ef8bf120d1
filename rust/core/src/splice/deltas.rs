//! One delta: an end, an error, or content for the turn.

use super::{Phase, Splice};
use crate::delta::{Delta, Failure, Key, PartKind, Stop};
use crate::turn::LimitPassed;

impl Splice {
    pub(super) fn take_delta(&mut self, delta: Delta<'_>, raw: &[u8]) -> Result<(), LimitPassed> {
        self.note_phase(&delta);
        match delta {
            Delta::Failure(mut failure) => {
                if self.turn.is_stopped() {
                    self.error_after_stop = true; // a stop reason already seen means done
                    return Ok(());
                }
                raw.clone_into(&mut failure.raw);
                self.failure = Some(failure);
                Ok(())
            }
            Delta::Stop { stop: Stop::Abnormal, raw: reason, .. } => {
                self.failure = Some(Failure {
                    kind: "abnormal_stop".to_owned(),
                    code: reason.clone().into_owned(),
                    status: None,
                    message: format!("the provider ended the answer with {reason:?}"),
                    raw: raw.to_vec(),
                });
                Ok(())
            }
            Delta::End if !self.turn.is_stopped() && !self.options.done_is_end => {
                self.early_end = true;
                Ok(())
            }
            Delta::Raw { key, raw, closes } => {
                if let (true, Some(part)) = (self.rewriting, self.turn.find(key)) {
                    self.raw_deltas.push((part, raw.to_vec()));
                }
                if closes {
                    self.turn.close_as_is(key, &mut self.effects);
                }
                Ok(())
            }
            delta => self.take_content(&delta),
        }
    }

    fn take_content(&mut self, delta: &Delta<'_>) -> Result<(), LimitPassed> {
        if self.seam.is_some() || self.watch.is_some() {
            return self.take_at_seam(delta);
        }
        if let (Delta::Text { key, kind, .. } | Delta::Open { key, kind, .. }, Some(target)) =
            (delta, self.target)
            && matches!(kind, PartKind::Text | PartKind::Refusal)
            && self.turn.find(*key).is_none()
        {
            self.adopt(target, *key);
            if matches!(delta, Delta::Open { .. }) {
                return Ok(());
            }
        }
        self.turn.apply(delta, &mut self.effects)
    }

    /// From now on the continuation's part with that key is the part that was cut.
    pub(super) fn adopt(&mut self, target: usize, key: Key) {
        let attempt = self.turn.attempt();
        let part = &mut self.turn.parts[target];
        part.key = key;
        part.attempt = attempt;
        part.closed = false;
        self.target = None;
    }

    fn note_phase(&mut self, delta: &Delta<'_>) {
        match delta {
            Delta::Text { kind: PartKind::Reasoning, .. } | Delta::Arguments { .. } => {
                self.phase = Phase::Quiet;
            }
            Delta::Text { text, .. } if !text.trim().is_empty() || self.phase == Phase::Quiet => {
                self.phase = Phase::Text;
            }
            Delta::Open { kind: PartKind::Text, .. } => {}
            Delta::Open { kind, id, .. } => {
                self.phase = Phase::Quiet;
                if *kind == PartKind::Server {
                    self.note_server_item(id);
                }
            }
            _ => {}
        }
    }

    /// A server-side call is open until an item that is not a call follows it.
    fn note_server_item(&mut self, id: &str) {
        if id.is_empty()
            && let Some(open) = self.server_items.iter_mut().find(|item| item.1)
        {
            open.1 = false;
            return;
        }
        self.server_items.push((id.to_owned(), !id.is_empty()));
    }
}
