"""What the test model raises for a request that its provider would refuse."""

from __future__ import annotations


class RejectedError(Exception):
    """The request is one that a provider answers with 400 `invalid_request_error`."""
