//! A text part whose closing was held at a cut is closed exactly once, whatever the continuation begins with.

use seamstream_core::limits::Limits;
use seamstream_core::splice::{Options, Output, Plan, Reader, Resume, Splice};

fn event(kind: &str, rest: &str) -> String {
    format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n")
}

fn opening(index: u32, block: &str) -> String {
    event("content_block_start", &format!(",\"index\":{index},\"content_block\":{block}"))
}

fn delta(index: u32, delta: &str) -> String {
    event("content_block_delta", &format!(",\"index\":{index},\"delta\":{delta}"))
}

fn feed(splice: &mut Splice, text: &str, out: &mut String) {
    let bytes = match splice.feed(text.as_bytes()) {
        Output::Same => text.as_bytes().to_vec(),
        Output::Bytes(bytes) => bytes,
    };
    out.push_str(&String::from_utf8(bytes).expect("text"));
}

#[test]
fn a_continuation_that_begins_with_a_call_closes_the_text_before_it() {
    let limits = Limits::default();
    let options = Options { reader: Reader::Bytes, hold_tools: true, choices: 1, done_is_end: false, limits };
    let mut splice = Splice::new("anthropic", options).expect("a known dialect");
    let start = event("message_start", ",\"message\":{\"id\":\"m\",\"model\":\"c\"}");
    let text = opening(0, "{\"type\":\"text\",\"text\":\"\"}");
    let said = delta(0, "{\"type\":\"text_delta\",\"text\":\"Let me look.\"}");
    let stop = event("content_block_stop", ",\"index\":0");
    let call = opening(1, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"look\",\"input\":{}}");
    let half = delta(1, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"where\\\":\"}");
    let mut out = String::new();
    feed(&mut splice, &[start.clone(), text, said, stop, call, half].concat(), &mut out);
    splice.cut();
    splice.resume(&Resume {
        plan: Plan::Truncate,
        exact: true,
        quote: String::new(),
        stripped: String::new(),
        strict: true,
        stop: Vec::new(),
        reason: String::new(),
    });
    let call = opening(0, "{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"look\",\"input\":{}}");
    let whole = delta(0, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"where\\\":1}\"}");
    let end =
        event("message_delta", ",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}");
    let stop = event("content_block_stop", ",\"index\":0");
    feed(&mut splice, &[start, call, whole, stop, end, event("message_stop", "")].concat(), &mut out);
    let kinds: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let expected = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(kinds, expected);
}
