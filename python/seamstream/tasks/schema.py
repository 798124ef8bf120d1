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
    name = getattr(function, "__name__", repr(function))
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError) as error:
        why = f"its annotations cannot be read: {error}"
        raise ConfigurationError(f"{name}: {why}; give the tool's parameters as a JSON schema") from error
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in _behind_context(function, name, hints):
        if parameter.name not in hints:
            raise ConfigurationError(f"{name}: parameter {parameter.name} has no annotation")
        properties[parameter.name] = _schema(hints[parameter.name], f"{name}: {parameter.name}")
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _behind_context(
    function: Callable[..., Any], name: str, hints: Mapping[str, Any]
) -> list[inspect.Parameter]:
    """The parameters that the model fills; the first one is given the context, by its place."""
    parameters = list(inspect.signature(function).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in positional or hints.get(parameters[0].name) in _TYPES:
        raise ConfigurationError(f"{name}: its first parameter must take the ToolContext")
    for parameter in parameters[1:]:
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise ConfigurationError(f"{name}: parameter {parameter.name} cannot be given by its name")
    return parameters[1:]


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
    validator = _jsonschema().validators.validator_for(schema)(schema)
    try:
        found = _jsonschema().exceptions.best_match(validator.iter_errors(value))
    except Exception as error:  # as for a $ref that leads nowhere
        return f"$: the JSON schema cannot be applied: {type(error).__name__}"
    return None if found is None else f"{found.json_path}: {found.message}"


def check_schema(schema: Mapping[str, Any], where: str) -> None:
    """ConfigurationError for what is no JSON schema, or when nothing is installed that could check by one."""
    exceptions = _jsonschema().exceptions
    try:
        _jsonschema().validators.validator_for(schema).check_schema(schema)
    except exceptions.SchemaError as error:
        raise ConfigurationError(f"{where}: its JSON schema is wrong: {error.message}") from error


def _jsonschema() -> Any:
    try:
        import jsonschema
    except ImportError as error:
        raise ConfigurationError("tasks need jsonschema: pip install 'seamstream[tasks]'") from error
    return jsonschema


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
