//! Stop sequences that straddle a seam.

/// What a stop watch says about new text.
#[derive(Debug, PartialEq, Eq)]
pub enum Watched {
    /// A sequence may be in the making: hold.
    Wait,
    /// This text may leave; the watch is over.
    Clear(String),
    /// A stop sequence straddles the seam: the answer ends before this text.
    Stopped(String),
}

/// Looks for a stop sequence that begins before the seam and ends after it: no provider can see that one.
#[derive(Debug)]
pub struct StopWatch {
    sequences: Vec<String>,
    /// The last characters before the seam, then what came after it.
    window: String,
    before: usize,
}

impl StopWatch {
    /// `None` when no sequence is long enough to straddle anything.
    pub fn new(sequences: &[String], text: &str) -> Option<Self> {
        let longest = sequences.iter().map(|sequence| sequence.chars().count()).max().unwrap_or(0);
        if longest < 2 {
            return None;
        }
        let window: String = text.chars().skip(text.chars().count().saturating_sub(longest - 1)).collect();
        Some(Self { sequences: sequences.to_vec(), before: window.len(), window })
    }

    pub fn push(&mut self, text: &str) -> Watched {
        self.window.push_str(text);
        let mut open = false;
        for (start, _) in self.window[..self.before].char_indices() {
            let candidate = &self.window[start..];
            for sequence in &self.sequences {
                if candidate.starts_with(sequence.as_str()) && start + sequence.len() > self.before {
                    return Watched::Stopped(sequence.clone());
                }
                open |= sequence.starts_with(candidate);
            }
        }
        if open { Watched::Wait } else { Watched::Clear(self.window.split_off(self.before)) }
    }

    /// No more text will come: what is held may leave.
    pub fn conclude(mut self) -> String {
        self.window.split_off(self.before)
    }
}
