//! `JsonScanner` against `serde_json`: on every prefix of documents, on damaged documents, and however bytes are cut.

use proptest::prelude::*;
use proptest::sample::Index;
use seamstream_core::json::{JsonScanner, JsonState};
use serde::de::IgnoredAny;

const MAX_DEPTH: usize = 512;

const DOCUMENTS: &[&str] = &[
    "{}",
    " { } ",
    "[]",
    "null",
    "\ttrue \r\n",
    "false",
    "0",
    "-0.0e-0",
    "12",
    "-1.5E+10",
    "\"\"",
    r#""\"\\\/\b\f\n\r\t\u0000\uD83E\uDDAD\ud83e""#,
    r#"{"t":"w\n\ud83e\uddad"}"#,
    "{\"rows\":[{\"w\":4},{\"w\":5}], \"z\" : [ ] ,\"é漢🦭\":\"é漢🦭 and more\"}",
    "[1,2.5,-3e2,[[[null]]],{\"a\":{\"b\":[true,false]}}]",
    "{\"code\":\"while k: [{ \\\" }]\",\"n\":8}",
    "[\"a long text that fills more than one machine word, twice\",\"\x7f\"]",
];

const INVALID: &[(&str, usize)] = &[
    ("{}}", 2),
    ("{} x", 3),
    ("1 2", 2),
    ("01", 1),
    ("-x", 1),
    (".5", 0),
    ("1.e", 2),
    ("1e+,", 3),
    ("[1,]", 3),
    ("[,", 1),
    ("{,", 1),
    ("{\"a\":1,}", 7),
    ("{\"a\" 1", 5),
    ("{\"a\":}", 5),
    ("{1", 1),
    ("[}", 1),
    ("{]", 1),
    ("[1}", 2),
    ("{\"a\":1]", 6),
    ("]", 0),
    ("NaN", 0),
    ("nan", 1),
    ("Infinity", 0),
    ("-Infinity", 1),
    ("True", 0),
    ("trux", 3),
    ("nulll", 4),
    ("'a'", 0),
    ("\"a\nb\"", 2),
    ("\"01234567\x1f\"", 9),
    ("\"\\U\"", 2),
    ("\"\\u12g", 5),
    ("{\"p\":\"C:\\Users", 9),
    ("\u{feff}{}", 0),
    ("[1 2", 3),
    ("// c", 0),
];

fn scan(bytes: &[u8]) -> JsonScanner {
    let mut scanner = JsonScanner::new(MAX_DEPTH);
    scanner.push(bytes);
    scanner
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

fn display(scanner: &JsonScanner, bytes: &[u8]) -> Vec<u8> {
    let suffix = scanner.suffix().expect("an open value has a suffix");
    [&bytes[..scanner.display_cut()], suffix.as_bytes()].concat()
}

/// What must hold after every prefix of a valid document.
fn check_prefixes(document: &[u8]) {
    let mut shown = 0;
    for length in 0..=document.len() {
        let prefix = &document[..length];
        let mut scanner = scan(prefix);
        assert_ne!(scanner.state(), JsonState::Invalid, "{:?}", String::from_utf8_lossy(prefix));
        let form = display(&scanner, prefix);
        assert!(is_json(&form), "display form {:?}", String::from_utf8_lossy(&form));
        assert!(std::str::from_utf8(&form).is_ok(), "half a character in {form:?}");
        assert!(scanner.display_cut() >= shown, "the display form shrank at {length}");
        shown = scanner.display_cut();
        let complete = scanner.finish() == JsonState::Complete;
        assert_eq!(complete, is_json(prefix), "{:?}", String::from_utf8_lossy(prefix));
    }
}

#[test]
fn every_prefix_of_a_document_agrees_with_serde_json() {
    for document in DOCUMENTS {
        check_prefixes(document.as_bytes());
    }
}

#[test]
fn the_first_impossible_byte_is_named_and_stays() {
    for (text, at) in INVALID {
        let mut scanner = scan(text.as_bytes());
        assert_eq!(scanner.invalid_at(), Some(*at), "{text:?}");
        assert_ne!(scan(&text.as_bytes()[..*at]).state(), JsonState::Invalid, "{text:?}");
        assert!(!is_json(text.as_bytes()), "{text:?}");
        assert_eq!(scanner.push(b"{}"), JsonState::Invalid);
        assert_eq!(scanner.finish(), JsonState::Invalid);
        assert_eq!(scanner.invalid_at(), Some(*at));
        assert_eq!(scanner.suffix(), None);
        assert_eq!(scanner.offset(), text.len() + 2);
        assert!(!scanner.limit_passed());
    }
}

#[test]
fn display_form_of_open_values() {
    let cases = [
        ("", "null"),
        ("  ", "null"),
        ("tru", "null"),
        ("-", "null"),
        ("12", "12"),
        ("12.", "12"),
        ("1e-", "1"),
        ("\"ab", "\"ab\""),
        ("{", "{}"),
        ("{\"ke", "{}"),
        ("{\"key\"", "{}"),
        ("{\"key\": ", "{}"),
        ("{\"key\": nul", "{}"),
        ("{\"key\": \"", "{\"key\": \"\"}"),
        ("{\"a\":1,", "{\"a\":1}"),
        ("{\"a\":1,\"b", "{\"a\":1}"),
        ("[1, ", "[1]"),
        ("[1, -", "[1]"),
        ("[1, -2.", "[1, -2]"),
        ("[[{\"a\":[", "[[{\"a\":[]}]]"),
        ("{\"rows\":[{\"w\":4},{\"w\":5", "{\"rows\":[{\"w\":4},{\"w\":5}]}"),
        ("{\"src\":\"while k: [{\",\"z\":[8", "{\"src\":\"while k: [{\",\"z\":[8]}"),
        ("[\"a\\", "[\"a\"]"),
        ("[\"a\\u00e", "[\"a\"]"),
        ("[\"a\\u00e9", "[\"a\\u00e9\"]"),
        ("[\"a\\ud83e", "[\"a\"]"),
        ("[\"a\\ud83e\\", "[\"a\"]"),
        ("[\"a\\ud83e\\udda", "[\"a\"]"),
        ("[\"a\\ud83e\\uddad", "[\"a\\ud83e\\uddad\"]"),
        ("[\"a\\ud83e\\ud83e", "[\"a\\ud83e\"]"),
        ("[\"a\\ud83ex", "[\"a\\ud83ex\"]"),
        ("[\"a\\ud83e\\n", "[\"a\\ud83e\\n\"]"),
    ];
    for (text, form) in cases {
        let shown = display(&scan(text.as_bytes()), text.as_bytes());
        assert_eq!(String::from_utf8_lossy(&shown), form, "{text:?}");
    }
}

#[test]
fn facts_about_the_beginning() {
    for (text, blank, object, empty) in [
        ("", true, false, false),
        (" \r\n", true, false, false),
        (" {", false, true, false),
        ("{}", false, true, true),
        (" {\n} ", false, true, true),
        ("{\"a\":{}}", false, true, false),
        ("[{}]", false, false, false),
        ("[]", false, false, false),
        ("{}x", false, true, false),
        ("x", false, false, false),
    ] {
        let scanner = scan(text.as_bytes());
        assert_eq!(scanner.is_blank(), blank, "{text:?}");
        assert_eq!(scanner.starts_object(), object, "{text:?}");
        assert_eq!(scanner.is_empty_object(), empty, "{text:?}");
    }
}

#[test]
fn a_bare_number_is_complete_at_the_end_or_at_a_blank() {
    assert_eq!(scan(b"12").state(), JsonState::Open);
    assert_eq!(scan(b"12 ").state(), JsonState::Complete);
    let mut scanner = scan(b"12");
    assert_eq!(scanner.finish(), JsonState::Complete);
    assert_eq!(scanner.push(b"3"), JsonState::Invalid);
    assert_eq!(scanner.invalid_at(), Some(2));
    assert_eq!(scan(b"[12").finish(), JsonState::Open);
    assert_eq!(scan(b"1.").finish(), JsonState::Open);
}

#[test]
fn depth_is_limited_and_the_limit_is_told_apart() {
    let mut scanner = scan("[".repeat(MAX_DEPTH).as_bytes());
    assert_eq!((scanner.state(), scanner.depth()), (JsonState::Open, MAX_DEPTH));
    assert_eq!(scanner.push(b"{"), JsonState::Invalid);
    assert_eq!(scanner.invalid_at(), Some(MAX_DEPTH));
    assert!(scanner.limit_passed());
    assert_eq!(JsonScanner::new(0).push(b"1 "), JsonState::Complete);
    assert_eq!(JsonScanner::new(0).push(b"{}"), JsonState::Invalid);
}

#[test]
fn deep_nesting_needs_no_machine_stack() {
    const LEVELS: usize = 100_000;
    let mut scanner = JsonScanner::new(LEVELS);
    for level in 0..LEVELS {
        scanner.push(if level % 3 == 0 { b"[" } else { b"{\"a\":" });
    }
    assert_eq!((scanner.state(), scanner.depth()), (JsonState::Open, LEVELS));
    scanner.push(b"1");
    let suffix = scanner.suffix().expect("open");
    assert_eq!(suffix.len(), LEVELS);
    assert_eq!(scanner.push(suffix.as_bytes()), JsonState::Complete);
}

#[test]
fn invalid_utf8_in_strings_is_bytes() {
    assert_eq!(scan(b"\"\xff\x80\xe2\"").state(), JsonState::Complete);
    assert_eq!(scan(b"\"a\xe2\x82").display_cut(), 2);
    assert_eq!(scan(b"\"a\xf0\x9f\xa6").display_cut(), 2);
    assert_eq!(scan(b"\xff").invalid_at(), Some(0));
}

fn quoted_text() -> impl Strategy<Value = String> + Clone {
    let part = prop_oneof![
        r#"[^"\\\x00-\x1f]{0,12}"#,
        r#"\\["\\/bfnrt]"#,
        r"\\u[0-9a-fA-F]{4}",
        r"\\u[dD][89abAB][0-9a-f]{2}\\u[dD][c-f][0-9a-f]{2}",
    ];
    proptest::collection::vec(part, 0..4).prop_map(|parts| format!("\"{}\"", parts.concat())).boxed()
}

fn spaced(inner: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    const BLANK: &str = "[ \t\r\n]{0,2}";
    (BLANK, inner, BLANK).prop_map(|(before, value, after)| before + &value + &after).boxed()
}

/// JSON text with odd spacing, every kind of escape and a few levels of nesting.
fn json_text() -> BoxedStrategy<String> {
    let number = r"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?";
    let leaf = prop_oneof!["null|true|false", number, quoted_text()];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        let value = spaced(inner);
        let member = (spaced(quoted_text()), value.clone()).prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            proptest::collection::vec(value, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(member, 0..4).prop_map(|items| format!("{{{}}}", items.join(","))),
        ]
    });
    spaced(value)
}

fn damaged_json_text() -> impl Strategy<Value = Vec<u8>> {
    let byte = proptest::sample::select(br#"{}[]",:\/untrfalse0159-+.E x"#.to_vec());
    let damages = proptest::collection::vec((any::<Index>(), byte, any::<bool>()), 1..4);
    (json_text(), damages).prop_map(|(text, damages)| {
        let mut bytes = text.into_bytes();
        for (index, byte, replace) in damages {
            let at = index.index(bytes.len());
            if replace {
                bytes[at] = byte;
            } else {
                bytes.insert(at, byte);
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn prefixes_of_any_document(document in json_text()) {
        prop_assert!(is_json(document.as_bytes()));
        check_prefixes(document.as_bytes());
    }

    #[test]
    fn damaged_documents(bytes in damaged_json_text()) {
        let mut scanner = scan(&bytes);
        if let Some(at) = scanner.invalid_at() {
            prop_assert!(!is_json(&bytes));
            // The bytes before the error can still be made whole, so the error is not named too late.
            let before = &bytes[..at];
            prop_assert!(is_json(&display(&scan(before), before)));
            prop_assert_eq!(scan(&bytes[..=at]).invalid_at(), Some(at));
        } else {
            prop_assert!(is_json(&display(&scanner, &bytes)));
            prop_assert_eq!(scanner.finish() == JsonState::Complete, is_json(&bytes));
        }
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let text = [b"\"", bytes.as_slice(), b"\""].concat();
        prop_assert_eq!(scan(&text).state() == JsonState::Complete, is_json(&text));
        prop_assert_eq!(scan(&bytes).finish() == JsonState::Complete, is_json(&bytes));
    }

    #[test]
    fn the_cuts_do_not_matter(
        bytes in damaged_json_text(),
        cuts in proptest::collection::vec(any::<Index>(), 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut in_pieces = JsonScanner::new(MAX_DEPTH);
        for pair in cuts.windows(2) {
            in_pieces.push(&bytes[pair[0]..pair[1]]);
        }
        let mut byte_by_byte = JsonScanner::new(MAX_DEPTH);
        for byte in &bytes {
            byte_by_byte.push(&[*byte]);
        }
        prop_assert_eq!(&in_pieces, &scan(&bytes));
        prop_assert_eq!(&byte_by_byte, &scan(&bytes));
    }
}
