//! Gemini Interactions: which events of an interaction were read. Their ids have no order, and a server that takes a
//! stream up may begin with events that it had sent before.

use std::collections::VecDeque;

use crate::dialect::{Follows, Place};

/// A server that goes back further than this begins with the very first event, which is remembered too.
const REMEMBERED: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The provider's own id of the interaction at hand.
    pub(super) interaction: String,
    first: String,
    recent: VecDeque<String>,
    /// The last event that was read.
    pub(super) place: Option<Place>,
    /// Steps that have begun.
    steps: u64,
    /// The resumed stream repeats what was read, up to the last event of that.
    repeating: bool,
}

impl Marks {
    pub(super) fn last(&self) -> Option<String> {
        self.recent.back().cloned()
    }

    /// An event was read.
    pub(super) fn saw(&mut self, id: &str, starts: Option<u64>) {
        if let Some(index) = starts {
            self.steps = self.steps.max(index.saturating_add(1));
        }
        if id.is_empty() {
            return;
        }
        if self.recent.is_empty() {
            id.clone_into(&mut self.first);
        }
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(id.to_owned());
    }

    pub(super) fn note(&mut self, kind: &str, step: Option<u64>) {
        if step.is_none() && self.place.is_some() {
            return;
        }
        let place = self.place.get_or_insert_default();
        kind.clone_into(&mut place.event);
        place.item = step.and_then(|step| u32::try_from(step).ok()).unwrap_or(0);
    }

    /// A resumed stream begins.
    pub(super) fn resumed(&mut self) {
        self.repeating = false;
    }

    /// How an event of a resumed stream follows. Without an order only a step that never began betrays a gap.
    pub(super) fn follows(&mut self, id: &str, step: Option<u64>, starts: bool) -> Follows {
        let last = self.recent.back().is_some_and(|last| last == id);
        if last || self.repeating || self.knows(id) {
            self.repeating = !last;
            return Follows::Read;
        }
        let known_steps = if starts { self.steps.saturating_add(1) } else { self.steps };
        if step.is_some_and(|step| step >= known_steps) { Follows::Gap } else { Follows::Next }
    }

    fn knows(&self, id: &str) -> bool {
        !id.is_empty() && (id == self.first || self.recent.iter().any(|known| known == id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(count: u64) -> Marks {
        let mut marks = Marks::default();
        for number in 0..count {
            marks.saw(&format!("e{number}"), (number == 2).then_some(0));
        }
        marks
    }

    fn reads(marks: &mut Marks, numbers: std::ops::Range<u64>) -> Vec<Follows> {
        numbers.map(|number| marks.follows(&format!("e{number}"), None, false)).collect()
    }

    #[test]
    fn what_was_read_is_known_from_wherever_the_server_begins() {
        for count in [3_u64, 10, 200] {
            for begins in [0, count - 1, count.saturating_sub(60)] {
                let mut marks = after(count);
                marks.resumed();
                let found = reads(&mut marks, begins..count + 5);
                let read = found.iter().filter(|follows| **follows == Follows::Read).count() as u64;
                let new = found.iter().rev().take_while(|follows| **follows == Follows::Next).count();
                assert_eq!((read, new), (count - begins, 5), "{count} {begins}");
            }
        }
    }

    #[test]
    fn a_stream_that_is_taken_up_twice_is_looked_at_anew() {
        let mut marks = after(200);
        marks.resumed();
        assert_eq!(marks.follows("e0", None, false), Follows::Read);
        marks.resumed();
        assert_eq!(marks.follows("e200", None, false), Follows::Next);
    }

    #[test]
    fn a_step_that_never_began_is_a_gap() {
        let mut marks = after(5);
        marks.resumed();
        assert_eq!(marks.follows("x", Some(0), false), Follows::Next);
        assert_eq!(marks.follows("x", Some(1), false), Follows::Gap);
        assert_eq!(marks.follows("x", Some(1), true), Follows::Next);
        assert_eq!(marks.follows("x", Some(2), true), Follows::Gap);
    }
}
