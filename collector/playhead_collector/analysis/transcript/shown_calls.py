"""[analysis]: a tool call in one line: the values of its arguments, in the order of the tool's definition. Pure.

Stored JSON has its keys sorted, so the order of a definition's properties is not known: its `required` list, which
schemas write in the order of the parameters, comes first, then the other arguments by name.
"""

from playhead.model.canonical import text_of
from playhead.model.json_value import JsonValue, is_list, is_object, list_at, object_at
from playhead_collector.analysis.transcript.arguments import ToolDefinition
from playhead_collector.read.events import cut

MAX_SHOWN = 80
_MAX_VALUE = 60
_MAX_DEPTH = 64


def in_order(value: JsonValue, schema: object) -> JsonValue:
    """Returns the value with the keys of its objects in the order of the schema."""
    return _in_order(value, schema, _MAX_DEPTH)


def _in_order(value: JsonValue, schema: object, depth: int) -> JsonValue:
    if depth == 0:
        return value
    if is_list(value):
        items = object_at(schema, "items")
        return [_in_order(item, items, depth - 1) for item in value]
    if not is_object(value):
        return value
    properties = object_at(schema, "properties")
    first = [name for name in list_at(schema, "required") if isinstance(name, str) and name in value]
    return {name: _in_order(value[name], properties.get(name), depth - 1) for name in dict.fromkeys([*first, *value])}


def shown_arguments(arguments: JsonValue, definition: ToolDefinition | None, most: int = MAX_SHOWN) -> str:
    """Returns the values of the arguments with commas between, cut at `most` characters: `M05KNL, economy, …`."""
    ordered = in_order(arguments, {} if definition is None else definition.schema)
    if not is_object(ordered):
        return "" if ordered is None else cut(_one_line(ordered), most)
    shown: list[str] = []
    length = 0
    for value in ordered.values():
        shown.append(_value(value))
        length += len(shown[-1]) + 2
        if length > most:
            break
    return cut(", ".join(shown), most)


def call_line(name: str, shown: str) -> str:
    """Returns a call in one line: `get_user_details(aarav_garcia_1177)`."""
    return f"{name}({shown})"


def says_it_writes(definition: ToolDefinition | None) -> bool | None:
    """Whether the tool's definition says that it changes something (`annotations.readOnlyHint`, as servers of the Model
    Context Protocol write it); None if it says nothing."""
    annotations: object = definition.whole.get("annotations") if definition is not None else None
    hint = annotations.get("readOnlyHint") if is_object(annotations) else None
    return not hint if isinstance(hint, bool) else None


def _value(value: JsonValue) -> str:
    if is_list(value) or is_object(value):
        return "[…]" if is_list(value) and value else "{…}" if is_object(value) and value else text_of(value)
    return cut(_one_line(value), _MAX_VALUE)


def _one_line(value: JsonValue) -> str:
    return " ".join(text_of(value).split())
