//! Python face of the event-stream decoder.

use pyo3::prelude::*;
use seamstream_core::sse;

use crate::errors::frame_too_large;

/// One dispatched event of a WHATWG event stream.
#[pyclass(module = "seamstream._core", frozen, get_all)]
#[derive(Clone)]
pub(crate) struct SseEvent {
    event: String,
    data: String,
    id: String,
}

#[pymethods]
impl SseEvent {
    fn __repr__(&self) -> String {
        format!("SseEvent(event={:?}, data={:?}, id={:?})", self.event, self.data, self.id)
    }
}

impl From<sse::SseEvent> for SseEvent {
    fn from(event: sse::SseEvent) -> Self {
        Self { event: event.event, data: event.data, id: event.id }
    }
}

/// WHATWG event-stream framing on bytes; the result does not depend on how the bytes were cut.
#[pyclass(module = "seamstream._core")]
pub(crate) struct SseDecoder(sse::SseDecoder);

#[pymethods]
impl SseDecoder {
    #[new]
    #[pyo3(signature = (*, max_event_bytes = 16_777_216))]
    fn new(max_event_bytes: usize) -> Self {
        Self(sse::SseDecoder::new(max_event_bytes))
    }

    fn feed(&mut self, py: Python<'_>, chunk: &[u8]) -> PyResult<Vec<SseEvent>> {
        let events = self.0.feed(chunk).map_err(|error| frame_too_large(py, error))?;
        Ok(events.into_iter().map(SseEvent::from).collect())
    }

    fn finish(&mut self) -> Vec<SseEvent> {
        self.0.finish().into_iter().map(SseEvent::from).collect()
    }

    #[getter]
    fn last_event_id(&self) -> &str {
        self.0.last_event_id()
    }

    #[getter]
    fn retry_ms(&self) -> Option<u64> {
        self.0.retry_ms()
    }
}
