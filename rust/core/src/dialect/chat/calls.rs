//! Which tool call a fragment belongs to, for all the ways in which servers number and name them.
//!
//! `index` is a key, not a position; a new id under a used index is a new call; without an index a new id opens a
//! call and anything else continues the latest one. Empty strings and nulls are absent.

use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::delta::{Delta, Key, PartKind};

#[derive(Debug)]
struct Call {
    choice: u32,
    index: Option<u64>,
    id: String,
    name: String,
    /// Number of the chunk that opened it.
    chunk: u64,
    closed: bool,
    /// Members of arguments that came as objects.
    members: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The calls of one attempt.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    chunk: u64,
}

/// One entry of `delta.tool_calls`.
#[derive(Default)]
struct Fragment<'a> {
    index: Option<u64>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: &'a [u8],
}

impl Calls {
    pub(super) fn next_chunk(&mut self) {
        self.chunk += 1;
    }

    pub(super) fn read_list<'a>(
        &mut self,
        choice: u32,
        cursor: &mut Cursor<'a>,
        deltas: &mut Vec<Delta<'a>>,
    ) {
        if !cursor.enter_array() {
            return;
        }
        while cursor.element() {
            if !cursor.enter_object() {
                continue;
            }
            let mut fragment = Fragment::default();
            while let Some(key) = cursor.key() {
                match key {
                    b"index" => fragment.index = cursor.unsigned(),
                    b"id" => fragment.id = cursor.filled_string(),
                    b"function" | b"custom" => read_function(cursor, &mut fragment),
                    _ => {
                        cursor.skip();
                    }
                }
            }
            self.take(choice, &fragment, deltas);
        }
    }

    /// The `function_call` form that came before `tool_calls`.
    pub(super) fn read_legacy<'a>(
        &mut self,
        choice: u32,
        cursor: &mut Cursor<'a>,
        deltas: &mut Vec<Delta<'a>>,
    ) {
        let mut fragment = Fragment { index: Some(0), ..Fragment::default() };
        read_function(cursor, &mut fragment);
        self.take(choice, &fragment, deltas);
    }

    fn take<'a>(&mut self, choice: u32, fragment: &Fragment<'a>, deltas: &mut Vec<Delta<'a>>) {
        let nothing = fragment.id.is_none() && fragment.name.is_none() && fragment.arguments.is_empty();
        let at = match self.continued(choice, fragment) {
            Some(at) => at,
            None if nothing => return,
            None => self.open(choice, fragment, deltas),
        };
        let call = &mut self.calls[at];
        let key = Key { choice, slot: slot(at) };
        if let Some(name) = &fragment.name
            && (call.name.is_empty() || *name != call.name)
        {
            call.name.push_str(name);
            deltas.push(Delta::Name { key, text: name.clone() });
        }
        push_arguments(call, key, fragment.arguments, deltas);
    }

    fn continued(&self, choice: u32, fragment: &Fragment<'_>) -> Option<usize> {
        let mine = |call: &Call| call.choice == choice;
        match (&fragment.id, fragment.index) {
            (Some(id), Some(index)) => self.calls.iter().rposition(|call| {
                mine(call)
                    && call.index == Some(index)
                    && (call.id.is_empty() || call.id == **id || fragment.name.is_none())
            }),
            (Some(id), None) => self.calls.iter().rposition(|call| mine(call) && call.id == **id),
            (None, Some(index)) => {
                self.calls.iter().rposition(|call| mine(call) && call.index == Some(index))
            }
            (None, None) => self.calls.iter().rposition(mine),
        }
    }

    /// A new call begins; calls that began in earlier chunks are over.
    fn open<'a>(&mut self, choice: u32, fragment: &Fragment<'a>, deltas: &mut Vec<Delta<'a>>) -> usize {
        for (at, call) in self.calls.iter_mut().enumerate() {
            if call.choice == choice && call.chunk < self.chunk && !call.closed {
                call.closed = true;
                deltas.push(Delta::Close { key: Key { choice, slot: slot(at) } });
            }
        }
        let at = self.calls.len();
        self.calls.push(Call {
            choice,
            index: fragment.index,
            id: fragment.id.as_deref().unwrap_or_default().to_owned(),
            name: String::new(),
            chunk: self.chunk,
            closed: false,
            members: Vec::new(),
        });
        let index = fragment.index.and_then(|index| u32::try_from(index).ok()).unwrap_or_else(|| slot(at));
        deltas.push(Delta::Open {
            key: Key { choice, slot: slot(at) },
            kind: PartKind::Tool,
            index,
            id: fragment.id.clone().unwrap_or_default(),
            name: Cow::Borrowed(""),
            raw: b"",
        });
        at
    }
}

fn slot(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn read_function<'a>(cursor: &mut Cursor<'a>, fragment: &mut Fragment<'a>) {
    if cursor.peek() != Some(b'{') || !cursor.enter_object() {
        cursor.skip();
        return;
    }
    while let Some(key) = cursor.key() {
        match key {
            b"name" => fragment.name = cursor.filled_string(),
            b"arguments" | b"input" => fragment.arguments = cursor.skip(),
            _ => {
                cursor.skip();
            }
        }
    }
}

fn push_arguments<'a>(call: &mut Call, key: Key, raw: &'a [u8], deltas: &mut Vec<Delta<'a>>) {
    match raw.first() {
        Some(b'"') => {
            if let Some(text) = Cursor::new(raw).filled_string() {
                deltas.push(Delta::Arguments { key, text });
            }
        }
        Some(b'{') => {
            merge_members(&mut call.members, raw);
            deltas.push(Delta::ReplaceArguments { key, text: object_of(&call.members) });
        }
        _ => {}
    }
}

/// Arguments that come as objects replace each other member by member.
fn merge_members(members: &mut Vec<(Vec<u8>, Vec<u8>)>, raw: &[u8]) {
    let mut cursor = Cursor::new(raw);
    cursor.enter_object();
    while let Some(key) = cursor.key() {
        let value = cursor.skip().to_vec();
        match members.iter_mut().find(|(known, _)| known == key) {
            Some(member) => member.1 = value,
            None => members.push((key.to_vec(), value)),
        }
    }
}

fn object_of(members: &[(Vec<u8>, Vec<u8>)]) -> String {
    let mut out = vec![b'{'];
    for (at, (key, value)) in members.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value);
    }
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}
