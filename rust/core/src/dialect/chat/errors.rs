//! `OpenAI` chat: the many forms of an error.

use std::borrow::Cow;

use crate::cursor::{Cursor, unescape};
use crate::delta::Failure;

pub(super) fn read_error(raw: &[u8]) -> Failure {
    let mut failure = Failure::default();
    let mut cursor = Cursor::new(raw);
    if raw.first() != Some(&b'{') {
        failure.message =
            cursor.string().map_or_else(|| String::from_utf8_lossy(raw).into_owned(), Cow::into_owned);
        return failure;
    }
    cursor.enter_object();
    while let Some(key) = cursor.key() {
        let value = cursor.skip();
        match key {
            b"message" => failure.message = plain(value),
            b"type" => failure.kind = plain(value),
            b"code" => failure.code = plain(value),
            // TGI's `http_status_code` is always 422, whatever went wrong.
            b"status" => failure.status = plain(value).parse().ok(),
            _ => {}
        }
    }
    failure.status =
        failure.code.parse().ok().or(failure.status).or_else(|| status_of(&failure.kind, &failure.code));
    failure
}

/// A scalar as text; null is empty.
fn plain(raw: &[u8]) -> String {
    match raw {
        b"null" => String::new(),
        [b'"', inner @ .., b'"'] => unescape(inner).into_owned(),
        other => String::from_utf8_lossy(other).into_owned(),
    }
}

/// The HTTP status that a named error would have had.
fn status_of(kind: &str, code: &str) -> Option<u16> {
    [code, kind].into_iter().find_map(|name| match name {
        "server_error"
        | "internal_error"
        | "internal_server_error"
        | "InternalError"
        | "InternalServerError"
        | "INTERNAL_SERVER_ERROR"
        | "server"
        | "api_error" => Some(500),
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" | "tokens" | "requests" => {
            Some(429)
        }
        "overloaded"
        | "overloaded_error"
        | "service_unavailable"
        | "unavailable_error"
        | "provider_overloaded"
        | "provider_unavailable"
        | "engine_overloaded" => Some(503),
        "timeout" => Some(504),
        "invalid_request_error" | "context_length_exceeded" | "content_filter" | "BadRequestError" => {
            Some(400)
        }
        "invalid_api_key" | "authentication_error" => Some(401),
        "model_not_found" | "not_found_error" => Some(404),
        _ => None,
    })
}
