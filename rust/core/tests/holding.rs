//! A held call that has waited long enough leaves with the next content, and silence does not make it leave.

use seamstream_core::hold::Waiting;
use seamstream_core::limits::Limits;
use seamstream_core::splice::{Options, Output, Reader, Splice};

const HALF: &str = "{\\\"at\\\":";
const PING: &str = ": beat\n\n";
const SAID: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Let me look.\"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";

fn splice() -> Splice {
    let limits = Limits::default();
    let options = Options { reader: Reader::Bytes, hold_tools: true, choices: 1, done_is_end: false, limits };
    Splice::new("openai-chat", options).expect("a known dialect")
}

fn call(index: u32, arguments: &str) -> String {
    let function = format!("{{\"name\":\"look\",\"arguments\":\"{arguments}\"}}");
    let call =
        format!("{{\"index\":{index},\"id\":\"c{index}\",\"type\":\"function\",\"function\":{function}}}");
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
}

fn more(index: u32, arguments: &str) -> String {
    let call = format!("{{\"index\":{index},\"function\":{{\"arguments\":\"{arguments}\"}}}}");
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
}

fn feed(splice: &mut Splice, text: &str) -> String {
    match splice.feed(text.as_bytes()) {
        Output::Same => text.to_owned(),
        Output::Bytes(bytes) => String::from_utf8(bytes).expect("text"),
    }
}

/// A splice that holds the beginning of a call for longer than it should.
fn overdue(arguments: &str) -> (Splice, String) {
    let (mut splice, begun) = (splice(), call(0, arguments));
    assert_eq!(feed(&mut splice, SAID), SAID);
    assert_eq!(feed(&mut splice, &begun), "");
    assert_eq!(splice.waiting(), Some(Waiting::Tool));
    assert!(splice.expire().is_empty());
    assert_eq!(splice.waiting(), Some(Waiting::Content));
    (splice, begun)
}

#[test]
fn silence_and_pings_let_nothing_go_so_that_the_call_can_be_asked_for_again() {
    let (mut splice, _) = overdue(HALF);
    assert!(!feed(&mut splice, PING).contains("tool_calls"));
    assert!(splice.expire().is_empty());
    assert_eq!(splice.waiting(), Some(Waiting::Content));
    assert!(splice.cut().is_empty());
    assert_eq!(splice.shown_parts().count(), 1, "the text alone");
}

#[test]
fn an_event_that_a_cut_completes_lets_nothing_go_either() {
    let (mut splice, _) = overdue(HALF);
    let without_blank_line = more(0, "1").trim_end().to_owned();
    assert_eq!(feed(&mut splice, &without_blank_line), "");
    assert!(splice.cut().is_empty());
    assert_eq!(splice.shown_parts().count(), 1, "the text alone");
}

#[test]
fn what_goes_on_arriving_is_shown_at_once() {
    let (mut splice, begun) = overdue(HALF);
    let next = more(0, "\\\"sea");
    assert_eq!(feed(&mut splice, &next), begun + &next);
    assert_eq!(splice.waiting(), None);
    let last = more(0, "\\\"}");
    assert_eq!(feed(&mut splice, &last), last);
}

#[test]
fn what_the_next_content_completes_leaves_as_a_whole_call() {
    let (mut splice, begun) = overdue("{\\\"at\\\":1}");
    assert_eq!(feed(&mut splice, FINISH), begun, "the end still waits for its proof");
    assert!(splice.shown_parts().all(|part| !part.live));
}

#[test]
fn a_call_that_begins_later_has_its_own_time() {
    let (mut splice, begun) = overdue(HALF);
    let next = more(0, "1}");
    assert_eq!(feed(&mut splice, &next), begun + &next);
    assert_eq!(feed(&mut splice, &call(1, "{")), "");
    assert_eq!(splice.waiting(), Some(Waiting::Tool));
}
