//! Collects what leaves during one feed, without a copy while it is exactly what came in.

use super::Output;

#[derive(Debug)]
pub(super) struct Outbox<'a> {
    input: &'a [u8],
    /// A run of input that leaves as it is and is not copied yet.
    from: usize,
    to: usize,
    out: Vec<u8>,
}

impl<'a> Outbox<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, from: 0, to: 0, out: Vec::new() }
    }

    pub(super) fn input(&self) -> &'a [u8] {
        self.input
    }

    /// Input bytes `from..to` leave.
    pub(super) fn pass(&mut self, from: usize, to: usize) {
        if self.to != from {
            self.flush();
            self.from = from;
        }
        self.to = to;
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.flush();
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn push_with<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        self.flush();
        write(&mut self.out)
    }

    fn flush(&mut self) {
        self.out.extend_from_slice(&self.input[self.from..self.to]);
        self.from = self.to;
    }

    /// `whole_input`: the input is the very chunk that was fed.
    pub(super) fn finish(mut self, used: usize, whole_input: bool) -> Output {
        let everything = self.from == 0 && self.to == self.input.len() && used == self.input.len();
        if whole_input && everything && self.out.is_empty() {
            return Output::Same;
        }
        self.flush();
        Output::Bytes(self.out)
    }
}
