"""seamstream: an LLM answer that breaks while it streams still reaches its reader whole."""
