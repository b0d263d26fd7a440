"""Lists of a run's model calls and tool calls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.model.state import CANCELLED
from playhead.model.times import rfc3339
from playhead.wire.operations import Call as CallAnswer
from playhead.wire.operations import CallError, LlmCall, Page, ToolCall
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import fetch

LlmEnd = ev.LlmCompleted | ev.LlmFailed
ToolEnd = ev.ToolCompleted | ev.ToolFailed
LLM_END, TOOL_END = (ev.LlmCompleted, ev.LlmFailed), (ev.ToolCompleted, ev.ToolFailed)

Begin = TypeVar("Begin", ev.LlmCalled, ev.ToolCalled)
End = TypeVar("End", LlmEnd, ToolEnd)
Answer = TypeVar("Answer", LlmCall, ToolCall)


@dataclass(slots=True)
class CallEvents(Generic[Begin, End]):
    """The start and the end event of a call; `end` is None while the call is open."""

    begin: Begin
    end: End | None = None


class CallPairing(Generic[Begin, End]):
    """Pairs the start and end events of the first `limit` calls, or of those that are `wanted`. Takes events in seq
    order."""

    def __init__(
        self,
        begin: type[Begin],
        end: tuple[type[Any], ...],
        limit: int,
        wanted: Callable[[Begin], bool] | None = None,
    ) -> None:
        self.calls: list[CallEvents[Begin, End]] = []
        self.more = False
        self._begin, self._end, self._limit, self._wanted = begin, end, limit, wanted
        self._open: dict[str, CallEvents[Begin, End]] = {}

    @property
    def done(self) -> bool:
        """Whether later events cannot change the result."""
        return self.more and not self._open

    def take(self, events: Iterable[ev.RunEvent]) -> None:
        """Pairs more events."""
        for event in events:
            if isinstance(event, self._begin):
                if self._wanted is None or self._wanted(event):
                    self._called(event)
            elif isinstance(event, self._end) and (call := self._open.pop(event.span or "", None)):
                call.end = cast(End, event)

    def _called(self, event: Begin) -> None:
        if len(self.calls) == self._limit:
            self.more = True
            return
        self.calls.append(CallEvents(event))
        if event.span is not None:
            self._open[event.span] = self.calls[-1]


async def list_llm_calls(
    record: RunRecord, limit: int, after: int, hydrate: bool, *, task: str | None = None
) -> Page[LlmCall]:
    """Returns a page of model calls that began after seq `after`. `task`: only those of this task."""
    pairing: CallPairing[ev.LlmCalled, LlmEnd] = CallPairing(
        ev.LlmCalled, LLM_END, limit, None if task is None else lambda called: called.task == task
    )
    return await _page(record, pairing, llm_call, after, hydrate)


async def list_tool_calls(record: RunRecord, limit: int, after: int, hydrate: bool) -> Page[ToolCall]:
    """Returns a page of tool calls that began after seq `after`."""
    pairing: CallPairing[ev.ToolCalled, ToolEnd] = CallPairing(ev.ToolCalled, TOOL_END, limit)
    return await _page(record, pairing, tool_call, after, hydrate)


async def _page(
    record: RunRecord,
    pairing: CallPairing[Begin, End],
    answer_of: Callable[[CallEvents[Begin, End]], Answer],
    after: int,
    hydrate: bool,
) -> Page[Answer]:
    async for block in record.onwards(after):
        pairing.take(block)
        if pairing.done:
            break
    items = [answer_of(call) for call in pairing.calls]
    if hydrate:
        await _hydrate(record, items)
    return {"items": items, "next_cursor": str(items[-1]["seq"]) if pairing.more else None}


async def _hydrate(record: RunRecord, items: Sequence[CallAnswer]) -> None:
    cache = await fetch(
        record.store, record.project_id, (ContentRef(ref) for it in items for ref in it["refs"].values())
    )
    for item in items:
        item["values"] = {name: cache.value(ContentRef(ref)) for name, ref in item["refs"].items()}
        item["missing"] = [ref for ref in item["refs"].values() if ref in cache.missing]


def llm_call(call: CallEvents[ev.LlmCalled, LlmEnd]) -> LlmCall:
    """Converts a model call to an answer."""
    begin, end = call.begin, call.end
    done = end if isinstance(end, ev.LlmCompleted) else None
    refs = {name: getattr(begin, name) for name in ("thread", "system", "tools", "request", "input")}
    refs |= {"output_thread": end and end.thread}
    refs |= {name: getattr(done, name, None) for name in ("response", "reasoning", "output")}
    return {
        **_common(begin, end, refs),
        "model": (end and end.model) or begin.model,
        "provider": begin.provider,
        "operation": begin.operation,
        "stream": begin.stream,
        "messages": begin.messages,
        "task": begin.task,
        "turn": begin.turn,
        "first_chunk_ms": done and done.first_chunk_ms,
        "finish_reasons": list(done.finish_reasons) if done else [],
        "usage": ev.usage_to_json(done.usage) if done else {},
    }


def tool_call(call: CallEvents[ev.ToolCalled, ToolEnd]) -> ToolCall:
    """Converts a tool call to an answer."""
    begin, end = call.begin, call.end
    result = end.result if isinstance(end, ev.ToolCompleted) else None
    return {
        **_common(begin, end, {"arguments": begin.arguments, "result": result}),
        "name": begin.name,
        "call_id": begin.call_id or (end and end.call_id),
    }


def _common(
    begin: ev.LlmCalled | ev.ToolCalled, end: LlmEnd | ToolEnd | None, refs: Mapping[str, ContentRef | None]
) -> CallAnswer:
    cancelled = end is not None and end.outcome == CANCELLED
    failed = isinstance(end, ev.LlmFailed | ev.ToolFailed)
    error: CallError | None = {"type": end.error_type, "message": end.message} if failed and not cancelled else None
    return {
        "seq": begin.seq,
        "event": begin.id,
        "ended_seq": end and end.seq,
        "span": begin.span,
        "actor": begin.actor,
        "time": rfc3339(begin.time_ns),
        "status": "open" if end is None else CANCELLED if cancelled else "failed" if failed else "completed",
        "outcome": end and end.outcome,
        "elapsed_ms": end and end.elapsed_ms,
        "error": error,
        "refs": {name: ref for name, ref in refs.items() if ref is not None},
    }
