//! Small questions about text at a seam.

use crate::preface::Likeness;

/// What closes a quotation that `mark` opens.
pub(super) fn closing_of(mark: char) -> Option<&'static [char]> {
    match mark {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '`' => Some(&['`']),
        '“' => Some(&['”']),
        '„' => Some(&['“', '”']),
        '‘' => Some(&['’']),
        '«' => Some(&['»']),
        '「' => Some(&['」']),
        '『' => Some(&['』']),
        _ => None,
    }
}

pub(super) fn count_fences(text: &[char]) -> usize {
    text.split(|c| *c == '\n').filter(|line| line.starts_with(&['`', '`', '`'])).count()
}

/// Does `text` begin like `model`, as far as it goes?
pub(super) fn begins_like(text: &[char], model: &[char]) -> Likeness {
    if text.starts_with(model) {
        Likeness::Yes
    } else if model.starts_with(text) {
        Likeness::Maybe
    } else {
        Likeness::No
    }
}

/// `shown` blanks had to be stripped from the prefix; `new` are the continuation's leading blanks.
pub(super) fn align_blanks(shown: &str, new: &str) -> (String, bool) {
    if shown.is_empty() {
        return (new.to_owned(), false);
    }
    if let Some(rest) = new.strip_prefix(shown) {
        return (rest.to_owned(), false);
    }
    (String::new(), !shown.starts_with(new))
}
