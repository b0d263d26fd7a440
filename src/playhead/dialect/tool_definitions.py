"""Definitions of tools: the forms of providers ↔ the flat form of OpenTelemetry's conventions.

The conventions demand `type` and `name` of each definition, beside `description` and `parameters`. `flattened` returns
definitions in this form, and the names of the forms that they had, from which `restored` makes them again:

    function          {"type": "function", "function": {...}}: Chat Completions
    input_schema      {"name", "input_schema", ...}: Anthropic
    toolSpec          {"toolSpec": {"name", "inputSchema": {"json": ...}}}: Bedrock
    name              {"name", ...} without a type
    KEY#N             the N-th object with a list of declarations under KEY: Gemini
    (an empty text)   unchanged: it is flat, or of no known form
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from playhead.model.json_value import Json, JsonMapping, JsonValue, list_at, object_at, object_of, objects_of, text_at

_TYPE, _FUNCTION, _NAME, _PARAMETERS = "type", "function", "name", "parameters"
_INPUT_SCHEMA: Final = "input_schema"
_TOOL_SPEC, _BEDROCK_SCHEMA, _JSON = "toolSpec", "inputSchema", "json"
_DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
_GROUP: Final = "#"
_UNCHANGED: Final = ""


def flattened(natives: Iterable[JsonValue]) -> tuple[list[JsonValue], list[str]]:
    """Returns the definitions in the flat form, and the form that each had."""
    flat: list[JsonValue] = []
    forms: list[str] = []
    for number, native in enumerate(natives):
        several = _declarations(native, number) or [_flat(native)]
        flat += [definition for definition, _ in several]
        forms += [form for _, form in several]
    return flat, forms


def restored(flat: Sequence[JsonValue], forms: Sequence[str]) -> list[JsonValue]:
    """Reverses `flattened`. Raises ValueError if these definitions do not have these forms."""
    natives: list[JsonValue] = []
    if len(flat) != len(forms):
        raise ValueError("each definition has a form")
    for form, group in groupby(zip(flat, forms, strict=True), key=lambda pair: pair[1]):
        definitions = [definition for definition, _ in group]
        key, separator, _ = form.partition(_GROUP)
        if separator:
            natives.append({key: [_without_type(definition) for definition in definitions]})
        else:
            natives += [_native(definition, form) for definition in definitions]
    return natives


def _declarations(native: JsonValue, number: int) -> list[tuple[JsonValue, str]]:
    """Returns the declarations of an object that has nothing else; an empty list for any other value."""
    for key in _DECLARATIONS:
        listed = list_at(native, key)
        declared = objects_of(listed)
        if object_of(native).keys() == {key} and len(declared) == len(listed) and all(map(_is_untyped, declared)):
            return [({_TYPE: _FUNCTION, **definition}, f"{key}{_GROUP}{number}") for definition in declared]
    return []


def _is_untyped(native: JsonMapping) -> bool:
    return isinstance(native.get(_NAME), str) and _TYPE not in native


def _flat(native: JsonValue) -> tuple[JsonValue, str]:
    if not isinstance(native, dict):
        return native, _UNCHANGED
    function, spec = object_at(native, _FUNCTION), object_at(native, _TOOL_SPEC)
    if native.keys() == {_TYPE, _FUNCTION} and native[_TYPE] == _FUNCTION and _is_untyped(function):
        return {_TYPE: _FUNCTION, **function}, _FUNCTION
    if native.keys() == {_TOOL_SPEC} and _is_untyped(spec) and _PARAMETERS not in spec:
        schema = object_at(spec, _BEDROCK_SCHEMA)
        if schema.keys() == {_JSON}:
            rest = {key: value for key, value in spec.items() if key != _BEDROCK_SCHEMA}
            return {_TYPE: _FUNCTION, **rest, _PARAMETERS: schema[_JSON]}, _TOOL_SPEC
    if not _is_untyped(native):
        return native, _UNCHANGED
    if _INPUT_SCHEMA in native and _PARAMETERS not in native:
        rest = {key: value for key, value in native.items() if key != _INPUT_SCHEMA}
        return {_TYPE: _FUNCTION, **rest, _PARAMETERS: native[_INPUT_SCHEMA]}, _INPUT_SCHEMA
    return {_TYPE: _FUNCTION, **native}, _NAME


def _native(flat: JsonValue, form: str) -> JsonValue:
    if form == _UNCHANGED:
        return flat
    definition = _without_type(flat)
    match form:
        case "function":
            return {_TYPE: _FUNCTION, _FUNCTION: definition}
        case "input_schema" | "toolSpec" if _PARAMETERS in definition:
            schema = definition.pop(_PARAMETERS)
            if form == _INPUT_SCHEMA:
                return {**definition, _INPUT_SCHEMA: schema}
            return {_TOOL_SPEC: {**definition, _BEDROCK_SCHEMA: {_JSON: schema}}}
        case "name":
            return definition
        case _:
            raise ValueError(f"{form!r} is no form of a definition")


def _without_type(flat: JsonValue) -> Json:
    if not isinstance(flat, dict) or text_at(flat, _TYPE) != _FUNCTION:
        raise ValueError("this is no definition of a function")
    return {key: value for key, value in flat.items() if key != _TYPE}
