//! What the turn says as a whole.

use super::{Part, Turn};
use crate::delta::{Counters, PartKind, Stop};

impl Turn {
    /// Every choice has a normal stop reason, or the end event was seen after one.
    pub fn is_stopped(&self) -> bool {
        let stopped = self.stops.iter().filter(|stop| stop.is_some()).count();
        stopped > 0 && (self.no_choices || stopped >= self.choices as usize)
    }

    /// Stop reason of the first choice, normalised: complete calls with a plain stop are a tool use.
    pub fn stop_reason(&self) -> Option<(Stop, &str)> {
        let (stop, raw) = self.stops.first()?.as_ref()?;
        let calls = self.parts.iter().any(Part::is_complete_tool);
        let stop = if *stop == Stop::EndTurn && calls { Stop::ToolUse } else { *stop };
        Some((stop, raw))
    }

    /// Text of one kind in the first choice, adjacent parts joined.
    pub fn joined(&self, kind: PartKind) -> String {
        self.parts
            .iter()
            .filter(|part| part.kind == kind && part.key.choice == 0)
            .map(|part| part.text.as_str())
            .collect()
    }

    /// Marks unclosed calls whose arguments are whole as complete, and says which. Only a cut asks.
    pub fn complete_whole_calls(&mut self) -> Vec<usize> {
        let whole = |part: &Part| part.is_tool() && !part.closed && part.has_whole_arguments();
        let found: Vec<usize> = (0..self.parts.len()).filter(|at| whole(&self.parts[*at])).collect();
        for part in &found {
            self.parts[*part].closed = true;
        }
        found
    }

    /// Counters over all attempts: first input and cache numbers, summed output (a lower bound).
    pub fn total_usage(&self) -> Counters {
        let first = |get: fn(&Counters) -> Option<u64>| self.usages.iter().find_map(get);
        let outputs: Vec<u64> = self.usages.iter().filter_map(|usage| usage.output).collect();
        Counters {
            input: first(|usage| usage.input),
            cache_read: first(|usage| usage.cache_read),
            cache_write: first(|usage| usage.cache_write),
            output: (!outputs.is_empty()).then(|| outputs.iter().sum()),
        }
    }

    /// Everything received counts as shown (nothing is held).
    pub fn mark_all_shown(&mut self) {
        for part in &mut self.parts {
            part.shown = part.everything_shown();
        }
    }
}
