//! Python face of the frames that are not text.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seamstream_core::eventstream::write_event;

/// One event of an AWS event stream, with its checksums.
#[pyfunction]
pub(crate) fn bedrock_frame<'py>(py: Python<'py>, name: &str, payload: &[u8]) -> Bound<'py, PyBytes> {
    let mut out = Vec::new();
    write_event(name, payload, &mut out);
    PyBytes::new(py, &out)
}
