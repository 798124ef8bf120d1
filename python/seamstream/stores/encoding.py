"""Frozen records as plain JSON values and back, by their type hints.

Only what the records of this package use is known: strings, numbers, bytes (as base64), tuples of one type,
options, mappings of plain data and nested records. A field that is missing takes its default; one too many is
an error, because it would be lost silently.
"""

from __future__ import annotations

import base64
import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def encode_record(value: Any) -> Any:
    """A record, or a value of one of its fields, as plain JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode_record(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [encode_record(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return dict(value) if isinstance(value, Mapping) else value


def decode_record(cls: type[T], data: Any) -> T:
    """The record that `encode_record` made `data` from; TypeError or ValueError when it made no such."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{data!r:.40} is no {cls.__name__}")
    hints = get_type_hints(cls)
    if unknown := data.keys() - hints.keys():
        raise ValueError(f"{cls.__name__} has no field {', '.join(sorted(unknown))}")
    return cls(**{name: _decode(hints[name], value) for name, value in data.items()})


def _decode(hint: Any, value: Any) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        inner = next(option for option in get_args(hint) if option is not types.NoneType)
        return None if value is None else _decode(inner, value)
    if origin is tuple:
        return tuple(_decode(get_args(hint)[0], item) for item in _checked(list, (), value))
    if hint is bytes:
        return base64.b64decode(value, validate=True)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return decode_record(hint, value)
    return _checked(origin or hint, get_args(hint), value)


def _checked(kind: Any, options: tuple[Any, ...], value: Any) -> Any:
    """A plain value of its field's type: a number where a text should be would break much later."""
    if kind is Literal:
        fits = value in options
    elif kind is bool or isinstance(value, bool):
        fits = kind is bool and isinstance(value, bool)
    else:
        fits = isinstance(value, (float, int) if kind is float else kind)
    if not fits:
        raise TypeError(f"{value!r:.40} is no {getattr(kind, '__name__', kind)}")
    return value
