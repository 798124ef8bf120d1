"""Every stream cut at every byte: the reader gets the same answer, or an honest failure."""
