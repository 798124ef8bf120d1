//! AWS event streams: however they are cut, whatever bit is flipped, and every kind of header.

use seamstream_core::eventstream::{EventStreamFraming, write_event, write_exception};
use seamstream_core::frame::{FrameKind, Framing};

const LIMIT: usize = 1 << 20;

fn two_frames() -> Vec<u8> {
    let mut out = Vec::new();
    write_event("contentBlockDelta", b"{\"delta\":{\"text\":\"Low \\u00fc\"}}", &mut out);
    write_exception("throttlingException", b"{\"message\":\"slow\"}", &mut out);
    out
}

/// Name and payload of every frame, read in chunks of that size; `None` stands for a corrupt one.
fn read(data: &[u8], size: usize) -> Vec<Option<(String, String)>> {
    let mut framing = EventStreamFraming::new(LIMIT);
    let (mut buffer, mut found) = (Vec::new(), Vec::new());
    for chunk in data.chunks(size) {
        buffer.extend_from_slice(chunk);
        while let Some(frame) = framing.next(&buffer).expect("small frames") {
            let text = |raw: &[u8]| String::from_utf8_lossy(raw).into_owned();
            if frame.kind == FrameKind::Corrupt {
                found.push(None);
                return found;
            }
            found.push(Some((text(frame.name), text(&frame.data))));
            let used = frame.len;
            buffer.drain(..used);
        }
    }
    assert!(framing.finish(&buffer).is_none());
    found
}

#[test]
fn frames_do_not_depend_on_how_they_arrive() {
    let data = two_frames();
    let whole = read(&data, data.len());
    let names: Vec<_> = whole.iter().flatten().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["contentBlockDelta", "throttlingException"]);
    for size in 1..data.len() {
        assert_eq!(read(&data, size), whole, "chunks of {size}");
    }
}

#[test]
fn a_flipped_bit_is_found_or_the_frame_never_ends() {
    let data = two_frames();
    let whole = read(&data, data.len());
    for at in 0..data.len() * 8 {
        let mut flipped = data.clone();
        flipped[at / 8] ^= 1 << (at % 8);
        let found = read(&flipped, 64);
        assert!(found.len() <= 2 && found != whole, "bit {at}");
        assert!(found.iter().flatten().all(|frame| whole.contains(&Some(frame.clone()))), "bit {at}");
    }
}

#[test]
fn headers_of_every_type_are_passed_over() {
    let mut headers = Vec::new();
    let values: [(u8, &[u8]); 10] = [
        (0, b""),
        (1, b""),
        (2, b"x"),
        (3, b"xx"),
        (4, b"xxxx"),
        (5, b"xxxxxxxx"),
        (6, b"\0\x02ab"),
        (7, b"\0\x01c"),
        (8, b"xxxxxxxx"),
        (9, b"xxxxxxxxxxxxxxxx"),
    ];
    for (kind, value) in values {
        headers.extend_from_slice(&[1, b'h', kind]);
        headers.extend_from_slice(value);
    }
    headers.extend_from_slice(b"\x0b:error-code\x07\0\x04Oops\x0e:error-message\x07\0\x03bad");
    let mut raw = Vec::new();
    let total = u32::try_from(12 + headers.len() + 4).expect("short");
    raw.extend_from_slice(&total.to_be_bytes());
    raw.extend_from_slice(&u32::try_from(headers.len()).expect("short").to_be_bytes());
    raw.extend_from_slice(&crc32fast::hash(&raw).to_be_bytes());
    raw.extend_from_slice(&headers);
    raw.extend_from_slice(&crc32fast::hash(&raw).to_be_bytes());
    assert_eq!(read(&raw, 7), [Some(("Oops".to_owned(), "bad".to_owned()))]);
}

#[test]
fn a_frame_above_the_limit_is_an_error() {
    let mut out = Vec::new();
    write_event("contentBlockDelta", &vec![b' '; 4096], &mut out);
    let error = EventStreamFraming::new(1024).next(&out).expect_err("too large");
    assert_eq!((error.bytes, error.limit), (out.len(), 1024));
}
