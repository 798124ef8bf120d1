//! What must wait, and until when.
//!
//! Events wait in order. There are three reasons besides a seam: something soft (a preamble, a part's opening, a text
//! part's closing) waits for firm content, so that a restart or a continuation in the same part stays invisible; an
//! unfinished tool call waits until it is complete; the terminal events wait for the end. The earliest event that any
//! reason keeps back keeps back everything behind it.

mod queue;

use std::collections::VecDeque;

use crate::delta::PartKind;
use crate::turn::{Change, Effect, Part, Turn};

/// Why something is held, for the driver's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    Preamble,
    Seam,
    Tool,
    End,
    /// A call has waited long enough, and leaves with what comes next.
    Content,
}

impl Waiting {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preamble => "preamble",
            Self::Seam => "seam",
            Self::Tool => "tool",
            Self::End => "end",
            Self::Content => "content",
        }
    }
}

#[derive(Debug)]
struct HeldEvent {
    bytes: usize,
    effects: Vec<Effect>,
    silent: bool,
    mark: u64,
}

/// The queue of held events of one run.
#[derive(Debug)]
pub struct Hold {
    events: VecDeque<HeldEvent>,
    bytes: Vec<u8>,
    /// Number of the next event; the first held one is `sequence - events.len()`.
    sequence: u64,
    soft_from: Option<u64>,
    /// What is soft is a closing, or an opening that is kept: it may wait as long as it takes.
    soft_is_untimed: bool,
    /// Unfinished calls that are held, with the event that opened each.
    tools: Vec<(usize, u64)>,
    /// Those opened before this event have waited long enough. Silence lets none of them go: the next content may
    /// complete it, and if none comes, what never left can still be asked for again.
    tools_due_before: u64,
    stop_from: Option<u64>,
    grace_over: bool,
    keeps_tools: bool,
    live_above_bytes: usize,
}

impl Hold {
    pub fn new(hold_tools: bool, live_above_bytes: usize) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: Vec::new(),
            sequence: 0,
            soft_from: Some(0),
            soft_is_untimed: false,
            tools: Vec::new(),
            tools_due_before: 0,
            stop_from: None,
            grace_over: false,
            keeps_tools: hold_tools,
            live_above_bytes,
        }
    }

    /// A new attempt: nothing is held any more. `preamble` says whether its first events wait for content.
    pub fn restart(&mut self, preamble: bool) {
        self.events.clear();
        self.bytes.clear();
        self.soft_from = preamble.then_some(self.sequence);
        self.soft_is_untimed = false;
        self.tools.clear();
        self.tools_due_before = 0;
        self.stop_from = None;
        self.grace_over = false;
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The dialect's mark of the first held event.
    pub fn first_mark(&self) -> Option<u64> {
        self.events.front().map(|event| event.mark)
    }

    /// Raw bytes that are held.
    pub fn held_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes note of what the event about to be queued or passed changed.
    pub fn note(&mut self, turn: &mut Turn, effects: &[Effect]) {
        let now = self.sequence;
        for effect in effects {
            self.note_effect(now, &mut turn.parts, *effect);
        }
        if self.finish_tools(turn) {
            self.clear_soft();
        }
        if !effects.is_empty() {
            self.release_due_tools(turn);
        }
        if turn.is_stopped() && !self.grace_over {
            self.stop_from = self.stop_from.or(Some(now));
        } else {
            self.stop_from = None;
        }
        if turn.ended {
            self.release_everything(turn);
        }
    }

    fn note_effect(&mut self, now: u64, parts: &mut [Part], effect: Effect) {
        let part = &mut parts[effect.part];
        match (part.kind, effect.change) {
            (PartKind::Tool, Change::Opened) if self.keeps_tools => self.tools.push((effect.part, now)),
            (PartKind::Tool, Change::Opened) => {
                part.live = true;
                self.clear_soft();
            }
            (PartKind::Tool, _) => {}
            (PartKind::Server | PartKind::Other, Change::Opened) => self.clear_soft(),
            (_, Change::Opened) => self.soft(now, false),
            (_, Change::Text { .. }) if part.is_blank() => self.soft(now, false),
            (_, Change::Text { .. } | Change::Signature { .. }) => self.clear_soft(),
            (PartKind::Text | PartKind::Refusal, Change::Closed) => self.soft(now, true),
            _ => {}
        }
    }

    fn soft(&mut self, now: u64, closing: bool) {
        if self.soft_from.is_none() {
            self.soft_from = Some(now);
            self.soft_is_untimed = closing;
        }
    }

    fn clear_soft(&mut self) {
        self.soft_from = None;
    }

    /// Drops the calls that are complete or too long from the list; true if any was.
    fn finish_tools(&mut self, turn: &mut Turn) -> bool {
        if self.tools.is_empty() {
            return false;
        }
        let before = self.tools.len();
        self.tools.retain(|&(part, _)| !turn.parts[part].is_complete_tool());
        let bytes: usize = self.tools.iter().map(|&(part, _)| turn.parts[part].text.len()).sum();
        if bytes > self.live_above_bytes {
            self.tools_go_live(turn);
        }
        self.tools.len() < before
    }

    /// Content has come, and it did not complete them.
    fn release_due_tools(&mut self, turn: &mut Turn) {
        let due_before = self.tools_due_before;
        let before = self.tools.len();
        self.tools.retain(|&(part, from)| {
            turn.parts[part].live |= from < due_before;
            from >= due_before
        });
        if self.tools.len() < before {
            self.clear_soft();
        }
    }

    /// The attempt is over: what is still taken of it shall let nothing go.
    pub fn attempt_is_over(&mut self) {
        self.tools_due_before = 0;
    }

    fn tools_go_live(&mut self, turn: &mut Turn) {
        for (part, _) in self.tools.drain(..) {
            turn.parts[part].live = true;
        }
    }

    fn release_everything(&mut self, turn: &mut Turn) {
        self.tools_go_live(turn);
        self.clear_soft();
        self.stop_from = None;
    }

    /// The driver's timer ran out for what is waited for. The opening of a text may be worth waiting on.
    pub fn expire(&mut self, turn: &mut Turn, keeps_openings: bool) {
        match self.waiting() {
            Some(Waiting::Tool) => self.tools_due_before = self.sequence,
            Some(Waiting::Content) | None => {}
            Some(Waiting::End) => {
                self.grace_over = true;
                self.release_everything(turn);
            }
            Some(_) if keeps_openings => self.keep_opening(turn),
            Some(_) => self.clear_soft(),
        }
    }

    /// Of what waits softly only a blank text's opening stays, and nobody's timer runs for it.
    fn keep_opening(&mut self, turn: &Turn) {
        let first = self.sequence - self.events.len() as u64;
        let opens_text = |effect: &Effect| {
            effect.change == Change::Opened
                && matches!(turn.parts[effect.part].kind, PartKind::Text | PartKind::Refusal)
        };
        let opening = self.events.iter().position(|event| event.effects.iter().any(opens_text));
        self.soft_from = opening.map(|at| first + at as u64);
        self.soft_is_untimed = opening.is_some();
    }

    pub fn waiting(&self) -> Option<Waiting> {
        if self.tools.iter().any(|&(_, from)| from >= self.tools_due_before) {
            Some(Waiting::Tool)
        } else if self.stop_from.is_some() {
            Some(Waiting::End)
        } else if !self.tools.is_empty() {
            Some(Waiting::Content)
        } else if self.soft_from.is_some() && !self.soft_is_untimed && !self.is_empty() {
            Some(Waiting::Preamble)
        } else {
            None
        }
    }
}
