"""pydantic-ai: a history processor that keeps what the model of an agent sees within its window.

    from playhead.context.pydantic_ai import history_processor

    agent = Agent("openai:gpt-5", capabilities=[ProcessHistory(history_processor(Compression()))])

The framework keeps what a processor returns as the history of the conversation: what was compressed is gone from it.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

try:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
        SystemPromptPart,
        UserPromptPart,
    )
except ImportError as error:
    raise ImportError("playhead.context.pydantic_ai needs pydantic-ai 2: pip install pydantic-ai-slim") from error

from playhead.capture.pydantic_ai.models import answer_message, request_part_message
from playhead.context.carried import MEMO_KEY, CarriedContext, CarriedMessage, MessageLeft, MessagesLeft, memo_of
from playhead.context.context import in_thread
from playhead.context.entries import SYSTEM
from playhead.context.policy import AnyCompression, check_compression
from playhead.kernel.guard import guarded
from playhead.models.model import Model

HistoryProcessor: TypeAlias = Callable[[RunContext[Any], list[ModelMessage]], Awaitable[list[ModelMessage]]]
# Of an answer, there is one part here: the whole.
_WHOLE: Final = -1


@dataclass(frozen=True, slots=True)
class _PartPlace:
    """Where a part stands: index of its message, and of the part in it."""

    message: int
    part: int


def history_processor(
    compression: AnyCompression | None = None, *, model: Model | str | None = None
) -> HistoryProcessor:
    """Returns the processor. `compression`: as for a `Context`. `model`: writes summaries for which the policy names no
    model, and its window is the limit where the policy has none; None: the name of the model that the agent asks.

    One processor serves any number of agents, conversations and tasks.
    """
    check_compression(compression)

    async def process_history(context: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        asked = model or context.model.model_name
        with guarded("compress the history of an agent"):
            carried = await in_thread(lambda: CarriedContext(_carried(messages), compression, asked))
            left = await carried.compressed_async()
            if left is not None:
                return _with_memo(_messages(left.messages, messages), left)
        return messages

    return process_history


# --- messages ---------------------------------------------------------------------------------------------------------


def _carried(messages: Sequence[ModelMessage]) -> list[CarriedMessage[_PartPlace]]:
    carried: list[CarriedMessage[_PartPlace]] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            native, tokens = answer_message(message), message.usage.input_tokens or None
            memo = memo_of(message.metadata)
            carried.append(CarriedMessage(native, _PartPlace(at, _WHOLE), tokens, message.model_name, memo))
            continue
        natives = [request_part_message(part) for part in message.parts]
        for number, native in enumerate(natives):
            memo = memo_of(message.metadata) if number == len(natives) - 1 else None
            carried.append(CarriedMessage(native, _PartPlace(at, number), memo=memo))
    return carried


def _messages(left: Iterable[MessageLeft[_PartPlace]], originals: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Returns the messages that are left. Requests that would stand side by side become one: the framework joins them
    without their metadata."""
    messages: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    request: ModelRequest | None = None  # the newest one that `parts` are from

    def end_request() -> None:
        nonlocal request
        if parts:
            is_whole = request is not None and len(parts) == len(request.parts) and all(map(_is, parts, request.parts))
            messages.append(request if is_whole and request is not None else _request(parts, request))
            parts.clear()
        request = None

    for one in left:
        original = None if one.source is None else originals[one.source.message]
        if isinstance(original, ModelResponse):
            end_request()
            messages.append(original)
            continue
        request = original or request
        parts.append(_part(one, original))
    end_request()
    newest = originals[-1]
    if isinstance(newest, ModelRequest) and not newest.parts:  # has instructions only, and the framework wants it last
        messages.append(newest)
    return messages


def _is(one: object, other: object) -> bool:
    return one is other


def _request(parts: Sequence[ModelRequestPart], like: ModelRequest | None) -> ModelRequest:
    return ModelRequest(parts=[*parts]) if like is None else replace(like, parts=[*parts])


def _part(one: MessageLeft[_PartPlace], original: ModelRequest | None) -> ModelRequestPart:
    if one.source is None or original is None:
        text = one.text or ""
        return SystemPromptPart(content=text) if one.role == SYSTEM else UserPromptPart(content=text)
    part: Any = original.parts[one.source.part]
    return part if one.text is None else replace(part, content=one.text)


def _with_memo(messages: list[ModelMessage], left: MessagesLeft[_PartPlace]) -> list[ModelMessage]:
    last = messages[-1]
    return [*messages[:-1], replace(last, metadata={**(last.metadata or {}), MEMO_KEY: left.memo})]
