//! Gemini Interactions: numbered steps between `interaction.created` and `interaction.completed`, then `[DONE]`.
//! The older revision calls its steps contents; what the provider wrote is what is written.

use std::borrow::Cow;

use super::gemini::status_of;
use super::interactions_marks::Marks;
use super::objects::members;
use super::{Dialect, Follows, Place};
use crate::cursor::{Cursor, string_into};
use crate::delta::{Counters, Delta, Failure, Key, PartKind, Stop};
use crate::frame::{Frame, FrameKind, Framing};
use crate::sse::SseFraming;
use crate::turn::{Change, Part, Turn};

/// Reading and writing state of one stream.
#[derive(Debug, Default)]
pub struct Interactions {
    /// Raw values that name the interaction; every written event repeats them where they belong.
    id: Vec<u8>,
    model: Vec<u8>,
    /// The provider speaks of `content.*` and `interaction.complete`.
    older: bool,
    marks: Marks,
}

/// The members of an event that matter here, in whatever order they came.
#[derive(Default)]
struct Event<'a> {
    kind: Cow<'a, str>,
    id: Cow<'a, str>,
    index: Option<u64>,
    interaction: &'a [u8],
    step: &'a [u8],
    delta: &'a [u8],
    error: &'a [u8],
}

impl Event<'_> {
    fn starts(&self) -> bool {
        matches!(self.kind.as_ref(), "step.start" | "content.start")
    }
}

#[derive(Default)]
struct Interaction<'a> {
    id: &'a [u8],
    model: &'a [u8],
    status: Cow<'a, str>,
    usage: &'a [u8],
    error: &'a [u8],
}

#[derive(Default)]
struct Step<'a> {
    kind: Cow<'a, str>,
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    arguments: &'a [u8],
    text: Option<Cow<'a, str>>,
    signature: Option<Cow<'a, str>>,
}

impl Dialect for Interactions {
    fn framing(&self, max_event_bytes: usize) -> Box<dyn Framing> {
        Box::new(SseFraming::new(max_event_bytes))
    }

    fn read<'a>(&mut self, frame: &'a Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let data = frame.data.trim_ascii();
        match data.first() {
            None => deltas.push(Delta::Keepalive),
            _ if data == b"[DONE]" => deltas.push(Delta::End),
            Some(b'{') => self.read_event(data, frame, deltas),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn next_attempt(&mut self, _rewriting: bool) {
        self.marks = Marks::default();
    }

    fn resume_point(&self) -> (String, Option<String>) {
        (self.marks.interaction.clone(), self.marks.last())
    }

    fn last_place(&self) -> Option<Place> {
        self.marks.place.clone()
    }

    fn resumed(&mut self) {
        self.marks.resumed();
    }

    fn follows(&mut self, frame: &Frame<'_>) -> Follows {
        match parse(frame.data.trim_ascii()) {
            Some(event) if event.error.is_empty() => {
                self.marks.follows(&event.id, event.index, event.starts())
            }
            _ => Follows::Next,
        }
    }

    fn numbers(&self, _kind: PartKind) -> bool {
        true
    }

    fn write_change(&mut self, part: &Part, change: Change, _begun: bool, out: &mut Vec<u8>) {
        let index = part.out_index;
        let noun = if self.older { "content" } else { "step" };
        match change {
            Change::Opened => {
                begin(&format!("{noun}.start"), out);
                out.extend_from_slice(format!(",\"index\":{index},\"{noun}\":").as_bytes());
                self.write_step(part, out);
                out.extend_from_slice(b"}\n\n");
            }
            Change::Text { from, to } => self.write_delta(part, &part.text[from..to], out),
            Change::Replaced => self.write_delta(part, &part.text, out),
            Change::Signature { from, to } if part.kind == PartKind::Reasoning => {
                self.begin_delta(index, out);
                out.extend_from_slice(b"{\"type\":\"thought_signature\",\"signature\":");
                string_into(&part.signature[from..to], out);
                out.extend_from_slice(b"}}\n\n");
            }
            Change::Signature { .. } | Change::ClosedAsIs => {}
            Change::Closed => {
                begin(&format!("{noun}.stop"), out);
                out.extend_from_slice(format!(",\"index\":{index}}}\n\n").as_bytes());
            }
        }
    }

    fn write_raw(&mut self, part: &Part, raw: &[u8], out: &mut Vec<u8>) {
        self.begin_delta(part.out_index, out);
        out.extend_from_slice(raw);
        out.extend_from_slice(b"}\n\n");
    }

    fn write_stop(&mut self, turn: &Turn, _choice: u32, stop: Stop, raw: &str, out: &mut Vec<u8>) {
        begin(if self.older { "interaction.complete" } else { "interaction.completed" }, out);
        out.extend_from_slice(b",\"interaction\":{");
        for (name, raw) in [("id", &self.id), ("model", &self.model)] {
            if !raw.is_empty() {
                out.extend_from_slice(format!("\"{name}\":").as_bytes());
                out.extend_from_slice(raw);
                out.push(b',');
            }
        }
        out.extend_from_slice(b"\"status\":");
        string_into(if raw.is_empty() { status(stop) } else { raw }, out);
        let usage = turn.total_usage();
        if let Some(output) = usage.output {
            let input = usage.input.unwrap_or(0);
            out.extend_from_slice(
                format!(
                    ",\"usage\":{{\"total_input_tokens\":{input},\"total_output_tokens\":{output},\"total_tokens\":{}}}",
                    input.saturating_add(output)
                )
                .as_bytes(),
            );
        }
        out.extend_from_slice(b",\"object\":\"interaction\"}}\n\n");
    }

    fn write_end(&mut self, _turn: &Turn, _usage: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(b"event: done\ndata: [DONE]\n\n");
    }

    fn write_error(&self, kind: &str, message: &str, _status: Option<u16>, out: &mut Vec<u8>) {
        begin("error", out);
        out.extend_from_slice(b",\"error\":{\"code\":");
        string_into(kind, out);
        out.extend_from_slice(b",\"message\":");
        string_into(message, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn keepalive(&self, _ids_seen: bool) -> &'static [u8] {
        b": keep-alive\n\n"
    }
}

impl Interactions {
    fn read_event<'a>(&mut self, data: &'a [u8], frame: &Frame<'_>, deltas: &mut Vec<Delta<'a>>) {
        let Some(event) = parse(data) else {
            deltas.push(Delta::Opaque);
            return;
        };
        if event.error.first() == Some(&b'{') {
            deltas.push(Delta::Failure(read_error(event.error)));
            return;
        }
        if frame.kind == FrameKind::Unknown {
            deltas.push(Delta::Opaque);
            return;
        }
        self.marks.saw(&event.id, event.index.filter(|_| event.starts()));
        self.marks.note(&event.kind, event.index);
        let key = Key { choice: 0, slot: u32::try_from(event.index.unwrap_or(0)).unwrap_or(u32::MAX) };
        match event.kind.as_ref() {
            "interaction.created" | "interaction.start" => self.begin(&event, deltas),
            "interaction.completed" | "interaction.complete" => read_end(event.interaction, deltas),
            "step.start" | "content.start" => read_start(key, event.step, deltas),
            "step.delta" | "content.delta" => read_delta(key, event.delta, deltas),
            "step.stop" | "content.stop" => deltas.push(Delta::Close { key }),
            _ => deltas.push(Delta::Opaque),
        }
    }

    fn begin<'a>(&mut self, event: &Event<'a>, deltas: &mut Vec<Delta<'a>>) {
        let interaction = parse_interaction(event.interaction);
        self.marks.interaction = Cursor::new(interaction.id).string().unwrap_or_default().into_owned();
        if self.id.is_empty() {
            interaction.id.clone_into(&mut self.id);
            interaction.model.clone_into(&mut self.model);
            self.older = event.kind == "interaction.start";
        }
        let text = |raw: &'a [u8]| Cursor::new(raw).string().unwrap_or_default();
        deltas.push(Delta::Begin { id: text(interaction.id), model: text(interaction.model) });
    }

    fn begin_delta(&self, index: u32, out: &mut Vec<u8>) {
        begin(if self.older { "content.delta" } else { "step.delta" }, out);
        out.extend_from_slice(format!(",\"index\":{index},\"delta\":").as_bytes());
    }

    fn write_delta(&self, part: &Part, text: &str, out: &mut Vec<u8>) {
        self.begin_delta(part.out_index, out);
        let (before, after): (&[u8], &[u8]) = match part.kind {
            PartKind::Reasoning => {
                (b"{\"type\":\"thought_summary\",\"content\":{\"type\":\"text\",\"text\":", b"}}}\n\n")
            }
            PartKind::Tool => (b"{\"type\":\"arguments_delta\",\"arguments\":", b"}}\n\n"),
            _ => (b"{\"type\":\"text\",\"text\":", b"}}\n\n"),
        };
        out.extend_from_slice(before);
        string_into(text, out);
        out.extend_from_slice(after);
    }

    fn write_step(&self, part: &Part, out: &mut Vec<u8>) {
        match part.kind {
            PartKind::Text | PartKind::Refusal if self.older => out.extend_from_slice(b"{\"type\":\"text\"}"),
            PartKind::Text | PartKind::Refusal => out.extend_from_slice(b"{\"type\":\"model_output\"}"),
            PartKind::Reasoning => out.extend_from_slice(b"{\"type\":\"thought\"}"),
            PartKind::Tool => {
                out.extend_from_slice(b"{\"type\":\"function_call\",\"id\":");
                string_into(&part.id, out);
                out.extend_from_slice(b",\"name\":");
                string_into(&part.name, out);
                out.extend_from_slice(b",\"arguments\":{}");
                if !part.signature.is_empty() {
                    out.extend_from_slice(b",\"signature\":");
                    string_into(&part.signature, out);
                }
                out.push(b'}');
            }
            _ => out.extend_from_slice(&part.raw),
        }
    }
}

fn parse(data: &[u8]) -> Option<Event<'_>> {
    let mut event = Event::default();
    let whole = members(data, |key, cursor| match key {
        b"event_type" => event.kind = cursor.string().unwrap_or_default(),
        b"event_id" => event.id = cursor.string().unwrap_or_default(),
        b"index" => event.index = cursor.unsigned(),
        b"interaction" => event.interaction = cursor.skip(),
        b"step" | b"content" => event.step = cursor.skip(),
        b"delta" => event.delta = cursor.skip(),
        b"error" => event.error = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    whole.then_some(event)
}

fn parse_interaction(raw: &[u8]) -> Interaction<'_> {
    let mut interaction = Interaction::default();
    members(raw, |key, cursor| match key {
        b"id" => interaction.id = cursor.skip(),
        b"model" => interaction.model = cursor.skip(),
        b"status" => interaction.status = cursor.string().unwrap_or_default(),
        b"usage" => interaction.usage = cursor.skip(),
        b"error" => interaction.error = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    interaction
}

/// The proof of the end says how it ended.
fn read_end<'a>(raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let interaction = parse_interaction(raw);
    if let Some(counters) = read_usage(interaction.usage) {
        deltas.push(Delta::Usage(counters));
    }
    if interaction.status == "failed" {
        let mut failure = read_error(interaction.error);
        if failure.kind.is_empty() {
            "failed".clone_into(&mut failure.kind);
        }
        deltas.push(Delta::Failure(failure));
    } else {
        let raw = interaction.status;
        deltas.push(Delta::Stop { choice: 0, stop: normalise(&raw), raw });
    }
}

fn parse_step(raw: &[u8]) -> Step<'_> {
    let mut step = Step::default();
    members(raw, |key, cursor| match key {
        b"type" => step.kind = cursor.string().unwrap_or_default(),
        b"id" => step.id = cursor.string().unwrap_or_default(),
        b"name" => step.name = cursor.string().unwrap_or_default(),
        b"arguments" => step.arguments = cursor.skip(),
        b"text" => step.text = cursor.filled_string(),
        b"signature" => step.signature = cursor.filled_string(),
        _ => {
            cursor.skip();
        }
    });
    step
}

fn read_start<'a>(key: Key, raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let step = parse_step(raw);
    let kind = step_kind(&step.kind);
    let result = step.kind.ends_with("_result");
    let id = if kind == PartKind::Server { server_id(result) } else { step.id };
    deltas.push(Delta::Open { key, kind, index: key.slot, id, name: step.name, raw });
    if let (Some(text), true) = (step.text, matches!(kind, PartKind::Text | PartKind::Reasoning)) {
        deltas.push(Delta::Text { key, kind, text });
    }
    if let Some(text) = step.signature {
        deltas.push(Delta::Signature { key, text });
    }
    push_arguments(key, kind, step.arguments, deltas);
}

/// A server-side call has an id until its result comes.
fn server_id(result: bool) -> Cow<'static, str> {
    Cow::Borrowed(if result { "" } else { "server" })
}

fn step_kind(kind: &str) -> PartKind {
    match kind {
        "model_output" | "text" => PartKind::Text,
        "thought" => PartKind::Reasoning,
        "function_call" => PartKind::Tool,
        other if other.ends_with("_call") || other.ends_with("_result") => PartKind::Server,
        _ => PartKind::Other,
    }
}

fn push_arguments(key: Key, kind: PartKind, raw: &[u8], deltas: &mut Vec<Delta<'_>>) {
    if kind == PartKind::Tool && raw.first() == Some(&b'{') && raw.trim_ascii() != b"{}" {
        deltas.push(Delta::ReplaceArguments { key, text: String::from_utf8_lossy(raw).into_owned() });
    }
}

fn read_delta<'a>(key: Key, raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let mut content: &[u8] = b"";
    let mut step = Step::default();
    members(raw, |member, cursor| match member {
        b"type" => step.kind = cursor.string().unwrap_or_default(),
        b"text" => step.text = cursor.string(),
        b"signature" => step.signature = cursor.string(),
        b"arguments" => step.arguments = cursor.skip(),
        b"content" => content = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    deltas.push(match step.kind.as_ref() {
        "text" => Delta::Text { key, kind: PartKind::Text, text: step.text.unwrap_or_default() },
        "thought_summary" => {
            let text = parse_step(content).text.or(step.text).unwrap_or_default();
            Delta::Text { key, kind: PartKind::Reasoning, text }
        }
        "thought_signature" => Delta::Signature { key, text: step.signature.unwrap_or_default() },
        "arguments_delta" if step.arguments.first() == Some(&b'"') => {
            Delta::Arguments { key, text: Cursor::new(step.arguments).string().unwrap_or_default() }
        }
        "arguments_delta" | "function_call" if step.arguments.first() == Some(&b'{') => {
            Delta::ReplaceArguments { key, text: String::from_utf8_lossy(step.arguments).into_owned() }
        }
        _ => Delta::Raw { key, raw, closes: false },
    });
}

/// Thoughts are output too.
fn read_usage(raw: &[u8]) -> Option<Counters> {
    let (mut counters, mut thoughts) = (Counters::default(), None);
    members(raw, |key, cursor| match key {
        b"total_input_tokens" => counters.input = cursor.unsigned(),
        b"total_output_tokens" => counters.output = cursor.unsigned(),
        b"total_cached_tokens" => counters.cache_read = cursor.unsigned(),
        b"total_thought_tokens" => thoughts = cursor.unsigned(),
        _ => {
            cursor.skip();
        }
    });
    if let Some(thoughts) = thoughts {
        counters.output = Some(counters.output.unwrap_or(0).saturating_add(thoughts));
    }
    (!counters.is_empty()).then_some(counters)
}

/// Codes are names here; gateways put the number of `generateContent` there.
fn read_error(raw: &[u8]) -> Failure {
    let (mut failure, mut code) = (Failure::default(), b"".as_slice());
    members(raw, |key, cursor| match key {
        b"code" => code = cursor.skip(),
        b"message" => failure.message = cursor.string().unwrap_or_default().into_owned(),
        b"status" => failure.kind = cursor.string().unwrap_or_default().into_owned(),
        _ => {
            cursor.skip();
        }
    });
    if let Some(name) = Cursor::new(code).string() {
        failure.kind = name.into_owned();
    }
    failure.code.clone_from(&failure.kind);
    let number = std::str::from_utf8(code).ok().and_then(|digits| digits.parse().ok());
    failure.status = number.or_else(|| status_of(&failure.kind.to_uppercase()));
    failure
}

fn normalise(status: &str) -> Stop {
    match status {
        "completed" => Stop::EndTurn,
        "requires_action" => Stop::ToolUse,
        "incomplete" => Stop::MaxTokens,
        "requires_continuation" => Stop::Pause,
        _ => Stop::Other,
    }
}

fn status(stop: Stop) -> &'static str {
    match stop {
        Stop::ToolUse => "requires_action",
        Stop::MaxTokens => "incomplete",
        Stop::Pause => "requires_continuation",
        _ => "completed",
    }
}

/// `event:` line and the start of its data; every event needs both.
fn begin(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("event: {kind}\ndata: {{\"event_type\":\"{kind}\"").as_bytes());
}
