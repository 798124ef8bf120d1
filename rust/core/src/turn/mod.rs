//! The turn: everything that was received, over all attempts, and how much of it has left for the reader.
//!
//! A healthy stream never pays for the second half of that sentence: parts are only accumulated. What is held back
//! is remembered as undo marks on the held events (see `hold`), and "shown" is worked out from them at a cut.

mod facts;
mod growth;
mod part;

pub use part::{Change, Effect, Part, Shown};

use crate::delta::{Counters, Delta, Key, PartKind, Stop};
use crate::json::JsonScanner;
use crate::limits::Limits;

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
