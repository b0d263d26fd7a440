"""Records the request body that a library sent for a model call, if it builds that from other arguments.

LiteLLM is called with messages in one form, and sends each provider a body in that provider's own.  The list of
messages in it is recorded as a thread, so that the calls of a conversation share it, whatever form the messages have.
The content of `playhead.sent_ref`:

    {"list": name | null, "body": ref, "messages": ref | null}    name of the list in the body, the other members of
                                                                  the body, and how the messages differ from what
                                                                  their canonical form restores (`playhead.exact_ref`)
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from playhead.calls.lifecycle import current_span
from playhead.calls.span import ObservedSpan
from playhead.dialect import openai_chat as dialect
from playhead.kernel.guard import swallowed
from playhead.model import names
from playhead.model.objects.interrupts import let_through

_LISTS = ("messages", "contents", "input")  # of most providers; Gemini; OpenAI's Responses


def note_sent_body(body: Callable[[], Mapping[str, Any] | None]) -> None:
    """Notes how to read the body that is being sent for the current model call. The body of a retry or a fallback
    replaces an earlier one."""
    span = current_span()
    if span is not None and span.kind == "llm" and span.inner_model_calls is not None and span.end_ns is None:
        span.sent_body = body


def record_sent_body(span: ObservedSpan) -> None:
    """Records the last noted body, if there is one. Never raises."""
    if span.sent_body is None:
        return
    read, span.sent_body = span.sent_body, None
    try:
        body = read()
        if body is not None and span.run.recorded:
            _record(span, body)
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("record the body of a model's request", error)


def _record(span: ObservedSpan, body: Mapping[str, Any]) -> None:
    to, frames = span.recorder, span.frames
    name = next((name for name in _LISTS if _is_list_of_messages(body.get(name))), None)
    rest = to.repeated({key: value for key, value in body.items() if key != name}, frames, span.redact)
    if rest is None:
        return
    thread, sent = to.exact_thread(
        () if name is None else body[name], dialect.to_message, dialect.from_message, span.run.threads, frames,
        shape={"list": name, "body": rest}, redact=span.redact,
    )  # fmt: skip
    if sent is not None:
        span.attributes[names.SENT_REF] = sent
    if thread is not None:
        span.attributes[names.SENT_MESSAGES_REF] = thread


def _is_list_of_messages(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in cast("list[Any]", value))
