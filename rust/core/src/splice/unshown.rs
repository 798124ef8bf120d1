//! What was received and has not left: written for the reader, or dropped.

use super::{Reader, Splice};
use crate::delta::PartKind;
use crate::turn::{Change, Effect};

impl Splice {
    /// The held events in front of the first part, verbatim.
    pub(super) fn write_envelope(&mut self, out: &mut Vec<u8>) {
        if !self.begun && !self.rewriting {
            self.begun |= self.hold.release_envelope(out);
            self.dialect.settle(self.hold.first_mark().unwrap_or(self.mark));
        }
    }

    /// Writes what was received and has not left; blanks at the end of a text are dropped, the model sends them again.
    pub(super) fn write_unshown(&mut self, out: &mut Vec<u8>) {
        self.drop_unshown();
        for index in 0..self.turn.parts.len() {
            let part = &mut self.turn.parts[index];
            let shown = part.shown;
            if matches!(part.kind, PartKind::Text | PartKind::Refusal)
                && part.text[shown.bytes..].trim().is_empty()
            {
                part.text.truncate(shown.bytes);
            }
            if shown.opened || !part.text.is_empty() {
                self.write_rest(index, out);
            }
        }
        self.turn.parts.retain(|part| part.shown.opened || !part.text.is_empty());
    }

    /// Parts whose events are only passed on cannot be written any more.
    pub(super) fn drop_unshown(&mut self) {
        let dialect = &self.dialect;
        self.turn.parts.retain(|part| part.shown.opened || dialect.rewrites(part.kind));
    }

    /// Writes what of one part has not left, its closing excepted.
    pub(super) fn write_rest(&mut self, index: usize, out: &mut Vec<u8>) {
        let part = &self.turn.parts[index];
        let (shown, bytes, signature) = (part.shown, part.text.len(), part.signature.len());
        if !shown.opened {
            self.write_effect(Effect { part: index, change: Change::Opened }, out);
        }
        if shown.bytes < bytes {
            self.write_effect(
                Effect { part: index, change: Change::Text { from: shown.bytes, to: bytes } },
                out,
            );
        }
        if shown.signature < signature {
            let change = Change::Signature { from: shown.signature, to: signature };
            self.write_effect(Effect { part: index, change }, out);
        }
        let part = &mut self.turn.parts[index];
        part.shown.opened = true;
        part.shown.bytes = bytes;
        part.shown.signature = signature;
    }

    /// Closes every part on the reader's wire but the one that goes on.
    pub(super) fn close_shown_parts(&mut self, except: Option<usize>, out: &mut Vec<u8>) {
        for index in 0..self.turn.parts.len() {
            let part = &mut self.turn.parts[index];
            if part.shown.opened && !part.shown.closed && except != Some(index) {
                part.closed = true;
                part.shown.closed = true;
                if part.kind == PartKind::Reasoning && part.signature.is_empty() {
                    self.unsigned.push(part.text[..part.shown.bytes].to_owned());
                }
                if self.options.reader == Reader::Bytes {
                    self.write_effect(Effect { part: index, change: Change::Closed }, out);
                }
            }
        }
    }
}
