"""Makes the refs for `playhead.compressed()`: the thread before, the thread after, and the summary message."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.api.calls.span import ObservedSpan
from playhead.api.ports import Frames, Recorder
from playhead.dialect.openai import to_message
from playhead.model import names
from playhead.model.message import message_text
from playhead.model.ref import ContentRef


def compression_refs(
    to: Recorder, frames: Frames, span: ObservedSpan, before: Iterable[Any], after: Iterable[Any], summary: Any
) -> dict[str, ContentRef | None]:
    """Returns the refs for the log event `playhead.compressed`.

    Both threads extend the run's known threads: messages of earlier model calls are not hashed again, and neither are
    these in the next call.
    """
    known, redact = span.run.threads, span.redact
    left = list(after)
    message = _summary_message(summary, left)
    return {
        names.COMPRESSION_BEFORE_REF: to.thread(list(before), to_message, known, frames, redact),
        names.COMPRESSION_AFTER_REF: to.thread(left, to_message, known, frames, redact),
        names.COMPRESSION_SUMMARY_REF: message and to.native_message(message, to_message, frames, redact),
    }


def _summary_message(summary: Any, left: Sequence[Any]) -> Any:
    """Returns the summary as a message; for a text, the first message in `left` that contains it, else a new one."""
    if not isinstance(summary, str):
        return summary
    having = (message for message in left if summary and summary in _text(message))
    return next(having, {"role": "user", "content": summary} if summary else None)


def _text(message: Any) -> str:
    if isinstance(message, Mapping):
        return message_text(to_message(cast(Mapping[str, Any], message)))
    said = getattr(message, "content", None)  # a provider's own object
    return said if isinstance(said, str) else ""
