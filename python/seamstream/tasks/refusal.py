"""The error of an operation on a task that would break a promise."""

from __future__ import annotations

from ..errors import SeamstreamError


class Refused(SeamstreamError):
    """The task does not allow what was asked now; nothing was changed."""
