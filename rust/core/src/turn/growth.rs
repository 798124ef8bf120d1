//! Parts that grow and close.

use super::{Change, Effect, LimitPassed, Turn};
use crate::delta::{Key, PartKind};
use crate::json::JsonScanner;

impl Turn {
    /// Appends to the part with that key, opening it where the dialect has no opening.
    pub fn text(
        &mut self,
        key: Key,
        kind: PartKind,
        text: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<(), LimitPassed> {
        let part = match self.find(key) {
            Some(part) => part,
            None => self.open(key, kind, effects)?,
        };
        self.append(part, text, effects)
    }

    /// Appends text to a part and notes the effect.
    pub fn append(&mut self, part: usize, text: &str, effects: &mut Vec<Effect>) -> Result<(), LimitPassed> {
        if text.is_empty() {
            return Ok(());
        }
        self.grow(text.len())?;
        let from = self.parts[part].text.len();
        self.parts[part].text.push_str(text);
        effects.push(Effect { part, change: Change::Text { from, to: from + text.len() } });
        Ok(())
    }

    pub fn has_room(&self, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= self.limits.max_turn_bytes
    }

    /// Appends a content delta for which there is room to a part that has already left; nobody needs an effect.
    pub fn append_known(&mut self, part: usize, text: &str) {
        self.bytes += text.len();
        self.content_deltas += 1;
        self.parts[part].text.push_str(text);
    }

    fn grow(&mut self, bytes: usize) -> Result<(), LimitPassed> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.max_turn_bytes { Err(LimitPassed("max_turn_bytes")) } else { Ok(()) }
    }

    pub(super) fn arguments(
        &mut self,
        key: Key,
        text: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<(), LimitPassed> {
        let Some(index) = self.find(key) else { return Ok(()) };
        let part = &mut self.parts[index];
        let Some(scanner) = part.scanner.as_mut() else { return self.append(index, text, effects) };
        if scanner.is_empty_object() && text.trim_start().starts_with('{') {
            return self.replace_arguments(key, text, effects); // `{}` was a placeholder
        }
        part.closed &= text.is_empty(); // calls may interleave: more arguments open the call again
        scanner.push(text.as_bytes());
        if scanner.limit_passed() {
            return Err(LimitPassed("max_json_depth"));
        }
        self.append(index, text, effects)
    }

    pub(super) fn replace_arguments(
        &mut self,
        key: Key,
        text: &str,
        effects: &mut Vec<Effect>,
    ) -> Result<(), LimitPassed> {
        self.grow(text.len())?;
        let Some(index) = self.find(key) else { return Ok(()) };
        let mut scanner = JsonScanner::new(self.limits.max_json_depth);
        scanner.push(text.as_bytes());
        let part = &mut self.parts[index];
        part.scanner = Some(scanner);
        text.clone_into(&mut part.text);
        effects.push(Effect { part: index, change: Change::Replaced });
        Ok(())
    }

    pub(super) fn signature(&mut self, key: Key, text: &str, effects: &mut Vec<Effect>) {
        let Some(part) = self.find(key) else { return };
        let from = self.parts[part].signature.len();
        self.parts[part].signature.push_str(text);
        effects.push(Effect { part, change: Change::Signature { from, to: from + text.len() } });
    }

    pub(super) fn close(&mut self, key: Key, effects: &mut Vec<Effect>) {
        if let Some(part) = self.find(key) {
            self.close_part(part, effects);
        }
    }

    /// Closes a part whose closing is passed on as it is.
    pub fn close_as_is(&mut self, key: Key, effects: &mut Vec<Effect>) {
        if let Some(part) = self.find(key) {
            self.parts[part].closed = true;
            effects.push(Effect { part, change: Change::ClosedAsIs });
        }
    }

    pub fn close_part(&mut self, part: usize, effects: &mut Vec<Effect>) {
        if !self.parts[part].closed {
            self.parts[part].closed = true;
            effects.push(Effect { part, change: Change::Closed });
        }
    }
}
