//! `OpenAI` Responses: what an output item is. Its type says who acts on it: the model, the client or the provider.

use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::delta::PartKind;
use crate::dialect::objects::members;

/// How a call carries its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carries {
    /// JSON in pieces (`function_call`).
    Json,
    /// Free text in pieces (`custom_tool_call`).
    FreeText,
    /// The finished item itself (`apply_patch_call`, `computer_call`, ...).
    Item,
}

/// The members of an output item that matter here.
#[derive(Debug, Default)]
pub(super) struct Item<'a> {
    pub kind: Cow<'a, str>,
    pub id: Cow<'a, str>,
    pub call_id: Cow<'a, str>,
    pub name: Cow<'a, str>,
    /// What the client is to do, where the item carries that itself.
    payload: &'a [u8],
    for_client: bool,
    in_container: bool,
}

impl<'a> Item<'a> {
    pub(super) fn read(raw: &'a [u8]) -> Self {
        let mut item = Self::default();
        members(raw, |name, cursor| match name {
            b"type" => item.kind = cursor.string().unwrap_or_default(),
            b"id" => item.id = cursor.string().unwrap_or_default(),
            b"call_id" => item.call_id = cursor.string().unwrap_or_default(),
            b"name" => item.name = cursor.string().unwrap_or_default(),
            b"operation" | b"action" | b"actions" | b"arguments" | b"input" => {
                let value = cursor.skip();
                item.payload = if value == b"null" { item.payload } else { value };
            }
            b"execution" => item.for_client = cursor.string().as_deref() == Some("client"),
            b"environment" => item.in_container = kind_of(cursor.skip()).starts_with("container"),
            _ => {
                cursor.skip();
            }
        });
        item
    }

    /// The part that this item opens; `None` for what is no item at all.
    pub(super) fn part_kind(&self) -> Option<PartKind> {
        if self.carries().is_some() {
            return Some(PartKind::Tool);
        }
        match self.kind.as_ref() {
            "" => None,
            "message" => Some(PartKind::Text),
            "reasoning" => Some(PartKind::Reasoning),
            "mcp_list_tools" | "compaction" => Some(PartKind::Other),
            _ => Some(PartKind::Server),
        }
    }

    /// How this call carries its arguments; `None` for everything that the client does not execute.
    pub(super) fn carries(&self) -> Option<Carries> {
        match self.kind.as_ref() {
            "function_call" => Some(Carries::Json),
            "custom_tool_call" => Some(Carries::FreeText),
            "apply_patch_call" | "computer_call" | "local_shell_call" | "mcp_approval_request" => {
                Some(Carries::Item)
            }
            "shell_call" if !self.in_container => Some(Carries::Item),
            "tool_search_call" if self.for_client => Some(Carries::Item),
            _ => None,
        }
    }

    /// What the client names a call by. A call without a name of its own goes by its type.
    pub(super) fn names(self) -> (Cow<'a, str>, Cow<'a, str>) {
        let carries = self.carries();
        let id = if carries.is_none() || self.call_id.is_empty() { self.id } else { self.call_id };
        (id, if carries == Some(Carries::Item) { self.kind } else { self.name })
    }

    /// The arguments that stand in the item; JSON in a string is taken out of it.
    pub(super) fn arguments(&self) -> Option<Cow<'a, str>> {
        match self.payload.first() {
            None => None,
            Some(b'"') => Cursor::new(self.payload).string(),
            Some(_) => Some(String::from_utf8_lossy(self.payload)),
        }
    }
}

/// The `type` member of an object.
pub(super) fn kind_of(raw: &[u8]) -> Cow<'_, str> {
    let mut kind = Cow::Borrowed("");
    members(raw, |name, cursor| match name {
        b"type" => kind = cursor.string().unwrap_or_default(),
        _ => {
            cursor.skip();
        }
    });
    kind
}
