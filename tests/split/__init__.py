"""The result of the core does not depend on how the bytes were cut into chunks."""
