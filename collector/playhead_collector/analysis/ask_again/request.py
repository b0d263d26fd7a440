"""[analysis]: the request with which a recorded call is asked again, in the form of Chat Completions.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from playhead.dialect import openai_chat
from playhead.model.event import LlmCalled
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead_collector.analysis.transcript.arguments import definitions_of
from playhead_collector.errors import Refused
from playhead_collector.read.values import ContentCache, text_of

_SYSTEM_ROLES = ("system", "developer")
_ROLES = (*_SYSTEM_ROLES, "user", "assistant", "tool")
# Settings that mean the same to every model. Others (tool_choice, thinking, ...) differ between providers.
_SETTINGS = (
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "frequency_penalty",
    "presence_penalty",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of the caller; None: as recorded.  `messages`: in the form of Chat Completions."""

    model: str | None = None
    system: str | None = None
    messages: Sequence[dict[str, Any]] | None = None

    @property
    def names(self) -> list[str]:
        """Names of the changed fields."""
        return [name for name in ("model", "system", "messages") if getattr(self, name) is not None]


def request_body(
    begin: LlmCalled, thread: Sequence[ContentRef], cache: ContentCache, changes: Changes, model: str
) -> dict[str, Any]:
    """Builds the body for `model`.  Raises Refused: 404 if a needed part is not stored, 422 if the call is no chat."""
    if begin.thread is None and changes.messages is None:
        raise Refused(422, "not_a_chat", f"the call at {begin.seq} had no messages: give `messages` to ask it again")
    system = _recorded_system(begin, cache) if changes.system is None else [_system(changes.system)]
    body: dict[str, Any] = {"model": model, "stream": False, **settings_of(begin, cache)}
    if changes.messages is None:
        recorded = [_stored(cache.parsed_message(ref), begin) for ref in thread]
        messages = [message for message in recorded if changes.system is None or message["role"] not in _SYSTEM_ROLES]
        body["messages"] = [*system, *(native for message in messages for native in _native(message))]
    else:
        new_messages = list(map(_checked, changes.messages))
        recorded = [cache.parsed_message(ref) for ref in thread] if changes.system is None else []
        system_messages = [
            openai_chat.from_message(message) for message in recorded if message and message["role"] in _SYSTEM_ROLES
        ]
        has_system = any(message["role"] in _SYSTEM_ROLES for message in new_messages)
        body["messages"] = (
            new_messages if has_system and changes.system is None else [*system, *system_messages, *new_messages]
        )
    if begin.tools is not None:
        tools = tools_of(_stored(cache.parsed(begin.tools), begin))
        body |= {"tools": tools} if tools else {}
    return body


def settings_of(begin: LlmCalled, cache: ContentCache) -> dict[str, Any]:
    """The recorded settings that any model understands."""
    request = cache.parsed(begin.request)
    recorded = cast(dict[str, Any], request) if isinstance(request, dict) else {}
    return {name: recorded[name] for name in _SETTINGS if recorded.get(name) is not None}


def tools_of(recorded: Any) -> list[dict[str, Any]]:
    """The functions among recorded tools (in any provider's form), in the form of Chat Completions."""
    return [
        {
            "type": "function",
            "function": {
                "name": definition.name,
                "description": definition.description,
                "parameters": dict(definition.schema) or {"type": "object", "properties": {}},
            },
        }
        for definition in definitions_of(recorded).values()
    ]


def _native(message: Message) -> list[dict[str, Any]]:
    """Converts a recorded message. Each tool result becomes one message: some providers put several into one."""
    results = [part for part in message["parts"] if part.get("type") == "tool_call_response"]
    others = [part for part in message["parts"] if part.get("type") != "tool_call_response"]
    if not results or (len(results) == 1 and not others):
        return [openai_chat.from_message(message)]
    split: list[Message] = [{"role": "tool", "parts": [part]} for part in results]
    if others:
        split.append({"role": message["role"], "parts": others})
    return openai_chat.from_messages(split)


def _recorded_system(begin: LlmCalled, cache: ContentCache) -> list[dict[str, Any]]:
    """System instructions that were recorded outside the messages."""
    return [] if begin.system is None else [_system(text_of(_stored(cache.parsed(begin.system), begin)))]


def _system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def _stored(value: Any, begin: LlmCalled) -> Any:
    if value is None:
        message = (
            f"a part of what the call at {begin.seq} was given is not stored: give `system` and `messages` instead"
        )
        raise Refused(404, "not_stored", message)
    return value


def _checked(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the caller's message if it has a role and content.  Raises Refused."""
    if message.get("role") not in _ROLES:
        raise Refused(422, "bad_message", f"each of `messages` needs a role, one of {', '.join(_ROLES)}")
    if not isinstance(message.get("content"), str | list) and not message.get("tool_calls"):
        raise Refused(422, "bad_message", "each of `messages` needs a `content`: a text, or a list of parts")
    return dict(message)


def answered_message(completion: Mapping[str, Any]) -> tuple[Message, str | None]:
    """The answer of a chat completion and why it ended.  Raises LookupError, TypeError, ValueError if it is none."""
    choice = completion["choices"][0]
    message, _ = openai_chat.output_message(choice["message"])
    return message, choice.get("finish_reason")
