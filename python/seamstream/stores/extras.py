"""Imports a store's driver when it is needed, or says how to install it."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import ConfigurationError


def load_driver(module: str, extra: str) -> Any:
    """The module, or a ConfigurationError that names the pip line."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigurationError(
            f"this store needs {module.partition('.')[0]}: pip install 'seamstream[{extra}]'"
        ) from error
