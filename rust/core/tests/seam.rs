//! The join rules, one by one.

use seamstream_core::seam::{Join, Seam, StopWatch, Verdict, Watched};

const PREFIX: &str = "The harbour lay still under a pale sky, and the boats";

fn joined(join: Join, text: &str) -> Verdict {
    Verdict::Joined { join, text: text.to_owned(), guessed_blanks: false }
}

/// Feeds the continuation in pieces of `size` characters and concludes; all sizes must agree.
fn decide(make: impl Fn() -> Seam, continuation: &str) -> Verdict {
    let mut verdicts = Vec::new();
    for size in [1, 3, 10, 10_000] {
        let mut seam = make();
        let characters: Vec<char> = continuation.chars().collect();
        let mut verdict = Verdict::Wait;
        let mut rest = String::new();
        for piece in characters.chunks(size) {
            let piece: String = piece.iter().collect();
            match &verdict {
                Verdict::Wait => verdict = seam.push(&piece),
                _ => rest.push_str(&piece),
            }
        }
        if verdict == Verdict::Wait {
            verdict = seam.conclude();
        }
        if let Verdict::Joined { text, .. } = &mut verdict {
            text.push_str(&rest);
        }
        verdicts.push(verdict);
    }
    assert!(verdicts.windows(2).all(|pair| pair[0] == pair[1]), "depends on the cuts: {verdicts:?}");
    verdicts.swap_remove(0)
}

fn exact(prefix: &str, continuation: &str) -> Verdict {
    decide(|| Seam::new(prefix, "", "", true, true), continuation)
}

fn quoted(prefix: &str, quote: &str, continuation: &str) -> Verdict {
    decide(|| Seam::new(prefix, quote, "", false, true), continuation)
}

#[test]
fn an_exact_continuation_is_joined_as_it_is() {
    assert_eq!(
        exact(PREFIX, " rocked at their moorings."),
        joined(Join::Prefill, " rocked at their moorings.")
    );
    assert_eq!(exact("Sh", "e sells shells"), joined(Join::Prefill, "e sells shells"));
    assert_eq!(exact(PREFIX, ""), joined(Join::Prefill, ""));
    assert_eq!(exact(PREFIX, "The"), joined(Join::Prefill, "The"));
}

#[test]
fn a_short_text_that_repeats_itself_is_not_an_echo() {
    assert_eq!(exact("ha", "ha ha"), joined(Join::Prefill, "ha ha"));
}

#[test]
fn a_text_that_has_repeated_itself_may_go_on_repeating() {
    let prefix = "na na na na na na na na na na na na na";
    assert_eq!(
        exact(prefix, " na na na na na na na na na na."),
        joined(Join::Prefill, " na na na na na na na na na na.")
    );
    let verses = "Row, row, row your boat gently.\nRow, row, row your boat gently.\n";
    let more = "Row, row, row your boat gently.\nMerrily.";
    assert_eq!(exact(verses, more), joined(Join::Prefill, more));
}

#[test]
fn an_echo_is_swallowed() {
    let whole = format!("{PREFIX} rocked.");
    assert_eq!(exact(PREFIX, &whole), joined(Join::Anchored, " rocked."));
    assert_eq!(exact(PREFIX, "a pale sky, and the boats rocked."), joined(Join::Anchored, " rocked."));
    let quote = "under a pale sky, and the boats";
    assert_eq!(
        quoted(PREFIX, quote, "under a pale sky, and the boats rocked."),
        joined(Join::Anchored, " rocked.")
    );
    assert_eq!(quoted(PREFIX, quote, &whole), joined(Join::Anchored, " rocked."));
    assert_eq!(quoted("Once", "Once", "Once upon"), joined(Join::Anchored, " upon"));
    let preface = format!("Sure, here it goes on: {quote} rocked.");
    assert_eq!(quoted(PREFIX, quote, &preface), joined(Join::Anchored, " rocked."));
}

#[test]
fn an_echo_that_was_cut_short_by_the_model_needs_an_anchors_length() {
    let quote = "still under a pale sky, and the boats";
    assert_eq!(
        quoted(PREFIX, quote, "a pale sky, and the boats rocked."),
        joined(Join::Anchored, " rocked.")
    );
    assert!(matches!(quoted(PREFIX, quote, "and the boats rocked."), Verdict::Refused(_)));
}

#[test]
fn what_does_not_fit_is_refused() {
    let quote = "a pale sky, and the boats";
    for continuation in ["The ships swung quietly.", "I am sorry, but I cannot go on.", ""] {
        assert!(matches!(quoted(PREFIX, quote, continuation), Verdict::Refused(_)), "{continuation:?}");
    }
    assert!(matches!(exact(PREFIX, "Sure, here is the rest: rocked at anchor."), Verdict::Refused(_)));
    assert!(matches!(exact(PREFIX, "The harbour lay still under a grey sky."), Verdict::Refused(_)));
}

#[test]
fn best_effort_takes_an_unanchored_join_too() {
    let verdict = decide(|| Seam::new(PREFIX, "a pale sky, and the boats", "", false, false), "Ships swung.");
    assert_eq!(verdict, joined(Join::Unanchored, "Ships swung."));
}

#[test]
fn stripped_blanks_appear_exactly_once() {
    for (stripped, continuation, expected, guessed) in [
        (" ", " second", "second", false),
        (" ", "second", "second", false),
        ("\n\n", "\n\nsecond", "second", false),
        ("\n\n", " second", "second", true),
        ("\n", "\n    indented", "    indented", false),
        ("\n\n", "\nsecond", "second", false),
        ("", "  kept", "  kept", false),
        ("\n", "", "", false),
    ] {
        let verdict =
            decide(|| Seam::new("First, and then some more words", "", stripped, true, true), continuation);
        let text = expected.to_owned();
        assert_eq!(
            verdict,
            Verdict::Joined { join: Join::Prefill, text, guessed_blanks: guessed },
            "{stripped:?} {continuation:?}"
        );
    }
}

#[test]
fn a_stop_sequence_across_the_seam_is_seen() {
    let sequences = ["END".to_owned(), "##".to_owned()];
    let mut watch = StopWatch::new(&sequences, "it is over E").expect("long enough");
    assert_eq!(watch.push("N"), Watched::Wait);
    assert_eq!(watch.push("D of it"), Watched::Stopped("END".to_owned()));
    let mut watch = StopWatch::new(&sequences, "it is over E").expect("long enough");
    assert_eq!(watch.push("N"), Watched::Wait);
    assert_eq!(watch.push("E"), Watched::Clear("NE".to_owned()));
    let mut watch = StopWatch::new(&sequences, "END").expect("long enough");
    assert_eq!(watch.push(" more"), Watched::Clear(" more".to_owned()), "it ended before the seam");
    assert!(StopWatch::new(&["x".to_owned()], "text").is_none());
}
