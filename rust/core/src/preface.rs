//! How a reply begins that speaks about the answer instead of going on with it.
//!
//! The one place where words count. Two short lists: what announces, excuses or declines wherever it stands, and what
//! only cannot begin in the middle of a sentence. A phrase that is missing here costs nothing where an echo was asked
//! for; where none was, the preface would be taken for text.

/// Does a text begin in a certain way, as far as it goes?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    No,
    /// More characters are needed.
    Maybe,
    Yes,
}

/// May stand before an announcement.
const ASSENTS: [&str; 6] = ["sure", "certainly", "of course", "absolutely", "okay", "ok"];

/// Announce, excuse or decline, even where a sentence may begin.
const ANNOUNCEMENTS: [&str; 45] = [
    "here is the rest",
    "here's the rest",
    "here is the continuation",
    "here's the continuation",
    "here is the remain",
    "here's the remain",
    "here is the complete",
    "here's the complete",
    "here is the full",
    "here's the full",
    "i'll continue",
    "i will continue",
    "i'll pick up",
    "i'll go on",
    "let me continue",
    "continuing from",
    "continuing where",
    "picking up from",
    "picking up where",
    "resuming from",
    "as i was saying",
    "i apologize for the",
    "apologies for the",
    "sorry for the inter",
    "sorry about the inter",
    "sorry, but i can",
    "i'm sorry, but i",
    "i am sorry, but i",
    "i'm sorry, i can",
    "i can't continue",
    "i cannot continue",
    "i can't help",
    "i cannot help",
    "i can't assist",
    "i cannot assist",
    "i'm unable to",
    "as an ai",
    "natürlich, hier",
    "bien sûr, voici",
    "claro, aquí",
    "好的，以下",
    "当然，以下",
    "好的，继续",
    "抱歉，我",
    "もちろんです",
];

/// Capitalised, these do not stand in the middle of a sentence.
const OPENERS: [&str; 12] = [
    "sure",
    "certainly",
    "of course",
    "here is",
    "here's",
    "here are",
    "continuing",
    "i apologize",
    "apologies",
    "sorry",
    "as i was saying",
    "picking up",
];

/// No phrase of the lists is longer than this, with an assent before it.
const LOOKED_AT_CHARS: usize = 48;

/// Is what was said so far an announcement? `last`: no more will come.
pub fn announcement(said: &[char], last: bool) -> Likeness {
    let said = normal(said);
    let mut found = begins_with_any(&said, &ANNOUNCEMENTS, last);
    for assent in ASSENTS {
        found = found.max(match said.strip_prefix(assent) {
            Some("") => undecided(last),
            Some(rest) if rest.starts_with([',', '.', '!', ':']) => {
                begins_with_any(rest[1..].trim_start(), &ANNOUNCEMENTS, last)
            }
            None if assent.starts_with(&said) => undecided(last),
            Some(_) | None => Likeness::No,
        });
    }
    found
}

/// Does what was said so far begin with a word that opens a reply, in capitals?
pub fn opener(said: &[char], last: bool) -> Likeness {
    if !said.first().is_some_and(|first| first.is_uppercase()) {
        return Likeness::No;
    }
    let said = normal(said);
    let mut found = Likeness::No;
    for opener in OPENERS {
        found = found.max(match said.strip_prefix(opener) {
            Some("") if last => Likeness::Yes,
            Some("") => Likeness::Maybe,
            Some(rest) if rest.starts_with(char::is_alphanumeric) => Likeness::No,
            Some(_) => Likeness::Yes,
            None if opener.starts_with(&said) => undecided(last),
            None => Likeness::No,
        });
    }
    found
}

fn begins_with_any(said: &str, phrases: &[&str], last: bool) -> Likeness {
    if phrases.iter().any(|phrase| said.starts_with(phrase)) {
        return Likeness::Yes;
    }
    if phrases.iter().any(|phrase| phrase.starts_with(said)) { undecided(last) } else { Likeness::No }
}

fn undecided(last: bool) -> Likeness {
    if last { Likeness::No } else { Likeness::Maybe }
}

/// The beginning in lower case, without the blanks before it, with plain apostrophes.
fn normal(said: &[char]) -> String {
    let start = said.iter().skip_while(|c| c.is_whitespace()).take(LOOKED_AT_CHARS);
    start.collect::<String>().to_lowercase().replace('’', "'")
}
