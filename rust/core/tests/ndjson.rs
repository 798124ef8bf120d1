//! NDJSON framing: whole lines and nothing else, whatever the cuts; and a line whose end never came.

use seamstream_core::frame::{FrameKind, Framing};
use seamstream_core::ndjson::NdjsonFraming;

const LIMIT: usize = 1 << 20;

/// The data of every event, and the raw bytes that the frames took, end of input included.
fn decode(chunks: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let (mut framing, mut buffer) = (NdjsonFraming::new(LIMIT), Vec::new());
    let (mut events, mut taken) = (Vec::new(), Vec::new());
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        while let Some(frame) = framing.next(&buffer).expect("below the limit") {
            if frame.kind == FrameKind::Event {
                events.push(String::from_utf8_lossy(&frame.data).into_owned());
            }
            let len = frame.len;
            taken.extend_from_slice(&buffer[..len]);
            buffer.drain(..len);
        }
    }
    if let Some(frame) = framing.finish(&buffer) {
        events.push(String::from_utf8_lossy(&frame.data).into_owned());
        taken.extend_from_slice(&buffer[..frame.len]);
        taken.extend_from_slice(frame.completion);
    }
    (events, taken)
}

#[test]
fn lines_are_the_same_however_they_are_cut() {
    let stream =
        "{\"a\":\"\\n\u{85}\u{2028}ø🐠\"}\r\n\n  \n{\"b\":{\"c\":[1,2]}}\n{\"d\":\"}\"}\n".as_bytes();
    let whole = decode(&[stream]);
    assert_eq!(whole.0, ["{\"a\":\"\\n\u{85}\u{2028}ø🐠\"}", "{\"b\":{\"c\":[1,2]}}", "{\"d\":\"}\"}"]);
    assert_eq!(whole.1, stream);
    for at in 0..=stream.len() {
        assert_eq!(decode(&[&stream[..at], &stream[at..]]), whole, "cut at {at}");
    }
    assert_eq!(decode(&stream.chunks(1).collect::<Vec<_>>()), whole);
}

#[test]
fn a_last_line_without_its_end_counts_if_it_is_one_whole_object() {
    for (line, taken) in [
        ("{\"error\":\"runner crashed\"}", true),
        ("{\"a\":{}}", true),
        ("{\"a\":1}\r", true),
        ("{\"a\":{}", false),
        ("{\"a\":\"}", false),
        ("{\"a\":1}{\"b\":2}", false),
        ("[1]", false),
        ("12", false),
        ("", false),
    ] {
        let (events, out) = decode(&[b"{\"first\":1}\n", line.as_bytes()]);
        assert_eq!(events.len(), 1 + usize::from(taken), "{line:?}");
        assert!(out.ends_with(b"}\n") || out.ends_with(b"}\r\n"), "{line:?}");
    }
}

#[test]
fn a_line_above_the_limit_is_refused_before_its_end_came() {
    let mut framing = NdjsonFraming::new(8);
    assert!(framing.next(b"{\"a\":1}\n").expect("at the limit").is_some());
    assert!(framing.next(b"{\"a\":\"xx").expect("at the limit").is_none());
    assert!(framing.next(b"{\"a\":\"xxx").is_err());
}
