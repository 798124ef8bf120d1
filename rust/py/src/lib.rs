//! `seamstream._core`: conversions and error mapping only; what it does is in `seamstream-core`.

mod errors;
mod frame;
mod json;
mod records;
mod splice;
mod sse;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::errors::{CoreError, FrameTooLargeError};
    #[pymodule_export]
    use super::frame::bedrock_frame;
    #[pymodule_export]
    use super::json::JsonScanner;
    #[pymodule_export]
    use super::splice::Splice;
    #[pymodule_export]
    use super::sse::{SseDecoder, SseEvent};

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEBUG_BUILD", cfg!(debug_assertions))
    }
}
