//! The held events themselves: in, and out again in their order.

use super::{HeldEvent, Hold};
use crate::turn::{Change, Effect, Shown, Turn};

impl Hold {
    /// True when the event that was just noted may leave at once.
    pub fn lets_pass(&self) -> bool {
        self.is_empty() && self.first_kept().is_none()
    }

    /// True when nothing is held and one more piece of text would change nothing.
    pub fn is_idle(&self) -> bool {
        self.lets_pass() && self.tools.is_empty()
    }

    /// Number of the first event that must stay.
    fn first_kept(&self) -> Option<u64> {
        let tools = self.tools.iter().map(|&(_, from)| from).min();
        [self.soft_from, tools, self.stop_from].into_iter().flatten().min()
    }

    /// The noted event leaves without being queued.
    pub fn passed(&mut self) {
        self.sequence += 1;
    }

    /// Queues the noted event.
    pub fn push(&mut self, bytes: &[u8], effects: Vec<Effect>, silent: bool, mark: u64) {
        self.bytes.extend_from_slice(bytes);
        self.events.push_back(HeldEvent { bytes: bytes.len(), effects, silent, mark });
        self.sequence += 1;
    }

    /// Moves what may leave to `out`; true if any event that is not silent was among it.
    pub fn release(&mut self, out: &mut Vec<u8>) -> bool {
        let first = self.sequence - self.events.len() as u64;
        let count = match self.first_kept() {
            Some(kept) => usize::try_from(kept.saturating_sub(first)).unwrap_or(usize::MAX),
            None => self.events.len(),
        };
        let leaving = self.events.drain(..count.min(self.events.len()));
        let (mut bytes, mut spoke) = (0, false);
        for event in leaving {
            bytes += event.bytes;
            spoke |= !event.silent;
        }
        out.extend(self.bytes.drain(..bytes));
        spoke
    }

    /// Leaves to `out` whatever is held, whole.
    pub fn release_all(&mut self, out: &mut Vec<u8>) -> bool {
        let spoke = self.events.iter().any(|event| !event.silent);
        self.events.clear();
        out.append(&mut self.bytes);
        spoke
    }

    /// Held events before the first one that belongs to a part: the envelope. Leaves them to `out`.
    pub fn release_envelope(&mut self, out: &mut Vec<u8>) -> bool {
        let mut spoke = false;
        while self.events.front().is_some_and(|event| event.effects.is_empty()) {
            if let Some(event) = self.events.pop_front() {
                out.extend(self.bytes.drain(..event.bytes));
                spoke |= !event.silent;
            }
        }
        spoke
    }

    /// Works out what of each part has left, from what is still held.
    pub fn mark_shown(&self, turn: &mut Turn) {
        turn.mark_all_shown();
        for event in self.events.iter().rev() {
            for effect in event.effects.iter().rev() {
                let shown = &mut turn.parts[effect.part].shown;
                match effect.change {
                    Change::Opened => *shown = Shown::default(),
                    Change::Text { from, .. } => shown.bytes = shown.bytes.min(from),
                    Change::Replaced => shown.bytes = 0,
                    Change::Signature { from, .. } => shown.signature = shown.signature.min(from),
                    Change::Closed | Change::ClosedAsIs => shown.closed = false,
                }
            }
        }
    }
}
