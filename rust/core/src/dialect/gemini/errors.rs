//! Gemini: errors, also those of Interactions.

use crate::cursor::Cursor;
use crate::delta::Failure;

pub(super) fn read_error(raw: &[u8]) -> Failure {
    let mut failure = Failure::default();
    let mut cursor = Cursor::new(raw);
    cursor.enter_object();
    while let Some(key) = cursor.key() {
        match key {
            b"code" => failure.status = cursor.unsigned().and_then(|code| u16::try_from(code).ok()),
            b"message" => failure.message = cursor.string().unwrap_or_default().into_owned(),
            b"status" => failure.kind = cursor.string().unwrap_or_default().into_owned(),
            _ => {
                cursor.skip();
            }
        }
    }
    failure.code.clone_from(&failure.kind);
    failure.status = failure.status.or_else(|| status_of(&failure.kind));
    failure
}

/// The HTTP status of a `google.rpc.Code`.
pub(in crate::dialect) fn status_of(code: &str) -> Option<u16> {
    Some(match code {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => 400,
        "UNAUTHENTICATED" => 401,
        "PERMISSION_DENIED" => 403,
        "NOT_FOUND" => 404,
        "ABORTED" | "ALREADY_EXISTS" => 409,
        "RESOURCE_EXHAUSTED" => 429,
        "CANCELLED" => 499,
        "INTERNAL" | "UNKNOWN" | "DATA_LOSS" => 500,
        "UNIMPLEMENTED" => 501,
        "UNAVAILABLE" => 503,
        "DEADLINE_EXCEEDED" => 504,
        _ => return None,
    })
}
