"""Writes the summary of entries, by one or several calls of a model.

What has to ask a model here is a generator of questions, so that it can be done with and without await.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from playhead.calls.steps import finished, finished_async
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
# Of what one call is given, messages have at least this part, however long the prompt and the summary so far are.
_LEAST_SHARE = 4
# Tokens of what stands around them: headings, and the line in a text that lost its middle.
_AROUND = 40
_GAP = "\n\n"


class SummaryFailed(PlayheadError):
    """A summary could not be written; the message says why."""


@dataclass(frozen=True, slots=True)
class SummaryQuestion:
    """A request, and the model that it is for."""

    model: Model
    request: ModelRequest


Asking = Generator[SummaryQuestion, ModelResponse, T]
"""Work that yields questions, gets their answers or errors, and returns its result."""


def answered(work: Asking[T]) -> T:
    """Returns the result of the work. Asks the models that it needs, and blocks until they have answered."""
    return finished(work, lambda question: complete(question.model, question.request))


async def answered_async(work: Asking[T]) -> T:
    """The same, without blocking the event loop."""
    return await finished_async(work, lambda question: complete_async(question.model, question.request))


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
    summary, left = "", transcript(entries)
    while left:
        part, left = _first_part(left, None if most is None else _room(most, summariser.prompt, summary))
        asked = f"{BEGINNING}\n{summary}\n\nConversation since then:\n{part}" if summary else f"Conversation:\n{part}"
        answer = yield SummaryQuestion(model, ModelRequest(_messages(summariser.prompt, asked)))
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


def _room(most: int, prompt: str, summary: str) -> int:
    """Returns the tokens that are left for messages, beside the prompt and the summary so far."""
    return max(most // _LEAST_SHARE, most - _AROUND - int(estimate_value(prompt) + estimate_value(summary)))


def _first_part(texts: Sequence[str], most: int | None) -> tuple[str, Sequence[str]]:
    """Returns the first texts, of at most `most` tokens, and the others. A longer text loses its middle."""
    if most is None:
        return _GAP.join(texts), []
    part = [_shortened(texts[0], most)]
    size = estimate_value(part[0])
    for text in texts[1:]:
        size += estimate_value(_GAP + text)
        if size > most:
            break
        part.append(text)
    return _GAP.join(part), texts[len(part) :]


def _shortened(text: str, most: int) -> str:
    if estimate_value(text) <= most:
        return text
    half = max(1, most // 2)  # a character has at most four bytes, which are a token
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
