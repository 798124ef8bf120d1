"""Objects of the user's own code, by `module:name`, looked for in the working directory as Python does it."""

from __future__ import annotations

import importlib
import sys
from functools import reduce
from typing import Any

from ..errors import ConfigurationError


def load(spec: str) -> Any:
    """The object; ConfigurationError, with its cause, when there is none."""
    module, _, name = spec.partition(":")
    if not module or not name:
        raise ConfigurationError(f"{spec!r} is not of the form module:name")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a script that was installed does not look there
    try:
        return reduce(getattr, name.split("."), importlib.import_module(module))
    except Exception as error:
        raise ConfigurationError(f"{spec} cannot be loaded: {type(error).__name__}: {error}") from error
