"""Writes the summary of entries, by one or several calls of a model.

What has to ask a model here is a generator of questions, so that it can be done with and without await.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from playhead.context.entries import Entry
from playhead.context.plan import Summariser
from playhead.errors import PlayheadError
from playhead.model.message import Message, message_lines, text_message
from playhead.model.token_estimates import estimate_value
from playhead.models.choosing import complete, complete_async
from playhead.models.clients import named
from playhead.models.model import Model, ModelRequest, ModelResponse

T = TypeVar("T")

BEGINNING = "Summary of the conversation so far:"
# Where a prompt has the conversation in it; the others are a system prompt.
PLACE_IN_PROMPT = "{messages}"
# Of the model's window, for what it is asked to summarise; the rest is for the prompt and the summary.
_INPUT_SHARE = 0.7


class SummaryFailed(PlayheadError):
    """A summary could not be written; the message says why."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and the model that it is for."""

    model: Model
    request: ModelRequest


Asking = Generator[Question, ModelResponse, T]
"""Work that yields questions, gets their answers or errors, and returns its result."""


def answered(work: Asking[T]) -> T:
    """Returns the result of the work. Asks the models that it needs, and blocks until they have answered."""
    try:
        question = next(work)
        while True:
            try:
                response = complete(question.model, question.request)
            except BaseException as error:  # noqa: BLE001 - raised where the question was asked
                question = work.throw(error)
            else:
                question = work.send(response)
    except StopIteration as ended:
        return ended.value


async def answered_async(work: Asking[T]) -> T:
    """The same, without blocking the event loop."""
    try:
        question = next(work)
        while True:
            try:
                response = await complete_async(question.model, question.request)
            except BaseException as error:  # noqa: BLE001 - as in `answered`; a cancelled task, too
                question = work.throw(error)
            else:
                question = work.send(response)
    except StopIteration as ended:
        return ended.value


def model_of(summariser: Summariser, default: Model | str | None) -> Model:
    """Returns the model that writes the summary. Raises SummaryFailed if none is known."""
    model = summariser.model if summariser.model is not None else default
    if model is None:
        raise SummaryFailed("no model is known that could write it: give LlmSummary(model=...) or Context(model=...)")
    return named(model) if isinstance(model, str) else model


def write_summary(entries: Sequence[Entry], summariser: Summariser, model: Model, window: int | None) -> Asking[str]:
    """Returns the summary of the entries. `window`: of the model, in tokens; None: not known. Raises SummaryFailed for
    an empty one, and what the model raises."""
    most = summariser.max_input_tokens
    if most is None and window is not None:
        most = int(_INPUT_SHARE * window)
    summary = ""
    for part in _parts(entries, most):
        asked = f"{BEGINNING}\n{summary}\n\nConversation since then:\n{part}" if summary else f"Conversation:\n{part}"
        answer = yield Question(model, ModelRequest(_messages(summariser.prompt, asked)))
        summary = answer.text.strip()
        if not summary:
            raise SummaryFailed(f"{model.name} answered without text")
    if not summary:
        raise SummaryFailed("there is nothing to summarise")
    return summary


def _messages(prompt: str, asked: str) -> list[Message]:
    if PLACE_IN_PROMPT in prompt:
        return [text_message("user", prompt.replace(PLACE_IN_PROMPT, asked))]
    return [text_message("system", prompt), text_message("user", asked)]


def transcript(entries: Sequence[Entry]) -> list[str]:
    """Returns the entries as a model is to read them: `role: what was said`; a summary without its first line."""
    return [_transcribed(entry) for entry in entries]


def _transcribed(entry: Entry) -> str:
    lines = "\n".join(message_lines(entry.message))
    if entry.kind == "summary":
        return f"(earlier summary) {lines.removeprefix(BEGINNING).strip()}"
    return f"{entry.role}: {lines}"


def _parts(entries: Sequence[Entry], most: int | None) -> Iterator[str]:
    """Yields the transcript in parts of at most `most` tokens. A longer message loses its middle."""
    part: list[str] = []
    size = 0.0
    for text in transcript(entries):
        line = text if most is None else _shortened(text, most)
        tokens = estimate_value(line)
        if part and most is not None and size + tokens > most:
            yield "\n\n".join(part)
            part, size = [], 0.0
        part.append(line)
        size += tokens
    if part:
        yield "\n\n".join(part)


def _shortened(text: str, most: int) -> str:
    if estimate_value(text) <= most:
        return text
    half = max(1, most // 2)  # a character has at most four bytes, which are a token
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
