//! Python face of the splice.

use crate::records::{ErrorTuple, SeamTuple, UsageTuple, event_tuple, failure_tuple, snapshot, usage_tuple};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use seamstream_core::limits::Limits;
use seamstream_core::splice::{self as core, Options, Output, Phase, Plan, Reader, Resume};

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

    fn read_parts(&self) -> Vec<((u32, u32), &str, &str)> {
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
