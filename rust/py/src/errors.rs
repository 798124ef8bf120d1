//! The core's errors as Python exceptions, in one place.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{create_exception, types::PyType};
use seamstream_core::error::FrameTooLarge;

create_exception!(seamstream._core, CoreError, PyException, "Base of the core's errors.");
create_exception!(
    seamstream._core,
    FrameTooLargeError,
    CoreError,
    "One event is larger than max_event_bytes."
);

/// A `FrameTooLargeError` with its `kind` and `offset`.
pub(crate) fn frame_too_large(py: Python<'_>, error: FrameTooLarge) -> PyErr {
    let kind: Bound<'_, PyType> = py.get_type::<FrameTooLargeError>();
    let made = kind.call1((error.to_string(),)).and_then(|value| {
        value.setattr("kind", "max_event_bytes")?;
        value.setattr("offset", error.bytes)?;
        Ok(value)
    });
    made.map_or_else(|failed| failed, PyErr::from_value)
}
