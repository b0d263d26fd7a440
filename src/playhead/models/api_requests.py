"""Makes the arguments of the clients' methods from a request. Pure.

What each API refuses stands at its function: a schema of the answer beside tools, thinking beside a temperature, and
thoughts of others.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

import orjson

from playhead.model.json_value import Json, JsonMapping, JsonValue
from playhead.model.message import Message, Part, text_message, without_reasoning
from playhead.models.apis import ANTHROPIC, CHAT, GEMINI
from playhead.models.model import ModelRequest, tool_json

# Anthropic's API wants a number. Thoughts count as output.
_ANTHROPIC_MAX_TOKENS = 4_096
_ANTHROPIC_MAX_TOKENS_THINKING = 16_384
_LEAST_THINKING_TOKENS = 1_024
_CLAUDE = re.compile(r"claude-(?:[a-z]{1,20}-)?(\d{1,2})(?:[-.](\d{1,2})(?!\d))?")
_FIRST_THINKING, _FIRST_ADAPTIVE, _FIRST_WITH_SCHEMA = (3, 7), (4, 6), (4, 5)
_OPENAI_REASONER = re.compile(r"o\d|gpt-(?:[5-9]|\d\d)(?!\d*-chat)")
_GEMINI_VERSION = re.compile(r"gemini-(\d{1,2})(?:\.(\d{1,2}))?")


# --- Chat Completions -------------------------------------------------------------------------------------------------


def is_openai_reasoner(model: str) -> bool:
    """Whether the model of OpenAI reasons before it answers."""
    return _OPENAI_REASONER.match(model) is not None


def chat_arguments(request: ModelRequest, model: str, *, max_tokens: str) -> dict[str, Any]:
    """Returns the arguments for Chat Completions. Reasoning is not sent back: OpenAI does not take it."""
    arguments: dict[str, Any] = {
        "model": model,
        "messages": [CHAT.from_message(message) for message in without_reasoning(_sent(request.thread))],
        **_settings(request, max_tokens=max_tokens),
    }
    if request.tools:
        arguments["tools"] = [tool_json(tool) for tool in request.tools]
    if request.output is not None:
        # Not strict: OpenAI's strict form has no optional fields, and no defaults.
        schema = {"name": "answer", "schema": dict(request.output), "strict": False}
        arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
    return arguments


# --- Anthropic --------------------------------------------------------------------------------------------------------


def claude_thinking(model: str) -> Literal["budget", "adaptive"] | None:
    """Returns how a Claude is asked to think; None: it cannot, or its version is not known."""
    version = _claude_version(model)
    if version is None or version < _FIRST_THINKING:
        return None
    return "adaptive" if version >= _FIRST_ADAPTIVE else "budget"


def anthropic_arguments(request: ModelRequest, model: str) -> dict[str, Any]:
    """Returns the arguments for Anthropic's Messages.

    Thinking is left out beside a temperature and where the last tool call was asked for without a thought (by another
    model): the API refuses both. A model without structured outputs gets the schema as an instruction."""
    version = _claude_version(model)
    by_schema = request.output is not None and version is not None and version >= _FIRST_WITH_SCHEMA
    thread = request.thread if by_schema else instructed(request)
    messages = _sent(map(_with_signed_thoughts, thread))
    sent = ANTHROPIC.request([ANTHROPIC.from_message(message) for message in messages])
    thinking = claude_thinking(model) if _may_think(request, messages) else None
    most = request.max_tokens or (_ANTHROPIC_MAX_TOKENS if thinking is None else _ANTHROPIC_MAX_TOKENS_THINKING)
    arguments: dict[str, Any] = {
        "model": model,
        "messages": sent.messages,
        **_settings(request, max_tokens="max_tokens"),
        "max_tokens": most,
    }
    if sent.system is not None:
        arguments["system"] = sent.system
    if thinking == "adaptive":
        arguments["thinking"] = {"type": "adaptive", "display": "summarized"}
    elif thinking == "budget" and most > _LEAST_THINKING_TOKENS:
        arguments["thinking"] = {"type": "enabled", "budget_tokens": max(_LEAST_THINKING_TOKENS, most // 2)}
    if request.tools:
        arguments["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in request.tools
        ]
    if by_schema and request.output is not None:
        arguments["output_config"] = {"format": {"type": "json_schema", "schema": closed_schema(request.output)}}
    return arguments


def _claude_version(model: str) -> tuple[int, int] | None:
    found = _CLAUDE.search(model[:200])
    return None if found is None else (int(found[1]), int(found[2] or 0))


def _with_signed_thoughts(message: Message) -> Message:
    """Leaves out thoughts without a signature, which the API refuses."""
    parts = [part for part in message["parts"] if part.get("type") != "reasoning" or _is_signed(part)]
    return message if len(parts) == len(message["parts"]) else {**message, "parts": parts}


def _is_signed(part: Part) -> bool:
    extra = part.get("extra")
    return isinstance(extra, dict) and "signature" in extra


def _may_think(request: ModelRequest, messages: Sequence[Message]) -> bool:
    if not request.thinking or request.temperature not in (None, 1) or request.top_p is not None:
        return False
    last = next((message for message in reversed(messages) if message["role"] != "tool"), None)
    if last is None or last["role"] != "assistant":
        return True
    return last["parts"][0].get("type") != "tool_call" and any(
        part.get("type") in ("reasoning", "redacted_thinking") for part in last["parts"]
    )


def closed_schema(schema: JsonMapping) -> Json:
    """Returns the schema with no further properties in any object, as structured outputs want it."""
    closed: Json = {key: _closed(key, value) for key, value in schema.items()}
    if "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


# Keywords whose values are schemas by names, which may be keywords themselves; and values that are no schemas.
_NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_VALUES = frozenset({"default", "const", "enum", "examples"})


def _closed(keyword: str, value: JsonValue) -> JsonValue:
    if isinstance(value, list) and keyword not in _VALUES:
        return [closed_schema(item) if isinstance(item, dict) else item for item in value]
    if not isinstance(value, dict) or keyword in _VALUES:
        return value
    if keyword not in _NAMED_SCHEMAS:
        return closed_schema(value)
    return {name: closed_schema(each) if isinstance(each, dict) else each for name, each in value.items()}


# --- Gemini -----------------------------------------------------------------------------------------------------------


def gemini_thinks(model: str) -> bool:
    """Whether the Gemini can say what it thought: from 2.5 on."""
    found = _GEMINI_VERSION.search(model[:200])
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (2, 5)


def gemini_arguments(request: ModelRequest, model: str) -> dict[str, Any]:
    """Returns the arguments for Gemini. Beside tools, the API refuses a schema of the answer: it becomes an
    instruction."""
    by_schema = request.output is not None and not request.tools
    thread = _with_named_results(_sent(request.thread) if by_schema else instructed(request))
    sent = GEMINI.request([GEMINI.from_message(message) for message in thread])
    config: dict[str, Any] = _settings(request, max_tokens="max_output_tokens")
    if sent.system is not None:
        config["system_instruction"] = sent.system
    if request.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parameters_json_schema": dict(tool.parameters)}
            for tool in request.tools
        ]
        config["tools"] = [{"function_declarations": declared}]
    if by_schema and request.output is not None:
        config |= {"response_mime_type": "application/json", "response_json_schema": dict(request.output)}
    if request.thinking:
        config["thinking_config"] = {"include_thoughts": True}
    return {"model": model, "contents": sent.messages, "config": config or None}


def _with_named_results(thread: Sequence[Message]) -> list[Message]:
    """Gives results of tools the name of their tool, and the form of an object: the API wants both."""
    tools: dict[str, str] = {}
    named: list[Message] = []
    for message in thread:
        for part in message["parts"]:
            if part.get("type") == "tool_call" and part.get("id"):
                tools[part["id"]] = str(part.get("name"))
        named.append({**message, "parts": [_named(part, tools) for part in message["parts"]]})
    return named


def _named(part: Part, tools: Mapping[str, str]) -> Part:
    if part.get("type") != "tool_call_response":
        return part
    response = part.get("response")
    result = cast("Json", response) if isinstance(response, dict) else {"result": response}
    name = part.get("name") or tools.get(str(part.get("id")))
    return {**part, "response": result, **({} if name is None else {"name": name})}


# --- all --------------------------------------------------------------------------------------------------------------


def _settings(request: ModelRequest, *, max_tokens: str) -> dict[str, Any]:
    settings = {max_tokens: request.max_tokens, "temperature": request.temperature, "top_p": request.top_p}
    return {name: value for name, value in settings.items() if value is not None}


def _sent(thread: Iterable[Message]) -> list[Message]:
    """Returns the thread without empty messages, which APIs refuse: an answer may have had thoughts only."""
    return [message for message in thread if message["parts"]]


def instructed(request: ModelRequest) -> list[Message]:
    """Returns the thread without empty messages; with a schema of the answer, with an instruction that has it."""
    thread = _sent(request.thread)
    if request.output is None:
        return thread
    schema = orjson.dumps(cast("dict[str, Any]", dict(request.output)), option=orjson.OPT_SORT_KEYS).decode()
    said = f"Answer with one JSON value and nothing else. It must be valid by this JSON schema:\n{schema}"
    first = next((index for index, message in enumerate(thread) if message["role"] != "system"), len(thread))
    return [*thread[:first], text_message("system", said), *thread[first:]]
