"""Continuations with the right verdict of each, and the core held to them."""
