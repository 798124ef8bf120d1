"""Transports: open a request, give chunks, report facts; their exceptions end here."""
