//! `OpenAI` Responses: the JSON that written events are put together from.

use super::items::{Carries, Item};
use crate::cursor::string_into;
use crate::delta::{PartKind, Stop};
use crate::dialect::objects::members;
use crate::turn::{Part, Turn};

/// JSON that came in several lines of data goes into one.
pub(super) fn line_into(json: &[u8], out: &mut Vec<u8>) {
    out.extend(json.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
}

pub(super) fn content_part(part: &Part, text: &str, annotations: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if part.kind == PartKind::Refusal {
        out.extend_from_slice(b"{\"type\":\"refusal\",\"refusal\":");
    } else {
        out.extend_from_slice(b"{\"type\":\"output_text\",\"annotations\":");
        out.extend_from_slice(annotations);
        out.extend_from_slice(b",\"logprobs\":[],\"text\":");
    }
    string_into(text, &mut out);
    out.push(b'}');
    out
}

pub(super) fn item_id(part: &Part) -> String {
    Item::read(&part.raw).id.into_owned()
}

/// An item as received, under the id that it has for the reader.
pub(super) fn under_id(item: &[u8], id: &str) -> Vec<u8> {
    if item.is_empty() || Item::read(item).id == id {
        return item.to_vec();
    }
    let mut quoted = Vec::new();
    string_into(id, &mut quoted);
    replaced(item, &[("id", &quoted)])
}

pub(super) fn carries(part: &Part) -> Carries {
    Item::read(&part.raw).carries().unwrap_or(Carries::Json)
}

/// The item of a part that was cut off, with what was shown of its reasoning.
pub(super) fn unfinished(part: &Part) -> Vec<u8> {
    let mut summary = b"[{\"type\":\"summary_text\",\"text\":".to_vec();
    string_into(&part.text, &mut summary);
    summary.extend_from_slice(b"}]");
    let status: (&str, &[u8]) = ("status", b"\"incomplete\"");
    if part.kind == PartKind::Reasoning && !part.text.is_empty() {
        return replaced(&part.raw, &[status, ("summary", &summary)]);
    }
    replaced(&part.raw, &[status])
}

/// Name, status and details of the terminal event.
pub(super) fn ending(turn: &Turn) -> (&'static str, &'static [u8], Vec<u8>) {
    let (stop, raw) = turn.stop_reason().unwrap_or((Stop::EndTurn, "completed"));
    let reason = match (stop, raw) {
        (Stop::MaxTokens, _) => "max_output_tokens",
        (Stop::ContentFilter, _) => "content_filter",
        (Stop::Other, raw) if !raw.is_empty() => raw,
        _ => return ("response.completed", b"\"completed\"", b"null".to_vec()),
    };
    let mut details = b"{\"reason\":".to_vec();
    string_into(reason, &mut details);
    details.push(b'}');
    ("response.incomplete", b"\"incomplete\"", details)
}

/// `raw` with the values of some members replaced; members it lacks are added.
pub(super) fn replaced(raw: &[u8], values: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = vec![b'{'];
    let mut put = |name: &[u8], value: &[u8]| {
        if out.len() > 1 {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value);
    };
    let mut seen = vec![false; values.len()];
    members(raw, |name, cursor| {
        let value = cursor.skip();
        match values.iter().position(|(known, _)| known.as_bytes() == name) {
            Some(at) => {
                seen[at] = true;
                put(name, values[at].1);
            }
            None => put(name, value),
        }
    });
    for ((name, value), _) in values.iter().zip(seen).filter(|(_, seen)| !seen) {
        put(name.as_bytes(), value);
    }
    out.push(b'}');
    out
}

pub(super) fn usage_of(turn: &Turn) -> Vec<u8> {
    let total = turn.total_usage();
    let Some(output) = total.output else { return b"null".to_vec() };
    let (input, cached) = (total.input.unwrap_or(0), total.cache_read.unwrap_or(0));
    format!(
        "{{\"input_tokens\":{input},\"input_tokens_details\":{{\"cached_tokens\":{cached}}},\"output_tokens\":{output},\
         \"output_tokens_details\":{{\"reasoning_tokens\":0}},\"total_tokens\":{}}}",
        input + output
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn members_are_replaced_in_place_and_missing_ones_added() {
        let raw = br#"{"a": 1, "b":{"c":[2]}}"#;
        assert_eq!(replaced(raw, &[("b", b"3"), ("d", b"\"x\"")]), br#"{"a":1,"b":3,"d":"x"}"#);
    }
}
