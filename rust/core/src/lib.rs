//! Sans-IO core of seamstream: bytes in, bytes and deltas out. No pyo3, no I/O, no clock, no unsafe.

#![forbid(unsafe_code)]

pub mod cursor;
pub mod delta;
pub mod dialect;
pub mod error;
pub mod eventstream;
pub mod frame;
pub mod hold;
pub mod json;
pub mod limits;
pub mod ndjson;
pub mod preface;
pub mod seam;
pub mod splice;
pub mod sse;
pub mod turn;
