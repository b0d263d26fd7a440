"""Unwraps a tool's result from the message in which a framework puts it."""

from typing import Any, cast

from playhead.lift.natives import langchain
from playhead.model.canonical import parse_bounded


def tool_result(value: Any) -> tuple[str | None, Any]:
    """Returns the id of the tool call and the result; (None, value) if the value is not a LangChain tool message."""
    read = value
    if isinstance(value, str) and value.startswith("{"):
        try:
            read = parse_bounded(value)
        except ValueError:
            return None, value
    if not isinstance(read, dict):
        return None, value
    body = cast(dict[str, Any], read)
    # OpenLLMetry wraps the message in the arguments of a callback.
    inner = body.get("output") if body.keys() <= {"output", "kwargs"} else body
    fields = langchain.fields_of(cast(dict[str, Any], inner)) if isinstance(inner, dict) else None
    if fields is None or fields[0] != "tool":
        return None, value
    call_id = fields[1].get("tool_call_id")
    return call_id if isinstance(call_id, str) else None, fields[1].get("content")
