//! `JsonScanner` for Python.

use pyo3::prelude::*;
use pyo3::types::PyString;
use seamstream_core::json::{JsonScanner as Core, JsonState};

#[pyclass(module = "seamstream._core")]
pub(crate) struct JsonScanner(Core);

#[pymethods]
impl JsonScanner {
    #[new]
    #[pyo3(signature = (*, max_depth = 512))]
    fn new(max_depth: usize) -> Self {
        Self(Core::new(max_depth))
    }

    fn push<'py>(&mut self, py: Python<'py>, data: &[u8]) -> &Bound<'py, PyString> {
        state_name(py, self.0.push(data))
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> &Bound<'py, PyString> {
        state_name(py, self.0.finish())
    }

    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        state_name(py, self.0.state())
    }

    #[getter]
    fn offset(&self) -> Option<usize> {
        self.0.invalid_at()
    }

    #[getter]
    fn depth(&self) -> usize {
        self.0.depth()
    }

    fn suffix(&self) -> Option<String> {
        self.0.suffix()
    }

    fn display_cut(&self) -> usize {
        self.0.display_cut()
    }
}

/// Interned, so that a push makes no Python object.
fn state_name(py: Python<'_>, state: JsonState) -> &Bound<'_, PyString> {
    match state {
        JsonState::Open => pyo3::intern!(py, "open"),
        JsonState::Complete => pyo3::intern!(py, "complete"),
        JsonState::Invalid => pyo3::intern!(py, "invalid"),
    }
}
