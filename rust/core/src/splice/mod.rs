//! The state machine that owns a run's bytes: feed, cut, resume, finish.
//!
//! Sans-IO, like h11: it never reads a socket or a clock. While nothing was cut what leaves is what came in, whole
//! events in order. After a cut that was visible to the reader, each further attempt is read into deltas and written
//! again under the first attempt's envelope.

mod closing;
mod deltas;
mod events;
mod facts;
mod feeding;
mod frames;
mod native;
mod outbox;
mod recover;
mod rewrite;
mod template;
mod unshown;
mod waiting;

pub use events::TypedEvent;
pub use native::ResumePoint;
pub use recover::{Plan, Resume};

use crate::delta::{Failure, Key, PartKind};
use crate::dialect::{self, Dialect};
use crate::frame::Framing;
use crate::hold::Hold;
use crate::limits::Limits;
use crate::seam::{Seam, StopWatch};
use crate::turn::{Effect, Turn};
use template::Template;

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
}
