"""[analysis]: asks a recorded model call again, with the changes of a user.

The recorded request is built again in the form of Chat Completions, a model of the operator answers it, and the answer
is stored beside the run as content that no event names.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from playhead.dialect import openai_chat
from playhead.model.canonical import JSON, Content, canonical_json, text_of
from playhead.model.event import LlmCalled
from playhead.model.json_value import int_at, object_at, object_of
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations.reasoning import AskedAgain, AskedAnswer
from playhead_collector.analysis.decisions import chosen_in, read_sibling
from playhead_collector.analysis.transcript.arguments import definitions_of
from playhead_collector.errors import Refused
from playhead_collector.read.owning_call import model_call_at
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import ContentCache, fetch, fetch_thread

# --- the request, pure -----------------------------------------------------------------------------------------------

_SYSTEM_ROLES = ("system", "developer")
_ROLES = (*_SYSTEM_ROLES, "user", "assistant", "tool")
# Settings that mean the same to every model. Others (tool_choice, thinking, ...) differ between providers.
_SETTINGS = (
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "frequency_penalty",
    "presence_penalty",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of the caller; None: as recorded.  `messages`: in the form of Chat Completions.

    Of `settings`, those that are not named stay as recorded, and None leaves one out.
    """

    model: str | None = None
    system: str | None = None
    messages: Sequence[Mapping[str, Any]] | None = None
    settings: Mapping[str, int | float | str | Sequence[str] | None] | None = None

    @property
    def names(self) -> list[str]:
        """Names of the changed fields."""
        return [name for name in ("model", "system", "messages", "settings") if getattr(self, name) is not None]


def request_body(
    begin: LlmCalled, thread: Sequence[ContentRef], cache: ContentCache, changes: Changes, model: str
) -> dict[str, Any]:
    """Builds the body for `model`.  Raises Refused: 404 if a needed part is not stored, 422 if the call is no chat."""
    if begin.thread is None and changes.messages is None:
        raise Refused(422, "not_a_chat", f"the call at {begin.seq} had no messages: give `messages` to ask it again")
    system = _recorded_system(begin, cache) if changes.system is None else [_system_message(changes.system)]
    body: dict[str, Any] = {"model": model, "stream": False, **settings_of(begin, cache, changes)}
    if changes.messages is None:
        recorded = [_or_refused(cache.parsed_message(ref), begin) for ref in thread]
        messages = [message for message in recorded if changes.system is None or message["role"] not in _SYSTEM_ROLES]
        body["messages"] = [*system, *(native for message in messages for native in _native_messages(message))]
    else:
        new_messages = list(map(_checked_message, changes.messages))
        recorded = [cache.parsed_message(ref) for ref in thread] if changes.system is None else []
        system_messages = [
            openai_chat.from_message(message) for message in recorded if message and message["role"] in _SYSTEM_ROLES
        ]
        has_system = any(message["role"] in _SYSTEM_ROLES for message in new_messages)
        body["messages"] = (
            new_messages if has_system and changes.system is None else [*system, *system_messages, *new_messages]
        )
    if begin.tools is not None:
        tools = tools_of(_or_refused(cache.parsed(begin.tools), begin))
        body |= {"tools": tools} if tools else {}
    given = [
        begin.tools,
        begin.system if changes.system is None else None,
        *(thread if changes.messages is None else ()),
    ]
    # A part of a message may be a content of its own, which is masked alone.
    if any(map(cache.is_masked, given)) or (changes.messages is None and cache.masked):
        raise Refused(
            409,
            "masked_content",
            f"a part of what the call at {begin.seq} was given was masked by the redaction rules of the project: a "
            "model must not be given it as what was said; give `messages` and `system` to ask without it",
        )
    return body


def settings_of(begin: LlmCalled, cache: ContentCache, changes: Changes) -> dict[str, Any]:
    """The recorded settings that any model understands, with the caller's changes.  Raises Refused for other names."""
    request = cache.parsed(begin.request)
    settings = {**object_of(request), **(changes.settings or {})}
    unknown = [name for name in changes.settings or {} if name not in _SETTINGS]
    if unknown:
        message = f"{unknown[0][:100]!r} cannot be set: name one of {', '.join(_SETTINGS)}"
        raise Refused(422, "bad_setting", message)
    return {name: settings[name] for name in _SETTINGS if settings.get(name) is not None}


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


def _native_messages(message: Message) -> list[dict[str, Any]]:
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
    return [] if begin.system is None else [_system_message(text_of(_or_refused(cache.parsed(begin.system), begin)))]


def _system_message(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def _or_refused(value: Any, begin: LlmCalled) -> Any:
    if value is None:
        message = (
            f"a part of what the call at {begin.seq} was given is not stored: give `system` and `messages` instead"
        )
        raise Refused(404, "not_stored", message)
    return value


def _checked_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the caller's message if it has a role and content.  Raises Refused."""
    if message.get("role") not in _ROLES:
        raise Refused(422, "bad_message", f"each of `messages` needs a role, one of {', '.join(_ROLES)}")
    if not isinstance(message.get("content"), str | list) and not message.get("tool_calls"):
        raise Refused(422, "bad_message", "each of `messages` needs a `content`: a text, or a list of parts")
    return dict(message)


# --- asking ----------------------------------------------------------------------------------------------------------


class ChatModels(Protocol):
    """The models that the operator configured; the first one is the default."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the models."""
        ...

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Sends a request body, and returns the chat completion.  Raises Refused (502)."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A prepared request: `body` for the model, `settings` in it, and the `recorded` answer (None: not recorded)."""

    record: RunRecord
    begin: LlmCalled
    changes: Changes
    body: dict[str, Any]
    settings: dict[str, Any]
    recorded: AskedAnswer | None


async def prepare(record: RunRecord, at: str | None, changes: Changes, models: ChatModels) -> PreparedQuestion:
    """Prepares the call that `at` belongs to (None: the last one), with the changes.  Raises Refused."""
    model = models.names[0] if changes.model is None else changes.model
    if model not in models.names:
        names = ", ".join(models.names)
        message = f"the model {model[:100]!r} is not configured: name one of {names}, or add it to PLAYHEAD_ASK_MODELS"
        raise Refused(422, "unknown_model", message)
    begin = (await model_call_at(record, await seq_at(record, at))).begin
    others = (begin.system, begin.tools, begin.request)
    thread, cache = await fetch_thread(record.store, record.project_id, begin.thread, *others)
    body = request_body(begin, thread, cache, changes, model)
    return PreparedQuestion(
        record, begin, changes, body, settings_of(begin, cache, changes), await _recorded_answer(record, begin)
    )


MaskAnswers = Callable[[Sequence[Any]], Awaitable[list[Any]]]
"""Returns texts and JSON values as the rules of the project let them be stored."""


async def _as_it_is(values: Sequence[Any]) -> list[Any]:
    return [*values]


async def ask(
    question: PreparedQuestion, models: ChatModels, clock: Callable[[], int], masked: MaskAnswers = _as_it_is
) -> AskedAgain:
    """Asks the model, and stores its answer as content that no event names, as `masked` lets it be stored.  Raises
    Refused."""
    record, begin = question.record, question.begin
    completion = await models.complete(question.body)
    try:
        message, finish_reason = answered_message(completion)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = "the model answered something that is no chat completion: see PLAYHEAD_EXPLAIN_URL"
        raise Refused(502, "explainer_failed", message) from error
    answer = cast(AskedAnswer, chosen_in([message]))
    value: dict[str, Any] = {
        "run": record.run,
        "seq": begin.seq,
        "model": question.body["model"],
        "created": rfc3339(clock()),
        "changed": question.changes.names,
        "system": question.changes.system,
        "messages": None if question.changes.messages is None else list(question.changes.messages),
        "settings": question.settings,
        "answer": answer,
        "recorded": question.recorded,
        "same": canonical_json(answer) == canonical_json(question.recorded),
        "finish_reason": None if finish_reason is None else str(finish_reason),
        "usage": _usage(completion),
    }
    texts = ("system", "messages", "answer", "recorded")
    value |= zip(texts, await masked([value[name] for name in texts]), strict=True)
    content = Content(canonical_json({**value, "thread": begin.thread}), JSON)
    subject = ContentRef.of(b"asked again: " + content.data)
    await record.store.contents.keep_explanation(record.project_id, record.run, subject, value["model"], content)
    return cast(AskedAgain, {**value, "ref": content.ref})


def answered_message(completion: Mapping[str, Any]) -> tuple[Message, str | None]:
    """The answer of a chat completion and why it ended.  Raises LookupError, TypeError, ValueError if it is none."""
    choice = completion["choices"][0]
    message, _ = openai_chat.output_message(choice["message"])
    return message, choice.get("finish_reason")


async def _recorded_answer(record: RunRecord, begin: LlmCalled) -> AskedAnswer | None:
    if begin.thread is None:
        return None
    call = await read_sibling(record, record.run, begin.seq, begin.thread)
    if call is None or not call.outputs:
        return None
    cache = await fetch(record.store, record.project_id, call.outputs)
    return cast(AskedAnswer, chosen_in(message for ref in call.outputs if (message := cache.parsed_message(ref))))


def _usage(completion: Mapping[str, Any]) -> dict[str, int]:
    reported = object_at(completion, "usage")
    names = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
    counts = {ours: int_at(reported, name, None) for ours, name in names.items()}
    return {name: count for name, count in counts.items() if count is not None}


def no_model_to_ask() -> Refused:
    """Error: no model is configured."""
    return Refused(
        409,
        "no_model",
        "no model is configured that could be asked: set PLAYHEAD_EXPLAIN_URL and PLAYHEAD_EXPLAIN_MODEL for the "
        "collector, PLAYHEAD_EXPLAIN_API_KEY if it needs one, and PLAYHEAD_ASK_MODELS for further models there",
    )
