"""Writes the summary of entries, by one or several calls of a model."""

from collections.abc import Iterator, Sequence

from playhead.context.entries import Entry
from playhead.context.plan import Summariser
from playhead.errors import PlayheadError
from playhead.model.message import Message, message_lines, text_message
from playhead.model.token_estimates import estimate_value
from playhead.models.choosing import complete
from playhead.models.clients import named
from playhead.models.model import Model, ModelRequest

BEGINNING = "Summary of the conversation so far:"
# Where a prompt has the conversation in it; the others are a system prompt.
PLACE_IN_PROMPT = "{messages}"
# Of the model's window, for what it is asked to summarise; the rest is for the prompt and the summary.
_INPUT_SHARE = 0.7


class SummaryFailed(PlayheadError):
    """A summary could not be written; the message says why."""


def model_of(summariser: Summariser, default: Model | str | None) -> Model:
    """Returns the model that writes the summary. Raises SummaryFailed if none is known."""
    model = summariser.model if summariser.model is not None else default
    if model is None:
        raise SummaryFailed("no model is known that could write it: give LlmSummary(model=...) or Context(model=...)")
    return named(model) if isinstance(model, str) else model


def write_summary(entries: Sequence[Entry], summariser: Summariser, model: Model, window: int | None) -> str:
    """Returns the summary of the entries. `window`: of the model, in tokens; None: not known. Raises SummaryFailed for
    an empty one, and what the model raises."""
    most = summariser.max_input_tokens
    if most is None and window is not None:
        most = int(_INPUT_SHARE * window)
    summary = ""
    for part in _parts(entries, most):
        asked = f"{BEGINNING}\n{summary}\n\nConversation since then:\n{part}" if summary else f"Conversation:\n{part}"
        summary = complete(model, ModelRequest(_messages(summariser.prompt, asked))).text.strip()
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
