//! Arguments of a Gemini call that come in pieces, each under the JSON path of the value it belongs to.
//!
//! They are put together once, when the call is over: until then nobody could use them, and writing the object
//! again for every piece would be quadratic.

use crate::cursor::{Cursor, string_into};

/// Deeper or larger than any real arguments; beyond it the call cannot be put together.
const MAX_DEPTH: usize = 128;

#[derive(Debug, PartialEq, Eq)]
enum Node {
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Text(String),
    /// A number, a truth value or null, as it was sent.
    Raw(Vec<u8>),
}

/// The arguments of one call in the making.
#[derive(Debug)]
pub(super) struct Arguments {
    root: Node,
    broken: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { root: Node::Object(Vec::new()), broken: false }
    }
}

enum Step {
    Key(String),
    Index(usize),
}

impl Arguments {
    /// Takes a `partialArgs` list.
    pub(super) fn take(&mut self, raw: &[u8]) {
        let mut cursor = Cursor::new(raw);
        if !cursor.enter_array() {
            return;
        }
        while cursor.element() {
            if cursor.enter_object() {
                self.take_piece(&mut cursor);
            }
        }
    }

    fn take_piece(&mut self, cursor: &mut Cursor<'_>) {
        let (mut path, mut value) = (None, Node::Raw(b"null".to_vec()));
        while let Some(key) = cursor.key() {
            match key {
                b"jsonPath" => path = cursor.string(),
                b"stringValue" => value = Node::Text(cursor.string().unwrap_or_default().into_owned()),
                b"numberValue" | b"boolValue" => value = Node::Raw(cursor.skip().to_vec()),
                _ => {
                    cursor.skip();
                }
            }
        }
        let steps = path.as_deref().and_then(steps_of);
        let place = steps.as_deref().and_then(|steps| place(&mut self.root, steps));
        match (place, value) {
            (Some(Node::Text(text)), Node::Text(more)) => text.push_str(&more),
            (Some(place), value) => *place = value,
            (None, _) => self.broken = true,
        }
    }

    /// The object as JSON; when it could not be put together, a beginning that nobody takes for whole.
    pub(super) fn finish(&self, whole: bool) -> String {
        if self.broken || !whole {
            return "{".to_owned();
        }
        let mut out = Vec::new();
        write(&self.root, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// `$.recipe.steps[3]['a b']` as steps.
fn steps_of(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_DEPTH {
            return None;
        }
        let (step, after) = if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            (Step::Key(named[..end].to_owned()), &named[end..])
        } else {
            bracketed(rest.strip_prefix('[')?)?
        };
        steps.push(step);
        rest = after;
    }
    (!steps.is_empty()).then_some(steps)
}

/// What stands behind a `[`: a number, or a name in quotes.
fn bracketed(inside: &str) -> Option<(Step, &str)> {
    for quote in ['\'', '"'] {
        if let Some(quoted) = inside.strip_prefix(quote) {
            let end = quoted.find([quote])?;
            let after = quoted[end + 1..].strip_prefix(']')?;
            return Some((Step::Key(quoted[..end].to_owned()), after));
        }
    }
    let end = inside.find(']')?;
    Some((Step::Index(inside[..end].parse().ok()?), &inside[end + 1..]))
}

/// Where a path leads, made on the way; `None` where it contradicts what is there or leaves out elements.
fn place<'a>(root: &'a mut Node, steps: &[Step]) -> Option<&'a mut Node> {
    let mut node = root;
    for (at, step) in steps.iter().enumerate() {
        let fresh = || match steps.get(at + 1) {
            Some(Step::Key(_)) => Node::Object(Vec::new()),
            Some(Step::Index(_)) => Node::Array(Vec::new()),
            None => Node::Raw(Vec::new()),
        };
        node = match (step, node) {
            (Step::Key(name), Node::Object(members)) => {
                let found = members.iter().rposition(|(known, _)| known == name).unwrap_or_else(|| {
                    members.push((name.clone(), fresh()));
                    members.len() - 1
                });
                &mut members[found].1
            }
            (Step::Index(index), Node::Array(elements)) => {
                if *index == elements.len() {
                    elements.push(fresh());
                }
                elements.get_mut(*index)?
            }
            _ => return None,
        };
    }
    Some(node)
}

fn write(node: &Node, out: &mut Vec<u8>) {
    match node {
        Node::Text(text) => string_into(text, out),
        Node::Raw(raw) => out.extend_from_slice(raw),
        Node::Object(members) => {
            out.push(b'{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                string_into(name, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
        Node::Array(elements) => {
            out.push(b'[');
            for (at, value) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(value, out);
            }
            out.push(b']');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    fn joined(pieces: &[&str]) -> String {
        let mut arguments = Arguments::default();
        for piece in pieces {
            arguments.take(piece.as_bytes());
        }
        arguments.finish(true)
    }

    #[test]
    fn pieces_grow_where_their_paths_lead() {
        let got = joined(&[
            r#"[{"jsonPath":"$.a.b[0]","stringValue":"x\"","willContinue":true}]"#,
            r#"[{"jsonPath":"$.a.b[0]","stringValue":"y"},{"jsonPath":"$.a.b[1]","numberValue":0.5}]"#,
            r#"[{"jsonPath":"$['c d']","boolValue":true},{"jsonPath":"$.n","nullValue":"NULL_VALUE"}]"#,
        ]);
        assert_eq!(got, r#"{"a":{"b":["x\"y",0.5]},"c d":true,"n":null}"#);
    }

    #[test]
    fn nothing_is_the_empty_object() {
        assert_eq!(joined(&[]), "{}");
    }

    #[test]
    fn a_path_that_leads_nowhere_leaves_the_call_unfinished() {
        for path in ["$.a[7]", "a", "$", "$[x]", "$['q", "$.b.c"] {
            let piece =
                format!(r#"[{{"jsonPath":"$.b","numberValue":1}},{{"jsonPath":"{path}","numberValue":2}}]"#);
            assert_eq!(joined(&[&piece]), "{", "{path}");
        }
    }
}
