//! The fast path must be invisible: every stream is read with it and without it.

#![expect(clippy::format_push_string, reason = "readable test data matters more than an allocation")]

use seamstream_core::delta::PartKind;
use seamstream_core::limits::Limits;
use seamstream_core::splice::{Options, Output, Reader, Splice};

fn splice(name: &str, reader: Reader, slow: bool) -> Splice {
    let options =
        Options { reader, hold_tools: true, choices: 1, done_is_end: false, limits: Limits::default() };
    let mut splice = Splice::new(name, options).expect("a known dialect");
    if slow {
        splice.panic_after(u64::MAX); // counting events needs the slow path
    }
    splice
}

fn run(name: &str, reader: Reader, slow: bool, stream: &[u8], size: usize) -> (Vec<u8>, String) {
    let mut splice = splice(name, reader, slow);
    let mut out = Vec::new();
    for chunk in stream.chunks(size) {
        match splice.feed(chunk) {
            Output::Same => out.extend_from_slice(chunk),
            Output::Bytes(bytes) => out.extend(bytes),
        }
    }
    out.extend(splice.cut());
    let turn = splice.turn();
    let kinds = [PartKind::Text, PartKind::Reasoning, PartKind::Refusal];
    let texts = kinds.map(|kind| turn.joined(kind));
    let facts = format!(
        "{texts:?} {:?} {} {} {:?} {:?} {:?}",
        turn.stop_reason(),
        turn.content_deltas,
        splice.progress(),
        splice.phase(),
        splice.failure(),
        splice.terminal_seen(),
    );
    let events = format!("{:?}", splice.take_events());
    (out, facts + &events)
}

fn chat(delta: &str, tail: &str) -> String {
    format!(
        "data: {{\"id\":\"c\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]{tail}}}\n\n"
    )
}

fn assert_invisible(name: &str, stream: &str) {
    for reader in [Reader::Bytes, Reader::Typed] {
        for size in [1, 2, 7, 64, 301, stream.len()] {
            let fast = run(name, reader, false, stream.as_bytes(), size);
            let slow = run(name, reader, true, stream.as_bytes(), size);
            assert_eq!(fast, slow, "{name}, {reader:?}, chunks of {size}");
        }
    }
}

#[test]
fn chat_streams_read_the_same_with_and_without_it() {
    let pieces = [
        "Hello",
        " \\\"quoted\\\"",
        " \\u00e9\\ud83d\\ude00",
        "\\\\",
        " plain",
        "",
        " 潮",
        "\\n\\n",
        " {\\\"a\\\":",
        "}",
        " end",
    ];
    let mut stream = chat("{\"role\":\"assistant\",\"content\":\"\"}", "");
    for piece in pieces {
        stream += &chat(&format!("{{\"content\":\"{piece}\"}}"), "");
    }
    for (at, piece) in pieces.iter().enumerate() {
        stream += &chat(&format!("{{\"content\":\"{piece}\"}}"), &format!(",\"obfuscation\":\"x{at}\""));
    }
    for piece in pieces {
        stream += &chat(&format!("{{\"reasoning_content\":\"{piece}\"}}"), "");
        stream += ": ping\n\n";
    }
    stream += &chat("{\"content\":\"a\"}", "");
    stream += &chat("{\"content\":\"b\"}", "");
    stream += &chat("{\"content\":\"c\"}", ",\"error\":{\"message\":\"x\"}");
    assert_invisible("openai-chat", &stream);
}

#[test]
fn anthropic_streams_read_the_same_with_and_without_it() {
    let mut stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"c\"}}\n\n".to_owned();
    for (index, kind) in ["thinking", "text"].iter().enumerate() {
        stream += &format!(
            "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{{\"type\":\"{kind}\",\"{kind}\":\"\"}}}}\n\n"
        );
        for piece in ["\\n", "one", " two", " \\u2028three", " four"] {
            stream += &format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"type\":\"{kind}_delta\",\"{kind}\":\"{piece}\"}}}}\n\n"
            );
        }
        stream += &format!(
            "event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":{index}}}\n\n"
        );
    }
    stream += "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n";
    stream += "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    assert_invisible("anthropic", &stream);
}

#[test]
fn a_line_end_inside_the_string_is_no_match() {
    let mut stream = chat("{\"content\":\"a\"}", "") + &chat("{\"content\":\"b\"}", "");
    stream += "data: {\"id\":\"c\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\ny\"}}]}\n\n";
    stream += &chat("{\"content\":\"c\"}", "");
    assert_invisible("openai-chat", &stream);
}
