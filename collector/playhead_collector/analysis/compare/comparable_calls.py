"""[analysis]: the calls of a run in a form that can be compared with another run's. Pure except for reading.

A model call is compared by its new messages, not by its whole context: otherwise one different message would make all
later calls differ. Ids of tool calls, which providers generate for each call, are ignored.
"""

from collections.abc import AsyncIterator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from playhead.model import event as ev
from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.message import Message, read_message
from playhead.model.ref import ContentRef
from playhead.model.state import CANCELLED
from playhead_collector.analysis.compare.actions import CalledTools, arguments_key, called_tools
from playhead_collector.analysis.compare.alignment import Facets
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import fetch

Begin = ev.LlmCalled | ev.ToolCalled | ev.StepStarted
End = ev.LlmCompleted | ev.LlmFailed | ev.ToolCompleted | ev.ToolFailed | ev.StepCompleted
_ENDS = (ev.LlmCompleted, ev.LlmFailed, ev.ToolCompleted, ev.ToolFailed, ev.StepCompleted)
MODEL_REQUEST = ("model", "system", "tools", "settings", "messages", "input")
CALL_REQUEST = ("arguments",)
MODEL_RESPONSE, CALL_RESPONSE = ("status", "error", "answer"), ("status", "error", "result")
# Messages that are read at a time; only their keys are kept.
_AT_ONCE = 1_000
Keys = Mapping[ContentRef, Hashable]


@dataclass(slots=True)
class ComparableCall:
    """A call: the new messages of its request, and its answer."""

    begin: Begin
    end: End | None = None
    new: list[ContentRef] = field(default_factory=list[ContentRef])
    outputs: list[ContentRef] = field(default_factory=list[ContentRef])
    turn: int | None = None
    """Number of the model call, or of the one that led to this call; None: there was none before it."""

    @property
    def kind(self) -> str:
        """`llm`, `tool`, or the kind of the step."""
        if isinstance(self.begin, ev.StepStarted):
            return self.begin.step_kind
        return "llm" if isinstance(self.begin, ev.LlmCalled) else "tool"

    @property
    def name(self) -> str | None:
        """Name of the tool or function; of a model call, the model (or None)."""
        return self.begin.model if isinstance(self.begin, ev.LlmCalled) else self.begin.name

    @property
    def status(self) -> str:
        """`open`, `cancelled`, `failed` or `completed`."""
        if self.end is None:
            return "open"
        return CANCELLED if self.end.outcome == CANCELLED else "failed" if self.error else "completed"

    @property
    def error(self) -> tuple[str, str] | None:
        """Type and message of its exception; None if it did not fail."""
        end = self.end
        failed = isinstance(end, ev.LlmFailed | ev.ToolFailed) or (isinstance(end, ev.StepCompleted) and end.error_type)
        return (str(getattr(end, "error_type", "")), str(getattr(end, "message", "") or "")) if failed else None

    def request_refs(self) -> dict[str, ContentRef | None]:
        """Refs of the request by their names, without messages."""
        begin = self.begin
        if isinstance(begin, ev.LlmCalled):
            return {"system": begin.system, "tools": begin.tools, "settings": begin.request, "input": begin.input}
        return {"arguments": begin.arguments if isinstance(begin, ev.ToolCalled) else begin.input}

    def result(self) -> ContentRef | None:
        """Ref of its result; of a model call only if it returned something other than messages (`outputs`)."""
        end = self.end
        if isinstance(end, ev.ToolCompleted):
            return end.result
        return end.output if isinstance(end, ev.LlmCompleted | ev.StepCompleted) else None


@dataclass(slots=True)
class ComparableRun:
    """The calls of a run, and its outcome."""

    record: RunRecord
    calls: list[ComparableCall] = field(default_factory=list[ComparableCall])
    begun: ev.RunStarted | None = None
    ended: ev.RunCompleted | ev.RunFailed | None = None
    parts: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Runs that recorded the events, each with its last seq: the first events of a fork are its parent's."""
    _open: dict[str, ComparableCall] = field(default_factory=dict[str, ComparableCall])
    _waiting: dict[str, list[ContentRef]] = field(default_factory=dict[str, list[ContentRef]])
    _of_span: dict[str, ComparableCall] = field(default_factory=dict[str, ComparableCall])
    _turns: int = 0
    _last_turn: dict[str | None, int] = field(default_factory=dict[str | None, int])
    """By agent."""

    def take(self, event: ev.RunEvent) -> None:
        """Takes one more event, in seq order."""
        span = event.span or ""
        if self.parts and self.parts[-1][0] == event.run:
            self.parts.pop()
        self.parts.append((event.run, event.seq))
        match event:
            case ev.MessageAdded():
                self._added(event, span)
            case ev.LlmCalled() | ev.ToolCalled() | ev.StepStarted():
                if isinstance(event, ev.StepStarted) and event.step_kind not in names.REPLAYED_KINDS:
                    return
                call = ComparableCall(event, new=self._waiting.pop(span, []), turn=self._turn_of(event))
                self.calls.append(call)
                self._open[span] = self._of_span[span] = call
            case ev.RunStarted():
                self.begun, self.ended = event, None
            case ev.RunResumed():
                self.ended = None
            case ev.RunCompleted() | ev.RunFailed():
                self.ended = event
            case _:
                if isinstance(event, _ENDS) and (call := self._open.pop(span, None)) is not None:
                    call.end = event

    def _turn_of(self, event: Begin) -> int | None:
        if isinstance(event, ev.LlmCalled):
            self._turns += 1
            self._last_turn[event.actor] = self._turns
        return self._last_turn.get(event.actor, self._turns or None)

    def _added(self, event: ev.MessageAdded, span: str) -> None:
        if event.message is None:
            return
        if event.source != "output":
            self._waiting.setdefault(span, []).append(event.message)
        elif span in self._of_span:
            self._of_span[span].outputs.append(event.message)

    def answer(self) -> ContentRef | None:
        """Ref of the run's output, else of the last message of a model; None if it failed or has neither."""
        if isinstance(self.ended, ev.RunFailed):
            return None
        if self.ended is not None and self.ended.output is not None:
            return self.ended.output
        return next((call.outputs[-1] for call in reversed(self.calls) if call.outputs), None)


async def read_run(record: RunRecord) -> ComparableRun:
    """Reads the whole run."""
    run = ComparableRun(record)
    async for block in record.onwards(0):
        for event in block:
            run.take(event)
    return run


@dataclass(frozen=True, slots=True)
class CallMessages:
    """What is compared of the messages of calls, by ref.

    `keys` has, for messages with tool calls, a key that ignores the ids of the calls; other messages are compared by
    their refs.  `tools` has the tools that a model called with the message.
    """

    keys: Keys
    tools: Mapping[ContentRef, CalledTools]

    def called_by(self, call: ComparableCall) -> CalledTools:
        """The tools that a model call asked for; messages that are not stored count for nothing."""
        return tuple(tool for ref in call.outputs for tool in self.tools.get(ref, ()))


async def read_call_messages(record: RunRecord, calls: Iterable[ComparableCall]) -> CallMessages:
    """Reads the messages of the calls.  Only what is compared of them is kept."""
    of_calls = list(calls)
    named = dict.fromkeys(ref for call in of_calls for ref in (*call.new, *call.outputs))
    outputs = {ref for call in of_calls for ref in call.outputs}
    keys: dict[ContentRef, Hashable] = {}
    tools: dict[ContentRef, CalledTools] = {}
    async for ref, message in _messages(record, list(named)):
        if (key := _key(message)) is not None:
            keys[ref] = key
        if ref in outputs:
            tools[ref] = called_tools(message)
    return CallMessages(keys, tools)


async def read_argument_keys(record: RunRecord, refs: Iterable[ContentRef]) -> dict[ContentRef, bytes]:
    """Digests of arguments that are equal for arguments that differ only in prose.  Only what is stored is in it."""
    wanted, keys = list(dict.fromkeys(refs)), dict[ContentRef, bytes]()
    for batch in _batches(wanted):
        cache = await fetch(record.store, record.project_id, batch)
        keys |= {ref: arguments_key(value) for ref in batch if (value := cache.parsed(ref)) is not None}
    return keys


def _batches(refs: Sequence[ContentRef]) -> Iterator[Sequence[ContentRef]]:
    yield from (refs[start : start + _AT_ONCE] for start in range(0, len(refs), _AT_ONCE))


async def _messages(record: RunRecord, refs: Sequence[ContentRef]) -> AsyncIterator[tuple[ContentRef, Message]]:
    for batch in _batches(refs):
        for ref, content in (await record.store.contents.get_many(record.project_id, batch)).items():
            try:
                yield ref, read_message(content.data)
            except (ValueError, RecursionError):
                continue  # it is compared by its ref


def _key(message: Message) -> Hashable:
    parts = [{name: value for name, value in part.items() if name != "id"} for part in message["parts"]]
    if parts == message["parts"]:
        return None
    return sha256(canonical_json({**message, "parts": parts})).digest()


def facets_of(call: ComparableCall, keys: Keys) -> Facets:
    """The values by which the call is compared, in the order of `MODEL_REQUEST` and `MODEL_RESPONSE` (or the two lists
    for other calls).
    """
    refs = call.request_refs()
    if isinstance(call.begin, ev.LlmCalled):
        new, answer = _keyed(call.new, keys), _keyed(call.outputs, keys)
        model = (call.begin.model, refs["system"], refs["tools"], refs["settings"], new, refs["input"])
        return Facets("llm", model, (call.status, call.error, (answer, call.result())))
    return Facets((call.kind, call.name), (refs["arguments"],), (call.status, call.error, call.result()))


def differing(ours: Facets, theirs: Facets) -> list[str]:
    """Names of the facets that differ."""
    of_model = ours.sort == "llm"
    named = (*MODEL_REQUEST, *MODEL_RESPONSE) if of_model else (*CALL_REQUEST, *CALL_RESPONSE)
    values = zip(named, (*ours.request, *ours.response), (*theirs.request, *theirs.response), strict=True)
    return [name for name, left, right in values if left != right]


def _keyed(refs: Iterable[ContentRef], keys: Keys) -> tuple[Hashable, ...]:
    return tuple(keys.get(ref) or ref for ref in refs)
