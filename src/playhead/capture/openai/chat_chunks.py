"""Joins the chunks of a streamed Chat Completion to a completion. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

_JOINED = ("content", "refusal", "reasoning_content", "reasoning")
_CALLED = ("function", "custom")


def kept(chunk: Any) -> Any:
    """Returns a copy of a chunk that begins a tool call; any other chunk unchanged.

    Programs use the first delta of a tool call as the call, and add the arguments of later deltas to it in place.
    """
    for choice in getattr(chunk, "choices", None) or ():
        if any(called.id for called in getattr(choice.delta, "tool_calls", None) or ()):
            return chunk.model_copy(deep=True)
    return chunk


def whole_completion(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the completion in its unstreamed form, as far as it was received."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for key in ("id", "created", "model", "system_fingerprint", "service_tier", "usage"):
            if chunk.get(key) is not None:
                whole[key] = chunk[key]
        for piece in cast(list[dict[str, Any]], chunk.get("choices") or ()):
            choice = choices.setdefault(piece.get("index", 0), {"message": {}})
            choice["index"] = piece.get("index", 0)
            if piece.get("finish_reason"):
                choice["finish_reason"] = piece["finish_reason"]
            _add(choice["message"], piece.get("delta") or {})
    whole["object"] = "chat.completion"
    whole["choices"] = [_in_order(choices[index]) for index in sorted(choices)]
    return whole


def _add(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for key, value in delta.items():
        if key == "tool_calls":
            _add_tool_calls(message.setdefault("tool_calls", {}), value or ())
        elif key == "function_call" and isinstance(value, Mapping):
            _join_strings(message.setdefault("function_call", {}), cast(Mapping[str, Any], value))
        elif key in _JOINED and isinstance(value, str):
            message[key] = (message.get(key) or "") + value
        elif value is not None or key not in message:
            message[key] = value


def _add_tool_calls(calls: dict[int, dict[str, Any]], deltas: Iterable[Mapping[str, Any]]) -> None:
    for delta in deltas:
        call = calls.setdefault(delta.get("index", 0), {})
        for key, value in delta.items():
            if key in _CALLED and isinstance(value, Mapping):
                _join_strings(call.setdefault(key, {}), cast(Mapping[str, Any], value))
            elif key != "index" and value is not None:
                call[key] = value


def _join_strings(whole: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Appends the strings of a delta: a name comes whole in the first delta, arguments come in many."""
    for key, value in delta.items():
        if isinstance(value, str):
            whole[key] = whole.get(key, "") + value


def _in_order(choice: dict[str, Any]) -> dict[str, Any]:
    calls = choice["message"].get("tool_calls")
    if isinstance(calls, dict):
        by_index = cast(dict[int, dict[str, Any]], calls)
        choice["message"]["tool_calls"] = [by_index[index] for index in sorted(by_index)]
    return choice
