"""Makes the refs for `playhead.compressed()`: the thread before, the thread after, and the summary message."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.calls.recorder import Frames, Recorder
from playhead.calls.span import ObservedSpan
from playhead.dialect.openai_chat import to_message
from playhead.model import names
from playhead.model.message import message_text
from playhead.model.ref import ContentRef


def compression_refs(
    to: Recorder, frames: Frames, span: ObservedSpan, before: Iterable[Any], after: Iterable[Any], summary: Any
) -> dict[str, ContentRef | None]:
    """Returns the refs for the log event `playhead.compressed`.

    Both threads extend the run's known threads: messages of earlier model calls are not hashed again here, nor are
    these messages in the next call.
    """
    threads, redact = span.run.threads, span.redact
    messages_after = list(after)
    message = _summary_message(summary, messages_after)
    return {
        names.COMPRESSION_BEFORE_REF: to.thread(list(before), to_message, threads, frames, redact),
        names.COMPRESSION_AFTER_REF: to.thread(messages_after, to_message, threads, frames, redact),
        names.COMPRESSION_SUMMARY_REF: message and to.native_message(message, to_message, frames, redact),
    }


def _summary_message(summary: Any, messages: Sequence[Any]) -> Any:
    """Returns the summary as a message. For a text: the first of `messages` that contains it, else a new message; None
    for an empty text."""
    if not isinstance(summary, str):
        return summary
    matching = (message for message in messages if summary and summary in _text(message))
    return next(matching, {"role": "user", "content": summary} if summary else None)


def _text(message: Any) -> str:
    if isinstance(message, Mapping):
        return message_text(to_message(cast(Mapping[str, Any], message)))
    content = getattr(message, "content", None)  # a provider's own object
    return content if isinstance(content, str) else ""
