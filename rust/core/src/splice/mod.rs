//! The state machine that owns a run's bytes: feed, cut, resume, finish.
//!
//! Sans-IO, like h11: it never reads a socket or a clock. While nothing was cut what leaves is what came in, whole
//! events in order. After a cut that was visible to the reader, each further attempt is read into deltas and written
//! again under the first attempt's envelope.

mod events;
mod native;
mod outbox;
mod recover;
mod rewrite;
mod template;

pub use events::TypedEvent;
pub use native::ResumePoint;
pub use recover::{Plan, Resume};

use std::borrow::Cow;

use crate::delta::{Delta, Failure, Key, PartKind, Stop};
use crate::dialect::{self, Dialect};
use crate::frame::{Frame, FrameKind, Framing};
use crate::hold::{Hold, Waiting};
use crate::limits::Limits;
use crate::seam::{Seam, StopWatch};
use crate::turn::{Effect, LimitPassed, Turn};
use outbox::Outbox;
use template::Template;

/// A provider whose events never repeat their form is not asked again.
const MOST_UNUSED: u8 = 32;

/// Who reads: the provider's own protocol, or seamstream's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Bytes,
    Typed,
}

/// What a run is made with.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub reader: Reader,
    pub hold_tools: bool,
    pub choices: u32,
    pub done_is_end: bool,
    pub limits: Limits,
}

/// What a feed gives back.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// Exactly the bytes that were fed.
    Same,
    Bytes(Vec<u8>),
}

/// Where the stream stands, for the choice of the idle limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Start,
    Text,
    Quiet,
}

/// A seam as it was made.
#[derive(Clone, Debug)]
pub struct SeamMade {
    /// Characters of text before it.
    pub offset: usize,
    pub plan: &'static str,
    pub join: &'static str,
    /// The attempt that begins here.
    pub attempt: u32,
    pub guessed_blanks: bool,
}

/// See the module's documentation.
pub struct Splice {
    dialect: Box<dyn Dialect>,
    framing: Box<dyn Framing>,
    options: Options,
    pub(crate) turn: Turn,
    hold: Hold,
    /// The half event at the end of what was received.
    tail: Vec<u8>,
    effects: Vec<Effect>,
    events: Vec<TypedEvent>,
    /// Attempts after a visible cut are written anew.
    rewriting: bool,
    /// The message's envelope has left.
    begun: bool,
    /// The dialect's mark before the frame at hand; after a cut that of everything received.
    mark: u64,
    /// Number of the next part on the reader's wire, where parts are numbered.
    next_index: u32,
    /// The same, but only parts that had left by the last cut count.
    settled_index: u32,
    seam: Option<Seam>,
    watch: Option<StopWatch>,
    plan: Plan,
    /// The part that a continuation's text goes on in.
    target: Option<usize>,
    /// Key and kind under which the continuation's text arrives and is kept.
    seam_key: Key,
    seam_kind: PartKind,
    /// A stop sequence straddled the seam: the answer ends here.
    stopped_here: bool,
    stop_written: bool,
    seams: Vec<SeamMade>,
    seam_refusal: Option<&'static str>,
    failure: Option<Failure>,
    /// The end event came without a stop reason.
    early_end: bool,
    /// An error came after the stop reason: the answer is complete, its end is still to be written.
    error_after_stop: bool,
    ids_seen: bool,
    /// Reasoning that was closed for the reader before its provider had signed it.
    unsigned: Vec<String>,
    done: bool,
    degraded: Option<String>,
    /// Raw deltas of the frame at hand, for rewriting.
    raw_deltas: Vec<(usize, Vec<u8>)>,
    progress: u64,
    progressed: bool,
    bytes_received: u64,
    phase: Phase,
    server_items: Vec<(String, bool)>,
    cut: native::Cut,
    /// This stream takes up the response of the one before.
    native: bool,
    resumptions: u32,
    /// What was read so far is no server's stream.
    replayed: bool,
    /// Where the response at hand began among the bytes received.
    stream_start: u64,
    skips_line_ends: bool,
    panic_after: Option<u64>,
    template: Option<Template>,
    /// Forms learnt in a row that no event had again.
    unused_templates: u8,
}

impl Splice {
    /// `None` when the dialect is not known.
    pub fn new(name: &str, options: Options) -> Option<Self> {
        Some(Self::with_dialect(dialect::by_name(name)?, options))
    }

    /// For dialects that are not built in.
    pub fn with_dialect(dialect: Box<dyn Dialect>, options: Options) -> Self {
        let framing = dialect.framing(options.limits.max_event_bytes);
        let mut turn = Turn::new(options.limits);
        turn.choices = options.choices.max(1);
        Self {
            dialect,
            framing,
            turn,
            hold: Hold::new(options.hold_tools, options.limits.hold_tools_bytes),
            options,
            tail: Vec::new(),
            effects: Vec::new(),
            events: Vec::new(),
            rewriting: false,
            begun: false,
            next_index: 0,
            mark: 0,
            settled_index: 0,
            seam: None,
            watch: None,
            plan: Plan::Continue,
            target: None,
            seam_key: Key { choice: 0, slot: u32::MAX },
            seam_kind: PartKind::Text,
            stopped_here: false,
            stop_written: false,
            seams: Vec::new(),
            seam_refusal: None,
            failure: None,
            early_end: false,
            error_after_stop: false,
            ids_seen: false,
            unsigned: Vec::new(),
            done: false,
            degraded: None,
            raw_deltas: Vec::new(),
            progress: 0,
            progressed: false,
            bytes_received: 0,
            phase: Phase::Start,
            server_items: Vec::new(),
            cut: native::Cut::default(),
            native: false,
            resumptions: 0,
            replayed: false,
            stream_start: 0,
            skips_line_ends: false,
            panic_after: None,
            template: None,
            unused_templates: 0,
        }
    }

    /// Gives received bytes; returns what may go to the reader now. An event above the limit ends the attempt with a
    /// failure of kind `frame_too_large`; what came before it leaves as usual.
    pub fn feed(&mut self, chunk: &[u8]) -> Output {
        self.bytes_received += chunk.len() as u64;
        self.progressed = false;
        if self.degraded.is_some() {
            return Output::Same;
        }
        if self.done || self.must_end() {
            let kept =
                if self.must_end() || self.rewriting { 0 } else { self.framing.belongs_to_last(chunk) };
            return Output::Bytes(chunk[..kept].to_vec());
        }
        let skipped = self.skipped_line_ends(chunk);
        if skipped > 0 {
            return match self.feed_on(&chunk[skipped..]) {
                Output::Same => Output::Bytes(chunk[skipped..].to_vec()),
                output @ Output::Bytes(_) => output,
            };
        }
        self.feed_on(chunk)
    }

    fn feed_on(&mut self, chunk: &[u8]) -> Output {
        if self.tail.is_empty() {
            let mut outbox = Outbox::new(chunk);
            let used = self.consume(&mut outbox);
            if !self.is_over() {
                self.tail.extend_from_slice(&chunk[used..]);
            }
            return outbox.finish(used, true);
        }
        let mut buffer = std::mem::take(&mut self.tail);
        buffer.extend_from_slice(chunk);
        let mut outbox = Outbox::new(&buffer);
        let used = self.consume(&mut outbox);
        let output = outbox.finish(used, false);
        if !self.is_over() {
            buffer.drain(..used);
            self.tail = buffer;
        }
        output
    }

    /// Nothing more of this attempt will be looked at.
    fn is_over(&self) -> bool {
        self.degraded.is_some() || self.done || self.must_end()
    }

    /// Takes whole frames; returns how many bytes were used (all of them once the run is degraded).
    fn consume(&mut self, outbox: &mut Outbox<'_>) -> usize {
        let input = outbox.input();
        let mut used = 0;
        while !self.is_over() {
            if let Some(length) = self.take_by_template(&input[used..]) {
                if self.options.reader == Reader::Bytes {
                    outbox.pass(used, used + length);
                }
                used += length;
                continue;
            }
            let frame = match self.framing.next(&input[used..]) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => {
                    self.fail_with("frame_too_large", "max_event_bytes", error.to_string());
                    break;
                }
            };
            let start = used;
            used += frame.len;
            self.take_frame(&frame, &input[start..used], outbox, start);
            if self.degraded.is_some() {
                outbox.pass(start, input.len());
                used = input.len();
            }
        }
        used
    }

    /// The event at the start of `input`, if it is text in the form of the last one and nothing waits.
    fn take_by_template(&mut self, input: &[u8]) -> Option<usize> {
        let template = self.template.as_ref()?;
        if !self.framing.may_skip() || self.panic_after.is_some() {
            return None;
        }
        let (length, text) = template.read(input)?;
        self.unused_templates = 0;
        if length > self.options.limits.max_event_bytes || !self.turn.has_room(text.len()) {
            return None;
        }
        self.turn.append_known(template.part, &text);
        if self.options.reader == Reader::Typed {
            self.events.push(events::text_event(template.kind, text.into_owned())?);
        }
        self.framing.skipped();
        self.progress += 1;
        self.progressed = true;
        Some(length)
    }

    /// Remembers the form of an event that was one piece of text and passed at once.
    fn learn_template(&mut self, learnt: Option<(Key, PartKind, Template)>) {
        let steady = !self.rewriting && self.seam.is_none() && self.watch.is_none() && self.target.is_none();
        let idle = self.options.reader == Reader::Typed || self.hold.is_idle();
        let (Some((key, kind, mut template)), true) = (learnt, steady && idle && !self.terminal_seen())
        else {
            return;
        };
        let Some(part) = self.turn.find(key) else { return };
        template.part = part;
        let blank = self.turn.parts[part].is_blank() && kind != PartKind::Reasoning;
        self.template = (!blank && key.choice == 0).then_some(template);
        self.unused_templates = self.unused_templates.saturating_add(1);
    }

    fn fail_with(&mut self, kind: &str, code: &str, message: String) {
        self.failure =
            Some(Failure { kind: kind.to_owned(), code: code.to_owned(), message, ..Failure::default() });
    }

    fn take_frame(&mut self, frame: &Frame<'_>, raw: &[u8], outbox: &mut Outbox<'_>, at: usize) {
        self.maybe_panic();
        self.ids_seen |= frame.has_id;
        match frame.kind {
            FrameKind::Silent => return self.take_silent(raw, outbox, at),
            FrameKind::Corrupt => {
                let message = "a frame's checksum or length is wrong".to_owned();
                return self.fail_with("malformed_frame", "checksum", message);
            }
            FrameKind::Event | FrameKind::Failure | FrameKind::Unknown => {}
        }
        if self.native && self.is_known(frame) {
            return;
        }
        self.mark = self.dialect.mark();
        let mut deltas = Vec::new();
        self.dialect.read(frame, &mut deltas);
        if deltas.iter().all(|delta| matches!(delta, Delta::Keepalive)) {
            self.take_keepalive(raw, outbox, at);
            return;
        }
        self.progress += 1;
        self.progressed = true;
        self.effects.clear();
        self.raw_deltas.clear();
        self.template = None;
        let learnt = match deltas.as_slice() {
            [Delta::Text { key, kind, text: Cow::Borrowed(text) }] if self.unused_templates < MOST_UNUSED => {
                Template::learn(raw, text, 0, *kind).map(|template| (*key, *kind, template))
            }
            _ => None,
        };
        for delta in deltas {
            if let Err(LimitPassed(limit)) = self.take_delta(delta, raw) {
                self.pass_limit(limit, outbox);
                return;
            }
            if self.must_end() {
                return;
            }
        }
        self.note_events();
        if self.options.reader == Reader::Typed {
            self.done |= self.turn.ended;
        } else if self.rewriting {
            let bytes = self.rewrite();
            self.settle(None, &bytes, outbox);
        } else {
            self.settle(Some(at), raw, outbox);
        }
        self.learn_template(learnt);
    }

    /// Keep-alives do not wait behind held events, once the message has begun; blank lines keep their place. Those of
    /// another attempt do not pass where readers break on them.
    fn take_silent(&mut self, raw: &[u8], outbox: &mut Outbox<'_>, at: usize) {
        let separator = raw.iter().all(u8::is_ascii_whitespace);
        let unbearable = separator || self.dialect.keepalive(self.ids_seen).is_empty();
        if self.options.reader == Reader::Typed || (self.rewriting && unbearable) {
            return;
        }
        if self.hold.is_empty() || (self.begun && !separator) {
            outbox.pass(at, at + raw.len());
        } else {
            self.hold.push(raw, Vec::new(), true, self.dialect.mark());
        }
    }

    fn take_keepalive(&mut self, raw: &[u8], outbox: &mut Outbox<'_>, at: usize) {
        if !self.dialect.numbers_keepalives() {
            self.take_silent(raw, outbox, at);
        } else if self.options.reader == Reader::Bytes && !self.rewriting {
            self.effects.clear();
            self.settle(Some(at), raw, outbox);
        }
    }

    /// Queues or passes one event and releases whatever may leave now.
    fn settle(&mut self, at: Option<usize>, bytes: &[u8], outbox: &mut Outbox<'_>) {
        let effects = std::mem::take(&mut self.effects);
        self.hold.note(&mut self.turn, &effects);
        if self.hold.lets_pass() {
            self.hold.passed();
            self.begun |= !bytes.is_empty();
            match at {
                Some(at) => outbox.pass(at, at + bytes.len()),
                None => outbox.push(bytes),
            }
            self.effects = effects;
        } else {
            self.hold.push(bytes, effects, bytes.is_empty(), self.mark);
            self.begun |= outbox.push_with(|out| self.hold.release(out));
        }
        self.done |= self.turn.ended;
    }

    fn take_delta(&mut self, delta: Delta<'_>, raw: &[u8]) -> Result<(), LimitPassed> {
        self.note_phase(&delta);
        match delta {
            Delta::Failure(mut failure) => {
                if self.turn.is_stopped() {
                    self.error_after_stop = true; // a stop reason already seen means done
                    return Ok(());
                }
                raw.clone_into(&mut failure.raw);
                self.failure = Some(failure);
                Ok(())
            }
            Delta::Stop { stop: Stop::Abnormal, raw: reason, .. } => {
                self.failure = Some(Failure {
                    kind: "abnormal_stop".to_owned(),
                    code: reason.clone().into_owned(),
                    status: None,
                    message: format!("the provider ended the answer with {reason:?}"),
                    raw: raw.to_vec(),
                });
                Ok(())
            }
            Delta::End if !self.turn.is_stopped() && !self.options.done_is_end => {
                self.early_end = true;
                Ok(())
            }
            Delta::Raw { key, raw, closes } => {
                if let (true, Some(part)) = (self.rewriting, self.turn.find(key)) {
                    self.raw_deltas.push((part, raw.to_vec()));
                }
                if closes {
                    self.turn.close_as_is(key, &mut self.effects);
                }
                Ok(())
            }
            delta => self.take_content(&delta),
        }
    }

    fn take_content(&mut self, delta: &Delta<'_>) -> Result<(), LimitPassed> {
        if self.seam.is_some() || self.watch.is_some() {
            return self.take_at_seam(delta);
        }
        if let (Delta::Text { key, kind, .. } | Delta::Open { key, kind, .. }, Some(target)) =
            (delta, self.target)
            && matches!(kind, PartKind::Text | PartKind::Refusal)
            && self.turn.find(*key).is_none()
        {
            self.adopt(target, *key);
            if matches!(delta, Delta::Open { .. }) {
                return Ok(());
            }
        }
        self.turn.apply(delta, &mut self.effects)
    }

    /// From now on the continuation's part with that key is the part that was cut.
    fn adopt(&mut self, target: usize, key: Key) {
        let attempt = self.turn.attempt();
        let part = &mut self.turn.parts[target];
        part.key = key;
        part.attempt = attempt;
        part.closed = false;
        self.target = None;
    }

    fn note_phase(&mut self, delta: &Delta<'_>) {
        match delta {
            Delta::Text { kind: PartKind::Reasoning, .. } | Delta::Arguments { .. } => {
                self.phase = Phase::Quiet;
            }
            Delta::Text { text, .. } if !text.trim().is_empty() || self.phase == Phase::Quiet => {
                self.phase = Phase::Text;
            }
            Delta::Open { kind: PartKind::Text, .. } => {}
            Delta::Open { kind, id, .. } => {
                self.phase = Phase::Quiet;
                if *kind == PartKind::Server {
                    self.note_server_item(id);
                }
            }
            _ => {}
        }
    }

    /// A server-side call is open until an item that is not a call follows it.
    fn note_server_item(&mut self, id: &str) {
        if id.is_empty()
            && let Some(open) = self.server_items.iter_mut().find(|item| item.1)
        {
            open.1 = false;
            return;
        }
        self.server_items.push((id.to_owned(), !id.is_empty()));
    }

    /// A passed limit: a healthy stream goes on verbatim, a spliced one cannot.
    fn pass_limit(&mut self, limit: &'static str, outbox: &mut Outbox<'_>) {
        if self.rewriting || self.options.reader == Reader::Typed {
            self.fail_with("seamstream_limit", limit, format!("the run passed {limit}"));
        } else {
            outbox.push_with(|out| self.hold.release_all(out));
            self.degraded = Some(limit.to_owned());
        }
    }

    fn wants_cut(&self) -> bool {
        self.failure.is_some() || self.early_end || self.error_after_stop || self.stopped_here
    }

    /// The attempt has to end now, although its connection may be fine.
    pub fn must_end(&self) -> bool {
        self.wants_cut() || self.seam_refusal.is_some()
    }

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

    fn maybe_panic(&mut self) {
        if let Some(left) = self.panic_after.as_mut() {
            assert!(*left > 0, "a panic that a test asked for");
            *left -= 1;
        }
    }
}
