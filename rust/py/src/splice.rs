//! Python face of the splice.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use seamstream_core::delta::{Counters, Failure, PartKind};
use seamstream_core::limits::Limits;
use seamstream_core::splice::{self as core, Options, Output, Phase, Plan, Reader, Resume, TypedEvent};
use seamstream_core::turn::{Part, Turn};

type ErrorTuple<'py> = (String, String, Option<u16>, String, Bound<'py, PyBytes>);
type SeamTuple = (usize, &'static str, &'static str, u32, bool);
type UsageTuple = (Option<u64>, Option<u64>, Option<u64>, Option<u64>);

/// The state machine that owns a run's bytes: feed, cut, resume, finish.
#[pyclass(module = "seamstream._core")]
pub(crate) struct Splice {
    core: core::Splice,
    typed: bool,
}

#[pymethods]
impl Splice {
    #[new]
    #[pyo3(signature = (dialect, *, reader = "bytes", hold_tools = true, hold_tools_bytes = 4096,
        max_event_bytes = 16_777_216, max_turn_bytes = 67_108_864, max_json_depth = 512, max_parts = 4096,
        choices = 1, done_is_end = false))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only options of the Python constructor")]
    fn new(
        dialect: &str,
        reader: &str,
        hold_tools: bool,
        hold_tools_bytes: usize,
        max_event_bytes: usize,
        max_turn_bytes: usize,
        max_json_depth: usize,
        max_parts: usize,
        choices: u32,
        done_is_end: bool,
    ) -> PyResult<Self> {
        let typed = match reader {
            "bytes" => false,
            "typed" => true,
            other => {
                return Err(PyValueError::new_err(format!(
                    "reader must be 'bytes' or 'typed', not {other:?}"
                )));
            }
        };
        let limits = Limits { max_event_bytes, max_turn_bytes, max_json_depth, max_parts, hold_tools_bytes };
        let reader = if typed { Reader::Typed } else { Reader::Bytes };
        let options = Options { reader, hold_tools, choices, done_is_end, limits };
        let core = core::Splice::new(dialect, options)
            .ok_or_else(|| PyValueError::new_err(format!("unknown dialect {dialect:?}")))?;
        Ok(Self { core, typed })
    }

    fn feed<'py>(&mut self, chunk: &Bound<'py, PyBytes>) -> Bound<'py, PyBytes> {
        match self.core.feed(chunk.as_bytes()) {
            Output::Same => chunk.clone(),
            Output::Bytes(bytes) => PyBytes::new(chunk.py(), &bytes),
        }
    }

    fn events<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let events = PyList::empty(py);
        for event in self.core.take_events() {
            events.append(event_tuple(py, event)?)?;
        }
        Ok(events)
    }

    #[getter]
    fn flags(&self) -> u32 {
        self.core.flags()
    }

    #[getter]
    fn waiting(&self) -> Option<&'static str> {
        self.core.waiting().map(seamstream_core::hold::Waiting::as_str)
    }

    #[getter]
    fn phase(&self) -> &'static str {
        match self.core.phase() {
            Phase::Start => "start",
            Phase::Text => "text",
            Phase::Quiet => "quiet",
        }
    }

    #[getter]
    fn progress(&self) -> u64 {
        self.core.progress()
    }

    #[getter]
    fn done(&self) -> bool {
        self.core.is_done()
    }

    #[getter]
    fn terminal_seen(&self) -> bool {
        self.core.terminal_seen()
    }

    #[getter]
    fn degraded(&self) -> Option<&str> {
        self.core.degraded()
    }

    #[getter]
    fn seam_refusal(&self) -> Option<&'static str> {
        self.core.seam_refusal()
    }

    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> Option<ErrorTuple<'py>> {
        self.core.failure().map(|failure| failure_tuple(py, failure))
    }

    fn expire<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.expire())
    }

    fn pending<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.pending())
    }

    fn degrade<'py>(&mut self, py: Python<'py>, reason: &str) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.degrade(reason))
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        snapshot(py, &self.core, self.typed)
    }

    fn cut<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.cut())
    }

    #[pyo3(signature = (plan, *, exact = false, quote = "", stripped = "", strict = true, stop = vec![], reason = ""))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only options of the Python method")]
    fn resume<'py>(
        &mut self,
        py: Python<'py>,
        plan: &str,
        exact: bool,
        quote: &str,
        stripped: &str,
        strict: bool,
        stop: Vec<String>,
        reason: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let plan = match plan {
            "R1" => Plan::Continue,
            "R3" => Plan::Truncate,
            "R4" => Plan::Restart,
            "native" => Plan::Native,
            other => {
                return Err(PyValueError::new_err(format!(
                    "plan must be R1, R3, R4 or native, not {other:?}"
                )));
            }
        };
        let resume = Resume {
            plan,
            exact,
            quote: quote.to_owned(),
            stripped: stripped.to_owned(),
            strict,
            stop,
            reason: reason.to_owned(),
        };
        Ok(PyBytes::new(py, &self.core.resume(&resume)))
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.finish())
    }

    fn synthesize_tool_use<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.synthesize_tool_use())
    }

    fn finish_length<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.finish_length())
    }

    fn fail<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.fail())
    }

    #[pyo3(signature = (error_type, message, status = None))]
    fn error_event<'py>(
        &self,
        py: Python<'py>,
        error_type: &str,
        message: &str,
        status: Option<u16>,
    ) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.core.error_event(error_type, message, status))
    }

    fn keepalive<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.core.keepalive())
    }

    fn expect_choices(&mut self, choices: u32) {
        self.core.expect_choices(choices);
    }

    fn was_replayed(&mut self) {
        self.core.was_replayed();
    }

    fn last_place(&self) -> Option<(String, u32, u32)> {
        self.core.last_place().map(|place| (place.event, place.item, place.inner))
    }

    fn read_parts(&self) -> Vec<(u32, &str, &str)> {
        self.core.read_parts().collect()
    }

    fn unsigned_thinking(&self) -> Vec<String> {
        self.core.unsigned().to_vec()
    }

    fn seams(&self) -> Vec<SeamTuple> {
        self.core
            .seams()
            .iter()
            .map(|seam| (seam.offset, seam.plan, seam.join, seam.attempt, seam.guessed_blanks))
            .collect()
    }

    fn usages(&self) -> Vec<UsageTuple> {
        self.core.turn().usages.iter().map(usage_tuple).collect()
    }

    fn _panic_after(&mut self, events: u64) {
        self.core.panic_after(events);
    }
}

fn usage_tuple(usage: &Counters) -> UsageTuple {
    (usage.input, usage.output, usage.cache_read, usage.cache_write)
}

fn failure_tuple<'py>(py: Python<'py>, failure: &Failure) -> ErrorTuple<'py> {
    let raw = PyBytes::new(py, &failure.raw);
    (failure.kind.clone(), failure.code.clone(), failure.status, failure.message.clone(), raw)
}

fn event_tuple(py: Python<'_>, event: TypedEvent) -> PyResult<Bound<'_, PyTuple>> {
    match event {
        TypedEvent::Text(text) => ("text", text).into_pyobject(py),
        TypedEvent::Reasoning(text) => ("reasoning", text).into_pyobject(py),
        TypedEvent::Refusal(text) => ("refusal", text).into_pyobject(py),
        TypedEvent::ToolStart { id, name } => ("tool_start", id, name).into_pyobject(py),
        TypedEvent::ToolDelta { id, arguments } => ("tool_delta", id, arguments).into_pyobject(py),
        TypedEvent::ToolReady { id, name, arguments } => {
            ("tool_ready", id, name, arguments).into_pyobject(py)
        }
        TypedEvent::ToolCancel { id, name, reason } => ("tool_cancel", id, name, reason).into_pyobject(py),
        TypedEvent::Reset { reason } => ("reset", reason).into_pyobject(py),
        TypedEvent::Seam { offset, join } => ("seam", offset, join).into_pyobject(py),
        TypedEvent::Usage => ("usage",).into_pyobject(py),
        TypedEvent::Finish { stop } => ("finish", stop).into_pyobject(py),
    }
}

fn snapshot<'py>(py: Python<'py>, core: &core::Splice, typed: bool) -> PyResult<Bound<'py, PyDict>> {
    let turn = core.turn();
    let stop = turn.stop_reason();
    let dict = PyDict::new(py);
    dict.set_item("attempt", core.streams())?;
    dict.set_item("text", turn.joined(PartKind::Text))?;
    dict.set_item("reasoning", turn.joined(PartKind::Reasoning))?;
    dict.set_item("refusal", turn.joined(PartKind::Refusal))?;
    dict.set_item("completed_tool_calls", complete_tools(py, turn)?)?;
    dict.set_item("in_flight_tools", open_tools(py, turn)?)?;
    let total = turn.total_usage();
    let complete = turn.usages.iter().all(|usage| usage.output.is_some());
    dict.set_item(
        "usage",
        (total.input, total.output, total.cache_read, total.cache_write, complete, false),
    )?;
    dict.set_item("stop_reason", stop.map(|(stop, _)| stop.as_str()))?;
    dict.set_item("raw_stop_reason", stop.map(|(_, raw)| raw))?;
    dict.set_item("terminal_seen", core.terminal_seen())?;
    dict.set_item("shown", shown(core, typed))?;
    dict.set_item("bytes_received", core.bytes_received())?;
    dict.set_item("content_deltas", turn.content_deltas)?;
    dict.set_item("choices", turn.choices)?;
    dict.set_item("server_items", core.server_items())?;
    let thinking: Vec<String> = turn.parts.iter().filter_map(signed_thinking).collect();
    dict.set_item("signed_thinking", PyTuple::new(py, thinking)?)?;
    dict.set_item("response_id", &turn.id)?;
    dict.set_item("model", &turn.model)?;
    dict.set_item("degraded", core.degraded())?;
    let point = core.resume_point().map(|point| (point.response, point.event, point.offset));
    dict.set_item("resume_point", point)?;
    dict.set_item("error", core.failure().map(|failure| failure_tuple(py, failure)))?;
    Ok(dict)
}

fn complete_tools<'py>(py: Python<'py>, turn: &Turn) -> PyResult<Bound<'py, PyTuple>> {
    let calls: Vec<_> = turn
        .parts
        .iter()
        .filter(|part| part.is_complete_tool())
        .map(|part| (&*part.id, &*part.name, part.final_arguments(), &*part.signature))
        .collect();
    PyTuple::new(py, calls)
}

fn open_tools<'py>(py: Python<'py>, turn: &Turn) -> PyResult<Bound<'py, PyTuple>> {
    let calls: Vec<_> = turn
        .parts
        .iter()
        .filter(|part| part.is_tool() && !part.is_complete_tool())
        .map(|part| (&*part.id, &*part.name, &*part.text))
        .collect();
    PyTuple::new(py, calls)
}

/// (anything, text characters, refusal, reasoning, tool, live tool, server item)
fn shown(core: &core::Splice, typed: bool) -> (bool, usize, bool, bool, bool, bool, bool) {
    let parts: Vec<&Part> = core.shown_parts().collect();
    let any = |kind: PartKind| parts.iter().any(|part| part.kind == kind && part.shown.bytes > 0);
    let characters = parts
        .iter()
        .filter(|part| part.kind == PartKind::Text)
        .map(|part| part.text[..part.shown.bytes].chars().count())
        .sum();
    let reasoning = parts.iter().any(|part| part.kind == PartKind::Reasoning);
    let tool = parts.iter().any(|part| part.is_tool());
    let live = parts.iter().any(|part| part.is_tool() && !part.is_complete_tool());
    let server = parts.iter().any(|part| part.kind == PartKind::Server);
    let anything = core.has_begun() || (typed && !parts.is_empty());
    (anything, characters, any(PartKind::Refusal), reasoning, tool, live, server)
}

/// A whole thinking block that may go back to the provider, as JSON.
fn signed_thinking(part: &Part) -> Option<String> {
    if part.kind != PartKind::Reasoning {
        return None;
    }
    if part.signature.is_empty() {
        let raw = std::str::from_utf8(&part.raw).ok()?;
        return raw.contains("\"redacted_thinking\"").then(|| raw.to_owned());
    }
    let mut out = b"{\"type\":\"thinking\",\"thinking\":".to_vec();
    seamstream_core::cursor::string_into(&part.text, &mut out);
    out.extend_from_slice(b",\"signature\":");
    seamstream_core::cursor::string_into(&part.signature, &mut out);
    out.push(b'}');
    String::from_utf8(out).ok()
}
