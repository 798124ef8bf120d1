"""JSON schemas of tools' arguments from their annotations, and the check of what a model sends.

Only plain types are read off a function; a tool with richer arguments gives its schema itself. Values are
never coerced or repaired: what does not fit goes back to the model as an error.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import orjson

from ..errors import ConfigurationError

_TYPES: Final[dict[Any, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}


class BadArguments(ValueError):
    """What a model sent does not fit the tool's schema; the model is told why."""


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The schema of all parameters behind the context; ConfigurationError for a type that is not plain."""
    hints = get_type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name not in hints:
            raise ConfigurationError(f"{function.__name__}: parameter {parameter.name} has no annotation")
        properties[parameter.name] = _schema(hints[parameter.name], f"{function.__name__}: {parameter.name}")
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def read_arguments(schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The arguments of a call; BadArguments when they are no JSON object that the schema allows."""
    try:
        arguments = orjson.loads(text or "{}")
    except orjson.JSONDecodeError as error:
        raise BadArguments(f"the arguments are no JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise BadArguments("the arguments are no JSON object")
    if (problem := problem_of(schema, arguments)) is not None:
        raise BadArguments(problem)
    return arguments


def problem_of(schema: Mapping[str, Any], value: Any) -> str | None:
    """Where and why a value does not fit a JSON schema; None when it does."""
    try:
        from jsonschema import exceptions, validators
    except ImportError as error:
        raise ConfigurationError("tasks need jsonschema: pip install 'seamstream[tasks]'") from error
    try:
        validator = validators.validator_for(schema)(schema)
        found = exceptions.best_match(validator.iter_errors(value))
    except exceptions.SchemaError as error:
        raise ConfigurationError(f"a JSON schema is wrong: {error.message}") from error
    return None if found is None else f"{found.json_path}: {found.message}"


def _schema(hint: Any, where: str) -> dict[str, Any]:
    origin = get_origin(hint)
    if origin is Literal:
        return {"enum": list(get_args(hint))}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(option, where) for option in get_args(hint)]}
    if hint is types.NoneType:
        return {"type": "null"}
    kind = _TYPES.get(origin or hint)
    if kind is None:
        raise ConfigurationError(f"{where} has no plain type: give the tool's parameters as a JSON schema")
    if kind == "array" and get_args(hint):
        return {"type": kind, "items": _schema(get_args(hint)[0], where)}
    return {"type": kind}
