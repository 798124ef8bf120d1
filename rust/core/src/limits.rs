//! Every buffer of the core has a limit, and every limit a name.

/// Upper bounds of what one run may make the core hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one event. Passing it is an error: there is no way to forward half an event.
    pub max_event_bytes: usize,
    /// Bytes of accumulated text, reasoning and arguments. Passing it degrades the run.
    pub max_turn_bytes: usize,
    /// Nesting of tool arguments. Passing it degrades the run.
    pub max_json_depth: usize,
    /// Content parts of one turn. Passing it degrades the run.
    pub max_parts: usize,
    /// Bytes of an unfinished tool call that are held back; above it the call goes live.
    pub hold_tools_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_event_bytes: 16 << 20,
            max_turn_bytes: 64 << 20,
            max_json_depth: 512,
            max_parts: 4096,
            hold_tools_bytes: 4096,
        }
    }
}
