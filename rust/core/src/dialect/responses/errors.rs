//! `OpenAI` Responses: the forms of an error, and the terminal events that are none.

use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::delta::{Counters, Delta, Failure, Stop};
use crate::dialect::objects::{members, unsigned_at};

/// A terminal event's response object.
#[derive(Debug, Default)]
struct Ended<'a> {
    status: Cow<'a, str>,
    usage: &'a [u8],
    details: &'a [u8],
    error: &'a [u8],
}

/// `response.completed`, `.incomplete`, `.cancelled` or `.failed`. Some servers tell the true end only in `status`.
pub(super) fn read_terminal<'a>(kind: &str, response: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    let mut ended = Ended::default();
    members(response, |name, cursor| match name {
        b"status" => ended.status = cursor.string().unwrap_or_default(),
        b"usage" => ended.usage = cursor.skip(),
        b"incomplete_details" => ended.details = cursor.skip(),
        b"error" => ended.error = cursor.skip(),
        _ => {
            cursor.skip();
        }
    });
    push_usage(ended.usage, deltas);
    if kind == "response.failed" || ended.status == "failed" {
        deltas.push(Delta::Failure(read_error_object(ended.error)));
        return;
    }
    let raw = match (kind, ended.status.as_ref()) {
        (_, "cancelled") | ("response.cancelled", _) => Cow::Borrowed("cancelled"),
        ("response.incomplete", _) | (_, "incomplete") => reason(ended.details),
        _ => Cow::Borrowed("completed"),
    };
    let stop = match raw.as_ref() {
        "completed" => Stop::EndTurn,
        "max_output_tokens" | "max_tokens" => Stop::MaxTokens,
        "content_filter" => Stop::ContentFilter,
        _ => Stop::Other,
    };
    deltas.push(Delta::Stop { choice: 0, stop, raw });
    deltas.push(Delta::End);
}

fn reason(details: &[u8]) -> Cow<'_, str> {
    let mut reason = Cow::Borrowed("incomplete");
    members(details, |name, cursor| match name {
        b"reason" => reason = cursor.string().unwrap_or(Cow::Borrowed("incomplete")),
        _ => {
            cursor.skip();
        }
    });
    reason
}

fn push_usage(raw: &[u8], deltas: &mut Vec<Delta<'_>>) {
    let mut counters = Counters::default();
    members(raw, |name, cursor| match name {
        b"input_tokens" => counters.input = cursor.unsigned(),
        b"output_tokens" => counters.output = cursor.unsigned(),
        b"input_tokens_details" => {
            let details = cursor.skip();
            counters.cache_read = unsigned_at(details, b"cached_tokens").or(counters.cache_read);
        }
        _ => {
            cursor.skip();
        }
    });
    if !counters.is_empty() {
        deltas.push(Delta::Usage(counters));
    }
}

/// Flat as documented (`code` and `message` beside `type`), or nested as seen in practice.
pub(super) fn read_error(nested: &[u8], code: &[u8], message: &[u8]) -> Failure {
    if nested.first() == Some(&b'{') {
        return read_error_object(nested);
    }
    let text = |raw: &[u8]| Cursor::new(raw).string().unwrap_or_default().into_owned();
    let (code, nested) = (text(code), text(nested));
    let message = if nested.is_empty() { text(message) } else { nested };
    let status = status_of(&code);
    Failure { kind: "error".to_owned(), code, status, message, raw: Vec::new() }
}

fn read_error_object(raw: &[u8]) -> Failure {
    let mut failure = Failure::default();
    members(raw, |name, cursor| match name {
        b"type" => failure.kind = cursor.string().unwrap_or_default().into_owned(),
        b"code" => failure.code = cursor.string().unwrap_or_default().into_owned(),
        b"message" => failure.message = cursor.string().unwrap_or_default().into_owned(),
        _ => {
            cursor.skip();
        }
    });
    failure.status = status_of(&failure.code).or_else(|| status_of(&failure.kind));
    failure
}

/// The HTTP status that a named error would have had.
fn status_of(name: &str) -> Option<u16> {
    match name {
        "server_error" | "internal_error" | "internal_server_error" => Some(500),
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" => Some(429),
        "overloaded" | "overloaded_error" | "service_unavailable" => Some(503),
        "vector_store_timeout" | "timeout" => Some(504),
        "invalid_request_error" | "invalid_prompt" | "context_length_exceeded" => Some(400),
        _ => None,
    }
}
