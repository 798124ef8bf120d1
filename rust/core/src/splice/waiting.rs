//! What waits, for how long, and what a driver has to look at.

use super::{Phase, Reader, Splice};
use crate::hold::Waiting;
use crate::seam::Seam;

impl Splice {
    /// Stops interpreting: from now on bytes pass verbatim. Returns what was pending.
    pub fn degrade(&mut self, reason: &str) -> Vec<u8> {
        let pending = self.pending();
        self.hold.restart(false);
        self.tail.clear();
        self.degraded = Some(reason.to_owned());
        pending
    }

    /// Raw bytes of this attempt that were received and have not left.
    pub fn pending(&self) -> Vec<u8> {
        let mut pending = self.hold.held_bytes().to_vec();
        pending.extend_from_slice(&self.tail);
        pending
    }

    /// The driver's hold timer ran out.
    pub fn expire(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.degraded.is_some() {
            return out;
        }
        if self.options.reader == Reader::Typed && self.seam.is_none() {
            if self.turn.is_stopped() && !self.done {
                self.announce_finish();
                self.done = true;
            }
            return out;
        }
        if self.seam.is_some() || self.watch.is_some() {
            self.expire_seam(&mut out);
            return out;
        }
        self.hold.expire(&mut self.turn, self.dialect.keeps_openings());
        self.begun |= self.hold.release(&mut out);
        out
    }

    pub fn waiting(&self) -> Option<Waiting> {
        if self.done || self.degraded.is_some() {
            return None;
        }
        if self.seam.as_ref().is_some_and(Seam::has_text) || self.watch.is_some() {
            return Some(Waiting::Seam);
        }
        match self.options.reader {
            Reader::Bytes => self.hold.waiting(),
            Reader::Typed => self.turn.is_stopped().then_some(Waiting::End),
        }
    }

    fn wants_cut(&self) -> bool {
        self.failure.is_some() || self.early_end || self.error_after_stop || self.stopped_here
    }

    /// The attempt has to end now, although its connection may be fine.
    pub fn must_end(&self) -> bool {
        self.wants_cut() || self.seam_refusal.is_some()
    }

    /// The bits that a driver looks at after each chunk; 0 in steady flow.
    pub fn flags(&self) -> u32 {
        let bits = [
            (1, self.waiting().is_some()),
            (2, !self.progressed),
            (4, self.wants_cut()),
            (8, self.done),
            (16, self.degraded.is_some()),
            (32, self.seam_refusal.is_some()),
            (64, self.phase != Phase::Text),
        ];
        bits.iter().map(|&(bit, on)| if on { bit } else { 0 }).sum()
    }
}
