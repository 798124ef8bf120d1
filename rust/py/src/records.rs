//! What the core knows, as tuples and dicts in the order that the package's records have.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use seamstream_core::delta::{Counters, Failure, PartKind};
use seamstream_core::splice::{self as core, TypedEvent};
use seamstream_core::turn::{Part, Turn};

pub(super) type ErrorTuple<'py> = (String, String, Option<u16>, String, Bound<'py, PyBytes>);

pub(super) type SeamTuple = (usize, &'static str, &'static str, u32, bool);

pub(super) type UsageTuple = (Option<u64>, Option<u64>, Option<u64>, Option<u64>);

pub(super) fn usage_tuple(usage: &Counters) -> UsageTuple {
    (usage.input, usage.output, usage.cache_read, usage.cache_write)
}

pub(super) fn failure_tuple<'py>(py: Python<'py>, failure: &Failure) -> ErrorTuple<'py> {
    let raw = PyBytes::new(py, &failure.raw);
    (failure.kind.clone(), failure.code.clone(), failure.status, failure.message.clone(), raw)
}

pub(super) fn event_tuple(py: Python<'_>, event: TypedEvent) -> PyResult<Bound<'_, PyTuple>> {
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

pub(super) fn snapshot<'py>(
    py: Python<'py>,
    core: &core::Splice,
    typed: bool,
) -> PyResult<Bound<'py, PyDict>> {
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
