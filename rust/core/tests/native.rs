//! The same response taken up again: offsets, overlaps and gaps, and what a cut must not have changed.

use seamstream_core::limits::Limits;
use seamstream_core::splice::{Options, Output, Plan, Reader, Resume, Splice};

const CREATED: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\"}}\n\n";

fn splice(dialect: &str) -> Splice {
    let options = Options {
        reader: Reader::Bytes,
        hold_tools: true,
        choices: 1,
        done_is_end: false,
        limits: Limits::default(),
    };
    Splice::new(dialect, options).expect("a dialect")
}

fn feed(splice: &mut Splice, text: &str) -> String {
    match splice.feed(text.as_bytes()) {
        Output::Same => text.to_owned(),
        Output::Bytes(bytes) => String::from_utf8(bytes).expect("text"),
    }
}

fn natively() -> Resume {
    Resume {
        plan: Plan::Native,
        exact: true,
        quote: String::new(),
        stripped: String::new(),
        strict: true,
        stop: Vec::new(),
        reason: String::new(),
    }
}

fn chunk(text: &str) -> String {
    format!("data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

fn delta(number: u32, text: &str) -> String {
    format!(
        "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\
         \"output_index\":0,\"content_index\":0,\"item_id\":\"m\",\"delta\":\"{text}\"}}\n\n"
    )
}

#[test]
fn every_cut_resumes_at_the_byte_behind_the_last_whole_event() {
    let end = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let stream = [chunk("One "), chunk("two"), end.to_owned()].concat();
    for cut in 0..stream.len() {
        for looked_twice in [false, true] {
            let mut splice = splice("openai-chat");
            let mut got = feed(&mut splice, &stream[..cut]);
            got += &String::from_utf8(splice.cut()).expect("text");
            if looked_twice {
                assert!(splice.cut().is_empty());
            }
            let offset = usize::try_from(splice.resume_point().expect("a point").offset).expect("small");
            assert!(offset <= cut);
            assert!(splice.resume(&natively()).is_empty());
            got += &feed(&mut splice, &stream[offset..]);
            assert!(splice.is_done());
            assert_eq!(got, stream, "cut at {cut}");
            assert_eq!(splice.streams(), 2);
        }
    }
}

#[test]
fn what_was_read_is_dropped_and_what_is_missing_is_refused() {
    let mut splice = splice("openai-responses");
    let opening = "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"id\":\"m\",\"type\":\"message\"}}\n\n";
    let begun = [CREATED, opening, &delta(2, "One")].concat();
    assert_eq!(feed(&mut splice, &begun), begun);
    splice.cut();
    let point = splice.resume_point().expect("a point");
    assert_eq!((point.response.as_str(), point.event.as_deref()), ("resp_1", Some("2")));
    splice.resume(&natively());
    assert_eq!(feed(&mut splice, &(delta(1, "x") + &delta(2, "One") + &delta(3, " two"))), delta(3, " two"));
    assert_eq!(splice.turn().parts[0].text, "One two");
    assert_eq!(feed(&mut splice, &delta(5, "!")), "");
    assert!(splice.seam_refusal().is_some());
}

#[test]
fn items_without_numbers_are_numbered_as_they_come() {
    let mut splice = splice("openai-responses");
    for (id, text) in [("m", "One"), ("n", " two")] {
        feed(
            &mut splice,
            &format!(
                "data: {{\"type\":\"response.output_item.added\",\"item\":{{\"id\":\"{id}\",\"type\":\"message\"}}}}\n\n"
            ),
        );
        feed(
            &mut splice,
            &format!(
                "data: {{\"type\":\"response.output_text.delta\",\"item_id\":\"{id}\",\"delta\":\"{text}\"}}\n\n"
            ),
        );
    }
    let parts: Vec<(u32, &str)> =
        splice.turn().parts.iter().map(|part| (part.out_index, part.text.as_str())).collect();
    assert_eq!(parts, [(0, "One"), (1, " two")]);
}
