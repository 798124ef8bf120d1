"""The driver: one run of an answer over all its attempts, without any I/O of its own."""

from .run import Driver
from .spec import RunSpec, Services

__all__ = ["Driver", "RunSpec", "Services"]
