"""Converts pydantic-ai's messages to the form of Chat Completions, and back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.dialect.parts import write_arguments
from playhead.model.canonical import parse_json


def chat_messages(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Converts a model's input messages, or its answer; leaves out times and ids of runs."""
    all_messages = list(messages)
    natives: list[dict[str, Any]] = []
    instructions = next(
        (text for candidate in reversed(all_messages) if (text := getattr(candidate, "instructions", None))), None
    )
    if instructions:
        natives.append({"role": "system", "content": instructions})
    for message in all_messages:
        if message.kind == "response":
            natives.append(_assistant(message))
        else:
            natives += map(_request_part, message.parts)
    return natives


def _request_part(part: Any) -> dict[str, Any]:
    match part.part_kind:
        case "system-prompt":
            return {"role": "system", "content": part.content}
        case "user-prompt":
            return {"role": "user", "content": _user_content(part.content)}
        case "tool-return":
            return _tool_result(part, part.model_response_str())
        case "retry-prompt" if part.tool_name is not None:
            return _tool_result(part, part.model_response())
        case "retry-prompt" | "retry-feedback":
            return {"role": "user", "content": part.model_response()}
        case kind:  # notes of the framework to the model
            return {"role": "system", "content": [{"type": kind, "value": _dumped(part)}]}


def _tool_result(part: Any, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": part.tool_call_id, "content": content}


def _user_content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [_content_part(item) for item in cast("Sequence[Any]", content)]


def _content_part(item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    kind = getattr(item, "kind", "")
    if kind == "image-url":
        return {"type": "image_url", "image_url": {"url": item.url}}
    if kind == "binary" and str(item.media_type).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": item.data_uri}}
    return {"type": kind or type(item).__name__, "value": _dumped(item)}


def _dumped(value: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - imported by the program

    adapter: Any = TypeAdapter(cast("type[Any]", type(value)))
    dumped = adapter.dump_python(value, mode="json", warnings=False)
    if not isinstance(dumped, dict):
        return dumped
    return {name: item for name, item in cast("dict[str, Any]", dumped).items() if name != "timestamp"}


def _assistant(message: Any) -> dict[str, Any]:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Any] = []
    others: list[Any] = []
    for part in message.parts:
        match part.part_kind:
            case "text":
                texts.append(part.content)
            case "thinking":
                thoughts.append(part.content)
            case "tool-call":
                function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
                calls.append({"id": part.tool_call_id, "type": "function", "function": function})
            case kind:
                others.append({"type": kind, "value": _dumped(part)})
    native: dict[str, Any] = {"role": "assistant"}
    if len(texts) == 1 and not others:
        native["content"] = texts[0]
    elif texts or others:
        native["content"] = [*({"type": "text", "text": text} for text in texts), *others]
    if thoughts:
        native["reasoning_content"] = "".join(thoughts)
    if calls:
        native["tool_calls"] = calls
    return native


# --- back -------------------------------------------------------------------------------------------------------------


def model_messages(natives: Sequence[Mapping[str, Any]], originals: Sequence[Any]) -> list[Any]:
    """Converts messages of Chat Completions back.  A first system message becomes instructions if `originals` (the
    messages before the edit) had instructions."""
    from pydantic_ai.messages import ModelRequest  # noqa: PLC0415 - imported by the program

    messages: list[Any] = []
    rest = list(natives)
    instructions = None
    if (
        any(getattr(original, "instructions", None) for original in originals)
        and rest
        and rest[0].get("role") == "system"
    ):
        instructions = str(rest.pop(0).get("content"))
    for native in rest:
        if native.get("role") == "assistant":
            messages.append(response_of(native))
        elif messages and messages[-1].kind == "request":
            messages[-1].parts.append(_part_of(native))
        else:
            messages.append(ModelRequest(parts=[_part_of(native)]))
    if instructions is not None:
        for message in messages:
            if message.kind == "request":
                message.instructions = instructions
    return messages


def _part_of(native: Mapping[str, Any]) -> Any:
    from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart  # noqa: PLC0415 - as above

    content = native.get("content")
    match native.get("role"):
        case "system" | "developer":
            return SystemPromptPart(content=str(content))
        case "tool":
            return ToolReturnPart(tool_name="", content=content, tool_call_id=str(native.get("tool_call_id")))
        case _:
            return UserPromptPart(content=content if isinstance(content, str) else _user_parts(content))


def _user_parts(content: Any) -> list[Any]:
    from pydantic_ai.messages import ImageUrl  # noqa: PLC0415 - as above

    parts: list[Any] = []
    for part in cast("list[dict[str, Any]]", content or []):
        if part.get("type") == "image_url":
            parts.append(ImageUrl(url=part["image_url"]["url"]))
        else:
            parts.append(str(part.get("text", part)))
    return parts


def response_of(native: Mapping[str, Any]) -> Any:
    """Converts an assistant's message to pydantic-ai's ModelResponse."""
    from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart  # noqa: PLC0415 - as above

    parts: list[Any] = []
    if native.get("reasoning_content"):
        parts.append(ThinkingPart(content=native["reasoning_content"]))
    content = native.get("content")
    if isinstance(content, str) and content:
        parts.append(TextPart(content=content))
    elif isinstance(content, list):
        parts += [TextPart(content=str(part.get("text", ""))) for part in cast("list[dict[str, Any]]", content)]
    for call in cast("list[dict[str, Any]]", native.get("tool_calls") or ()):
        function = call["function"]
        arguments = function.get("arguments") or "{}"
        parts.append(
            ToolCallPart(
                tool_name=function["name"],
                args=parse_json(arguments) if isinstance(arguments, str) else parse_json(write_arguments(arguments)),
                tool_call_id=str(call.get("id")),
            )
        )
    return ModelResponse(parts=parts)
