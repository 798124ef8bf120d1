//! `OpenAI` Responses: the book of the output items on the reader's wire.
//!
//! The terminal event lists every item, and strict readers want each one that was added to be finished. So it is
//! noted what was opened and finished, and at which number; after a cut only the entries before the first event
//! that did not leave stay.

/// All items together may be kept up to this; of further ones only the fact is noted.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Which item: the attempt it came from, and its slot there.
type ItemKey = (u32, u32);

/// One output item.
#[derive(Debug)]
pub(super) struct Entry {
    pub index: u32,
    pub key: ItemKey,
    pub id: String,
    /// The item as it was added.
    pub raw: Vec<u8>,
    opened_at: u64,
    /// The content part of a message that was added last.
    content: Option<(u32, u64)>,
    /// Finished content parts of a message.
    contents: Vec<(u32, u64, Vec<u8>)>,
    annotations: Vec<(u64, Vec<u8>)>,
    done: Option<(u64, Vec<u8>)>,
}

impl Entry {
    pub(super) fn content(&self) -> Option<u32> {
        self.content.map(|(index, _)| index)
    }

    fn is_done(&self) -> bool {
        self.done.is_some()
    }

    /// The members of the item's `content`.
    pub(super) fn content_list(&self) -> Vec<u8> {
        let parts: Vec<&[u8]> = self.contents.iter().map(|(_, _, raw)| raw.as_slice()).collect();
        [b"[".as_slice(), &parts.join(b",".as_slice()), b"]"].concat()
    }

    /// The members of the open content's `annotations`.
    pub(super) fn annotation_list(&self) -> Vec<u8> {
        let notes: Vec<&[u8]> = self.annotations.iter().map(|(_, raw)| raw.as_slice()).collect();
        [b"[".as_slice(), &notes.join(b",".as_slice()), b"]"].concat()
    }
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Book {
    entries: Vec<Entry>,
    /// Finished items that did not leave before the cut.
    unsent: Vec<(ItemKey, Vec<u8>)>,
    kept_bytes: usize,
}

impl Book {
    pub(super) fn added(&mut self, index: u32, key: ItemKey, id: String, raw: &[u8], at: u64) {
        let raw = self.keep(raw);
        self.entries.retain(|entry| entry.index != index);
        self.entries.push(Entry {
            index,
            key,
            id,
            raw,
            opened_at: at,
            content: None,
            contents: Vec::new(),
            annotations: Vec::new(),
            done: None,
        });
    }

    pub(super) fn content_added(&mut self, index: u32, content: u32, at: u64) {
        if let Some(entry) = self.find_mut(index) {
            entry.content = Some((content, at));
            entry.annotations.clear();
        }
    }

    pub(super) fn annotated(&mut self, index: u32, annotation: &[u8], at: u64) {
        let raw = self.keep(annotation);
        if let Some(entry) = self.find_mut(index).filter(|_| !raw.is_empty()) {
            entry.annotations.push((at, raw));
        }
    }

    pub(super) fn content_done(&mut self, index: u32, content: u32, part: &[u8], at: u64) {
        let raw = self.keep(part);
        if let Some(entry) = self.find_mut(index) {
            entry.contents.retain(|(known, _, _)| *known != content);
            entry.contents.push((content, at, raw));
        }
    }

    pub(super) fn done(&mut self, index: u32, item: &[u8], at: u64) {
        let raw = self.keep(item);
        if let Some(entry) = self.find_mut(index) {
            entry.done = Some((at, raw));
        }
    }

    /// Of what limits allow.
    fn keep(&mut self, raw: &[u8]) -> Vec<u8> {
        self.kept_bytes = self.kept_bytes.saturating_add(raw.len());
        if self.kept_bytes > MAX_KEPT_BYTES { Vec::new() } else { raw.to_vec() }
    }

    /// `id`, or one made of it when another item of the reader's has it already.
    pub(super) fn unused(&self, id: &str, index: u32) -> String {
        let used = self.entries.iter().any(|entry| entry.id == id && entry.index != index);
        if used && !id.is_empty() { format!("{id}_{index}") } else { id.to_owned() }
    }

    pub(super) fn find(&self, index: u32) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.index == index)
    }

    fn find_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.entries.iter_mut().rev().find(|entry| entry.index == index)
    }

    /// Events from number `mark` on did not leave.
    pub(super) fn settle(&mut self, mark: u64) {
        for entry in &mut self.entries {
            if let Some((_, item)) = entry.done.take_if(|(at, _)| *at >= mark) {
                self.unsent.push((entry.key, item));
            }
            entry.content.take_if(|(_, at)| *at >= mark);
            entry.contents.retain(|(_, at, _)| *at < mark);
            entry.annotations.retain(|(at, _)| *at < mark);
        }
        self.entries.retain(|entry| entry.opened_at < mark);
    }

    pub(super) fn next_attempt(&mut self) {
        self.unsent.clear();
    }

    /// The finished form of an item that was received whole and has not left.
    pub(super) fn unsent(&self, key: ItemKey) -> Option<&[u8]> {
        self.unsent.iter().rev().find(|(known, _)| *known == key).map(|(_, item)| item.as_slice())
    }

    /// Items that were opened and never finished, in order.
    pub(super) fn unfinished(&self) -> Vec<u32> {
        self.entries.iter().filter(|entry| !entry.is_done()).map(|entry| entry.index).collect()
    }

    /// All finished items, in the order of their numbers, as an array.
    pub(super) fn output(&self) -> Vec<u8> {
        let mut items: Vec<(u32, &[u8])> = self
            .entries
            .iter()
            .filter_map(|entry| entry.done.as_ref().map(|(_, item)| (entry.index, item.as_slice())))
            .filter(|(_, item)| !item.is_empty())
            .collect();
        items.sort_by_key(|(index, _)| *index);
        let items: Vec<&[u8]> = items.into_iter().map(|(_, item)| item).collect();
        [b"[".as_slice(), &items.join(b",".as_slice()), b"]"].concat()
    }
}
