//! Events for the typed reader, made from the same effects that the byte reader's holds are made from.

use super::{Reader, Splice};
use crate::delta::PartKind;
use crate::turn::{Change, Effect};

/// What a typed reader is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedEvent {
    Text(String),
    Reasoning(String),
    Refusal(String),
    ToolStart { id: String, name: String },
    ToolDelta { id: String, arguments: String },
    ToolReady { id: String, name: String, arguments: String },
    ToolCancel { id: String, name: String, reason: String },
    Reset { reason: String },
    Seam { offset: usize, join: &'static str },
    Usage,
    Finish { stop: &'static str },
}

/// The event for a piece of text of that kind.
pub(super) fn text_event(kind: PartKind, text: String) -> Option<TypedEvent> {
    match kind {
        PartKind::Text => Some(TypedEvent::Text(text)),
        PartKind::Reasoning => Some(TypedEvent::Reasoning(text)),
        PartKind::Refusal => Some(TypedEvent::Refusal(text)),
        PartKind::Tool | PartKind::Server | PartKind::Other => None,
    }
}

impl Splice {
    /// Events since the last call.
    pub fn take_events(&mut self) -> Vec<TypedEvent> {
        std::mem::take(&mut self.events)
    }

    /// Turns the effects of the frame at hand into events.
    pub(super) fn note_events(&mut self) {
        if self.options.reader != Reader::Typed {
            return;
        }
        let effects = std::mem::take(&mut self.effects);
        for effect in &effects {
            if let Some(event) = self.event_of(*effect) {
                self.events.push(event);
            }
        }
        self.effects = effects;
        self.announce_ready();
        if self.turn.ended && !self.done {
            self.announce_finish();
        }
    }

    fn event_of(&self, effect: Effect) -> Option<TypedEvent> {
        let part = &self.turn.parts[effect.part];
        if part.key.choice != 0 {
            return None;
        }
        let text = match effect.change {
            Change::Opened if part.is_tool() => {
                return Some(TypedEvent::ToolStart { id: part.id.clone(), name: part.name.clone() });
            }
            Change::Text { from, to } => part.text[from..to].to_owned(),
            Change::Replaced => part.text.clone(),
            _ => return None,
        };
        if part.is_tool() {
            return Some(TypedEvent::ToolDelta { id: part.id.clone(), arguments: text });
        }
        text_event(part.kind, text)
    }

    /// Complete calls are announced once.
    pub(super) fn announce_ready(&mut self) {
        if self.options.reader != Reader::Typed {
            return;
        }
        for part in self.turn.parts.iter_mut().filter(|part| !part.announced && part.is_complete_tool()) {
            part.announced = true;
            self.events.push(TypedEvent::ToolReady {
                id: part.id.clone(),
                name: part.name.clone(),
                arguments: part.final_arguments().to_owned(),
            });
        }
    }

    pub(super) fn announce_finish(&mut self) {
        if self.options.reader == Reader::Typed {
            let stop = self.turn.stop_reason().map_or("other", |(stop, _)| stop.as_str());
            self.events.push(TypedEvent::Usage);
            self.events.push(TypedEvent::Finish { stop });
        }
    }

    pub(super) fn announce(&mut self, event: TypedEvent) {
        if self.options.reader == Reader::Typed {
            self.events.push(event);
        }
    }
}
