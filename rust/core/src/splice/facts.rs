//! What is known of a run, for whoever asks.

use super::{Phase, SeamMade, Splice};
use crate::delta::Failure;
use crate::turn::Turn;

impl Splice {
    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub fn progress(&self) -> u64 {
        self.progress
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The dialect's proof of completeness was seen.
    pub fn terminal_seen(&self) -> bool {
        self.turn.is_stopped() || self.turn.ended
    }

    pub fn degraded(&self) -> Option<&str> {
        self.degraded.as_deref()
    }

    pub fn seam_refusal(&self) -> Option<&'static str> {
        self.seam_refusal
    }

    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    pub fn seams(&self) -> &[SeamMade] {
        &self.seams
    }

    pub fn unsigned(&self) -> &[String] {
        &self.unsigned
    }

    pub fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// How many choices the request asked for, once somebody has read it.
    pub fn expect_choices(&mut self, choices: u32) {
        self.turn.choices = self.turn.choices.max(choices);
    }

    /// `none`, `paired` (every server-side call has its result) or `open`.
    pub fn server_items(&self) -> &'static str {
        match self.server_items.iter().any(|item| item.1) {
            _ if self.server_items.is_empty() => "none",
            true => "open",
            false => "paired",
        }
    }

    /// For tests of fail-open: panics at the n-th event from now.
    pub fn panic_after(&mut self, events: u64) {
        self.panic_after = Some(events);
    }
}
