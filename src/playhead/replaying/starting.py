"""Starting point of a run that continues from its record, or from another run's: last checkpoint, values of
`run.state`, conversation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from playhead.calls.starting import RecordedCheckpoint, RecordedUsage
from playhead.dialect.openai_chat import from_messages
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead.projection.attributes import model_of, text, usage_of
from playhead.replaying.record import FOREVER, Record, refuse_masked
from playhead.replaying.recorded_calls import Outcome, RecordedCall, recorded_calls
from playhead.replaying.restoring import restored_payload


class RecordedStart:
    """Implements `calls.starting.StartingPoint` with a record."""

    def __init__(
        self,
        run_id: str,
        record: Record,
        *,
        upto: int | None = None,
        begin: Callable[[RecordedCheckpoint], None] | None = None,
    ):
        """`upto`: only what came before this order number counts (a fork's cut); None: all. `begin` makes the run go on
        from a checkpoint; None: the run has no recorded calls."""
        self.run_id = run_id
        self._record = record
        self._upto = upto or FOREVER
        self._begin = begin
        self._begun = False
        self._checkpoint = self._last_checkpoint()

    @property
    def checkpoint(self) -> RecordedCheckpoint | None:
        """The last checkpoint; None: there is none."""
        return self._checkpoint

    @property
    def state(self) -> Mapping[str, Any]:
        """Values of `run.state`, computed from the recorded changes: up to the checkpoint if the run goes on from
        there. Raises CannotRestore."""
        upto = self._checkpoint.order if self._begun and self._checkpoint is not None else self._upto
        values: dict[str, Any] = {}
        for entry in self._logs(names.STATE_CHANGED):
            key = str(entry.attributes.get(names.STATE_KEY))
            if order_of(entry) > upto:
                break
            if names.VALUE_REF in entry.attributes:
                values[key] = restored_payload(self._record, entry.attributes, names.VALUE_REF)
            else:
                values.pop(key, None)
        return values

    @property
    def history(self) -> list[dict[str, Any]]:
        """Messages of the last model call that has ended, in OpenAI's form; empty if there is none. Raises
        CannotRestore."""
        calls = [call for call in recorded_calls(self._record.spans) if call.kind == "llm" and call.is_settled]
        calls = [call for call in calls if call.order < self._upto and call.ref(names.INPUT_MESSAGES_REF) is not None]
        if not calls:
            return []
        threads = (calls[-1].ref(names.INPUT_MESSAGES_REF), calls[-1].ref(names.OUTPUT_MESSAGES_REF))
        refs = [ref for thread in threads if thread is not None for ref in self._messages(thread)]
        return from_messages(map(self._message, refs))

    @property
    def recorded_usage(self) -> Sequence[RecordedUsage]:
        """Each recorded model call that has completed."""
        if self._begin is None:
            return []
        begins_at = self._checkpoint.order if self._begun and self._checkpoint is not None else 0
        calls = [call for call in recorded_calls(self._record.spans) if call.kind == "llm" and call.order < self._upto]
        return [
            RecordedUsage(_answering_model(call), usage_of(call.span.attributes), call.order > begins_at)
            for call in calls
            if call.outcome is Outcome.COMPLETED
        ]

    @property
    def root(self) -> tuple[str, str] | None:
        """Trace id and span id of the root span of the run's last attempt; None: there is none."""
        roots = [span for span in self._record.spans if span.attributes.get(names.RUN_ROOT) is True]
        own_roots = [span for span in roots if span.attributes.get(names.RUN_ID) == self.run_id]
        return (own_roots[-1].trace_id, own_roots[-1].span_id) if own_roots else None

    def begin_here(self) -> RecordedCheckpoint | None:
        """Makes the run go on from the last checkpoint and returns it; None: there is none. A second call only returns
        it."""
        if self._checkpoint is not None and not self._begun:
            self._begun = True
            if self._begin is not None:
                self._begin(self._checkpoint)
        return self._checkpoint

    def _last_checkpoint(self) -> RecordedCheckpoint | None:
        entries = [entry for entry in self._logs(names.CHECKPOINT) if order_of(entry) < self._upto]
        if not entries:
            return None
        entry = entries[-1]

        def load() -> Any:
            return restored_payload(self._record, entry.attributes, names.STATE_REF)

        name = entry.attributes.get(names.CHECKPOINT_NAME)
        return RecordedCheckpoint(self.run_id, cast("str | None", name), entry.time_ns, order_of(entry), load)

    def _logs(self, name: str) -> list[LogEvent]:
        entries = [entry for entry in self._record.logs if entry.name == name]
        return sorted(entries, key=lambda entry: (order_of(entry), entry.time_ns))

    def _messages(self, thread: ContentRef) -> list[ContentRef]:
        refs = self._record.messages(thread)
        if refs is None:
            raise CannotRestore(f"the conversation of run {self.run_id} is not at hand; begin with other messages")
        return refs

    def _message(self, ref: ContentRef) -> Message:
        content = self._record.content(ref)
        if content is None:
            raise CannotRestore(f"the message {ref} of run {self.run_id} is not at hand; begin with other messages")
        refuse_masked(content, f"the message {ref} of run {self.run_id}", "begin with other messages")
        return cast(Message, parse_json(content.data))


def _answering_model(call: RecordedCall) -> str:
    attributes = call.span.attributes
    return text(attributes, names.RESPONSE_MODEL) or model_of(attributes) or ""


def order_of(entry: LogEvent) -> int:
    """Order number of the log event in the run; 0 if another process than the run's recorded it."""
    return int(entry.attributes.get(names.CALL_ORDER) or 0)
