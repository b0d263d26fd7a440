"""store → [projection]: the conversations of calls whose messages arrive one by one, each in its own log record.

OpenTelemetry's older GenAI events (`gen_ai.user.message`, `gen_ai.choice`, ...) of one call may be split over several
batches, and batches arrive in any order, several times, before or after the span.  So each stored record refers to its
own messages only, and the thread is made here from all records of the span: the result does not depend on how they were
grouped.  Making it when a batch is stored would need a lock for each span, and every earlier batch to be read again.
A thread of a single batch is stored with the batch; a thread of several batches is stored when the run is projected
(`store.postgres.projecting`), before events refer to it.  Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from playhead.model import names
from playhead.model.json_value import list_of
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import Attributes, LogEvent
from playhead.model.thread import extend

_LISTS: Final = (names.LOG_INPUT_MESSAGES, names.LOG_OUTPUT_MESSAGES)
_FINISH_REASON: Final = "finish_reason"


@dataclass(slots=True)
class RecordedConversation:
    """The conversation in the records of one span: refs of input and output messages, in order, and finish reasons."""

    inputs: list[ContentRef] = field(default_factory=list[ContentRef])
    outputs: list[ContentRef] = field(default_factory=list[ContentRef])
    finish_reasons: list[str] = field(default_factory=list[str])

    def attributes(self) -> Attributes:
        """The conversation as span attributes: refs of the input and output threads, and finish reasons."""
        values: Attributes = {}
        if self.inputs:
            values[names.INPUT_MESSAGES_REF] = extend(self.inputs)[-1].ref
        if self.outputs:
            values[names.OUTPUT_MESSAGES_REF] = extend(self.outputs)[-1].ref
        if self.finish_reasons:
            values[names.FINISH_REASONS] = self.finish_reasons
        return values


def is_message_record(log: LogEvent) -> bool:
    """Whether a log record refers to messages of a span's conversation."""
    return log.span_id is not None and any(name in log.attributes for name in _LISTS)


def conversations(logs: Iterable[LogEvent]) -> Mapping[str, RecordedConversation]:
    """The conversations by span id. Messages are in the order of the records' times; at equal times, of `logs`.

    A record that was sent again, in the same or another batch, counts once.
    """
    by_span: dict[str, RecordedConversation] = {}
    seen: set[tuple[Any, ...]] = set()
    for log in sorted(filter(is_message_record, logs), key=lambda log: log.time_ns):
        inputs, answered = (_refs(log.attributes.get(name)) for name in _LISTS)
        repetition = log.attributes.get(names.LOG_REPETITION)
        key = (log.span_id, log.time_ns, log.name, *inputs, None, *answered, repr(repetition))
        if key in seen:
            continue
        seen.add(key)
        conversation = by_span.setdefault(log.span_id or "", RecordedConversation())
        conversation.inputs += inputs
        conversation.outputs += answered
        if isinstance(reason := log.attributes.get(_FINISH_REASON), str):
            conversation.finish_reasons.append(reason)
    return by_span


def recorded_threads(logs: Iterable[LogEvent]) -> Mapping[ContentRef, Sequence[ContentRef]]:
    """The threads of all conversations in these records: thread ref → refs of its messages."""
    every = [
        refs
        for conversation in conversations(logs).values()
        for refs in (conversation.inputs, conversation.outputs)
        if refs
    ]
    return {extend(messages)[-1].ref: messages for messages in every}


def _refs(value: Any) -> list[ContentRef]:
    listed = list_of(value)
    return [ContentRef(item).plain for item in listed if is_ref(item)]
