//! The turn: everything that was received, over all attempts, and how much of it has left for the reader.
//!
//! A healthy stream never pays for the second half of that sentence: parts are only accumulated. What is held back
//! is remembered as undo marks on the held events (see `hold`), and "shown" is worked out from them at a cut.

use crate::delta::{Counters, Delta, Key, PartKind, Stop};
use crate::json::{JsonScanner, JsonState};
use crate::limits::Limits;

/// What of a part has left for the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub opened: bool,
    pub bytes: usize,
    pub signature: usize,
    pub closed: bool,
}

/// One piece of content: a text, a reasoning block, a tool call, ...
#[derive(Debug)]
pub struct Part {
    pub key: Key,
    pub kind: PartKind,
    pub id: String,
    pub name: String,
    /// Text, or the raw arguments of a tool call.
    pub text: String,
    pub signature: String,
    /// The opening object as received, for parts that are passed on without being understood.
    pub raw: Vec<u8>,
    /// For the arguments of a call, unless they are free text.
    pub scanner: Option<JsonScanner>,
    /// The arguments are whole, though the call may still be open.
    pub finished: bool,
    pub closed: bool,
    /// Left for the reader although unfinished (a tool call).
    pub live: bool,
    /// A typed reader was told that the call is complete.
    pub announced: bool,
    pub attempt: u32,
    /// Index of the part on the reader's wire, where the dialect numbers parts.
    pub out_index: u32,
    pub shown: Shown,
}

impl Part {
    pub fn is_tool(&self) -> bool {
        self.kind == PartKind::Tool
    }

    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Closed by the provider, and not in the middle of its arguments.
    pub fn is_complete_tool(&self) -> bool {
        self.is_tool() && self.closed && (self.is_blank() || self.arguments_state() != JsonState::Open)
    }

    fn arguments_state(&self) -> JsonState {
        self.scanner.as_ref().map_or(JsonState::Complete, JsonScanner::state)
    }

    /// The arguments are one whole JSON object that is not empty: complete even though nobody closed the call.
    fn has_whole_arguments(&self) -> bool {
        let finished = self.finished && (self.is_blank() || self.arguments_state() != JsonState::Open);
        finished
            || self.scanner.as_ref().is_some_and(|scanner| {
                scanner.state() == JsonState::Complete
                    && scanner.starts_object()
                    && !scanner.is_empty_object()
            })
    }

    /// Arguments as the reader of a complete call should see them: none means the empty object.
    pub fn final_arguments(&self) -> &str {
        if self.is_blank() && self.scanner.is_some() { "{}" } else { &self.text }
    }

    fn everything_shown(&self) -> Shown {
        Shown { opened: true, bytes: self.text.len(), signature: self.signature.len(), closed: self.closed }
    }
}

/// One change of the turn, for the reader's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    pub part: usize,
    pub change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Opened,
    /// Bytes `from..to` of the part's text are new.
    Text {
        from: usize,
        to: usize,
    },
    /// The part's text was replaced as a whole.
    Replaced,
    Signature {
        from: usize,
        to: usize,
    },
    Closed,
    /// Closed by an event that is passed on as it is.
    ClosedAsIs,
}

/// A limit was passed; recovery is off for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitPassed(pub &'static str);

#[derive(Debug)]
pub struct Turn {
    pub parts: Vec<Part>,
    pub id: String,
    pub model: String,
    /// Counters per attempt, as reported.
    pub usages: Vec<Counters>,
    /// Stop reason per choice; the first normal one wins.
    pub stops: Vec<Option<(Stop, String)>>,
    pub ended: bool,
    /// Choices asked for; raised when the stream shows more.
    pub choices: u32,
    /// There will be none, so that one stop reason is enough.
    no_choices: bool,
    /// Text, reasoning and refusal deltas of the current attempt.
    pub content_deltas: u64,
    bytes: usize,
    limits: Limits,
}

impl Turn {
    pub fn new(limits: Limits) -> Self {
        Self {
            parts: Vec::new(),
            id: String::new(),
            model: String::new(),
            usages: vec![Counters::default()],
            stops: Vec::new(),
            ended: false,
            choices: 1,
            no_choices: false,
            content_deltas: 0,
            bytes: 0,
            limits,
        }
    }

    pub fn attempt(&self) -> u32 {
        u32::try_from(self.usages.len()).unwrap_or(u32::MAX)
    }

    /// Applies one delta of the current attempt.
    pub fn apply(&mut self, delta: &Delta<'_>, effects: &mut Vec<Effect>) -> Result<(), LimitPassed> {
        match delta {
            Delta::Begin { id, model } => self.begin(id, model),
            Delta::Open { key, kind, index, id, name, raw } => {
                let part = self.open(*key, *kind, effects)?;
                let part = &mut self.parts[part];
                id.as_ref().clone_into(&mut part.id);
                name.as_ref().clone_into(&mut part.name);
                part.raw.extend_from_slice(raw);
                part.out_index = *index;
            }
            Delta::Text { key, kind, text } => {
                self.content_deltas += 1;
                self.text(*key, *kind, text, effects)?;
            }
            Delta::Arguments { key, text } => self.arguments(*key, text, effects)?,
            Delta::ReplaceArguments { key, text } => self.replace_arguments(*key, text, effects)?,
            Delta::FreeText { key } => {
                if let Some(part) = self.find(*key) {
                    self.parts[part].scanner = None;
                }
            }
            Delta::Finished { key } => {
                if let Some(part) = self.find(*key) {
                    self.parts[part].finished = true;
                }
            }
            Delta::Retype { key, kind } => {
                if let Some(part) = self.find(*key).filter(|part| self.parts[*part].text.is_empty()) {
                    self.parts[part].kind = *kind;
                }
            }
            Delta::Name { key, text } => {
                if let Some(part) = self.find(*key) {
                    self.parts[part].name.push_str(text);
                }
            }
            Delta::Signature { key, text } => self.signature(*key, text, effects),
            Delta::Close { key } => self.close(*key, effects),
            Delta::Usage(counters) => self.usage(*counters),
            Delta::Stop { choice, stop, raw } => self.stop(*choice, *stop, raw),
            Delta::NoChoices => self.no_choices = true,
            Delta::End => self.ended = true,
            Delta::Raw { .. } | Delta::Failure(_) | Delta::Opaque | Delta::Keepalive => {}
        }
        Ok(())
    }

    fn begin(&mut self, id: &str, model: &str) {
        if self.id.is_empty() {
            id.clone_into(&mut self.id);
        }
        if self.model.is_empty() {
            model.clone_into(&mut self.model);
        }
    }

    /// The latest part of this attempt with that key.
    pub fn find(&self, key: Key) -> Option<usize> {
        let attempt = self.attempt();
        self.parts.iter().rposition(|part| part.key == key && part.attempt == attempt)
    }

    fn open(&mut self, key: Key, kind: PartKind, effects: &mut Vec<Effect>) -> Result<usize, LimitPassed> {
        if self.parts.len() >= self.limits.max_parts {
            return Err(LimitPassed("max_parts"));
        }
        let tool = kind == PartKind::Tool;
        self.parts.push(Part {
            key,
            kind,
            id: String::new(),
            name: String::new(),
            text: String::new(),
            signature: String::new(),
            raw: Vec::new(),
            scanner: tool.then(|| JsonScanner::new(self.limits.max_json_depth)),
            finished: false,
            closed: false,
            live: false,
            announced: false,
            attempt: self.attempt(),
            out_index: 0,
            shown: Shown::default(),
        });
        self.choices = self.choices.max(key.choice.saturating_add(1));
        let part = self.parts.len() - 1;
        effects.push(Effect { part, change: Change::Opened });
        Ok(part)
    }

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

    fn arguments(&mut self, key: Key, text: &str, effects: &mut Vec<Effect>) -> Result<(), LimitPassed> {
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

    fn replace_arguments(
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

    fn signature(&mut self, key: Key, text: &str, effects: &mut Vec<Effect>) {
        let Some(part) = self.find(key) else { return };
        let from = self.parts[part].signature.len();
        self.parts[part].signature.push_str(text);
        effects.push(Effect { part, change: Change::Signature { from, to: from + text.len() } });
    }

    fn close(&mut self, key: Key, effects: &mut Vec<Effect>) {
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

    fn usage(&mut self, counters: Counters) {
        if let Some(current) = self.usages.last_mut() {
            current.replace_with(counters);
        }
    }

    fn stop(&mut self, choice: u32, stop: Stop, raw: &str) {
        let slot = choice.min(1023) as usize;
        if self.stops.len() <= slot {
            self.stops.resize(slot + 1, None);
        }
        self.choices = self.choices.max(choice.saturating_add(1));
        if stop == Stop::Abnormal || self.stops[slot].is_some() {
            return;
        }
        self.stops[slot] = Some((stop, raw.to_owned()));
        if stop.closes_tools() {
            for part in &mut self.parts {
                if part.is_tool() && part.key.choice == choice {
                    part.closed = true;
                }
            }
        }
    }

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

    /// A new attempt begins; what belongs to the last one can no longer be found by its keys.
    pub fn next_attempt(&mut self) {
        self.usages.push(Counters::default());
        self.stops.clear();
        self.no_choices = false;
        self.ended = false;
        self.content_deltas = 0;
    }

    /// Drops all content (a whole restart); the envelope and the bills stay.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.bytes = 0;
    }
}
