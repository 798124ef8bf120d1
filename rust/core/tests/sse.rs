//! Event-stream framing: the WHATWG rules, whatever the cuts.

use proptest::prelude::*;
use seamstream_core::frame::{FrameKind, Framing};
use seamstream_core::sse::{SseDecoder, SseEvent, SseFraming};

const LIMIT: usize = 1 << 20;

fn decode(chunks: &[&[u8]]) -> (Vec<SseEvent>, String, Option<u64>) {
    let mut decoder = SseDecoder::new(LIMIT);
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(decoder.feed(chunk).expect("below the limit"));
    }
    events.extend(decoder.finish());
    (events, decoder.last_event_id().to_owned(), decoder.retry_ms())
}

fn data(stream: &[u8]) -> Vec<String> {
    decode(&[stream]).0.into_iter().map(|event| event.data).collect()
}

/// Every cut into two, and byte by byte, must give what the whole gives.
fn assert_split_invariant(stream: &[u8]) {
    let whole = decode(&[stream]);
    for at in 0..=stream.len() {
        assert_eq!(decode(&[&stream[..at], &stream[at..]]), whole, "cut at {at} of {stream:?}");
    }
    assert_eq!(decode(&stream.chunks(1).collect::<Vec<_>>()), whole);
}

#[test]
fn line_ends_are_cr_lf_and_crlf_alone() {
    for (stream, expected) in [
        ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
        ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
        ("data: a\n\r\ndata: b\r\n\n", vec!["a", "b"]),
        ("data: a\u{2028}b\u{85}c\n\n", vec!["a\u{2028}b\u{85}c"]),
        ("data: a\ndata: b\r\ndata: c\rdata:  d\n\n", vec!["a\nb\nc\n d"]),
    ] {
        assert_eq!(data(stream.as_bytes()), expected, "{stream:?}");
        assert_split_invariant(stream.as_bytes());
    }
}

#[test]
fn fields_follow_the_rules() {
    let stream = b"retry: 1500\n\nid: 41\n\nevent: x\nid: 42\ndata:one\n\n: note\n\ndata:\n\nretry: 1x\nid: a\0b\ndata\n\nfoo: bar\n\n";
    let (events, last_id, retry) = decode(&[stream]);
    let seen: Vec<_> =
        events.iter().map(|event| (event.event.as_str(), event.data.as_str(), event.id.as_str())).collect();
    assert_eq!(seen, [("x", "one", "42"), ("message", "", "42"), ("message", "", "42")]);
    assert_eq!((last_id.as_str(), retry), ("42", Some(1500)));
    assert_split_invariant(stream);
}

#[test]
fn one_leading_byte_order_mark_is_dropped() {
    let stream = "\u{feff}data: \u{feff}bow\n\n\u{feff}data: x\n\n".as_bytes();
    assert_eq!(data(stream), ["\u{feff}bow"]);
    assert_split_invariant(stream);
}

#[test]
fn the_end_of_input_gives_whole_payloads_only() {
    for (tail, expected) in [
        ("data: {\"a\":1}", Some("{\"a\":1}")),
        ("data: {\"a\":1}\n", Some("{\"a\":1}")),
        ("data: {\"a\":1}\r", Some("{\"a\":1}")),
        ("data: {\"a\":1}\r\n", Some("{\"a\":1}")),
        ("data: [DONE]", Some("[DONE]")),
        ("data: {\"a\":", None),
        ("data: [1]", None),
        ("data: text", None),
        ("id: 7", None),
    ] {
        assert_eq!(data(tail.as_bytes()).first().map(String::as_str), expected, "{tail:?}");
        assert_split_invariant(tail.as_bytes());
    }
}

#[test]
fn a_comment_line_is_a_frame_of_its_own() {
    let mut framing = SseFraming::new(LIMIT);
    let frame = framing.next(b": ping\ndata: x\n\n").expect("small").expect("whole");
    assert_eq!((frame.kind, frame.len), (FrameKind::Silent, 7));
}

#[test]
fn lines_without_a_known_field_are_shown_as_they_are() {
    let mut framing = SseFraming::new(LIMIT);
    let frame = framing.next(b"{\"error\":{\"message\":\"x\"}}\n\n").expect("small").expect("whole");
    assert_eq!(
        (frame.kind, frame.data.as_ref()),
        (FrameKind::Unknown, b"{\"error\":{\"message\":\"x\"}}\n\n".as_slice())
    );
}

#[test]
fn an_event_above_the_limit_is_an_error_however_it_is_cut() {
    let mut stream = b"data: ok\n\ndata: ".to_vec();
    stream.extend(std::iter::repeat_n(b'x', 100));
    stream.extend(b"\n\n");
    for size in [1, 7, 64, stream.len()] {
        let mut decoder = SseDecoder::new(64);
        let failed = stream.chunks(size).any(|chunk| decoder.feed(chunk).is_err());
        assert!(failed, "chunks of {size}");
    }
}

proptest! {
    #[test]
    fn random_streams_are_split_invariant(
        lines in prop::collection::vec(
            (prop::sample::select(vec!["data: {\"a\":1}", "data:", "data: é\u{2028}", ": c", "event: e", "id: 3", "", "x", "retry: 9"]),
             prop::sample::select(vec!["\n", "\r", "\r\n"])), 0..14),
        cuts in prop::collection::vec(0_usize..200, 0..6),
    ) {
        let stream: Vec<u8> = lines.iter().flat_map(|(line, end)| [line.as_bytes(), end.as_bytes()].concat()).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for cut in cuts {
            chunks.push(&stream[from..cut]);
            from = cut;
        }
        chunks.push(&stream[from..]);
        prop_assert_eq!(decode(&chunks), decode(&[&stream]));
    }

    #[test]
    fn frames_cover_the_input_without_gaps(stream in prop::collection::vec(prop::sample::select(b"data:{} \n\r:x".to_vec()), 0..80)) {
        let mut framing = SseFraming::new(LIMIT);
        let mut used = 0;
        while let Some(frame) = framing.next(&stream[used..]).expect("small") {
            prop_assert!(frame.len > 0);
            used += frame.len;
        }
        prop_assert!(used <= stream.len());
    }
}
