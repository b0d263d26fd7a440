"""[analysis]: reads the part of a run that a page of its lines, or one turn, needs."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from playhead.model import event as ev
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead_collector.analysis.transcript.arguments import ToolDefinition, definitions_of
from playhead_collector.analysis.turns.outline import CallBegin, MadeCall, ModelCall, Outline
from playhead_collector.analysis.turns.requested import REACH, AskedCall, assign, requests_in
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import state_at
from playhead_collector.read.values import ContentCache, fetch

# A model call that is open for longer than so many events of others is shown without what it led to.
_MOST_AHEAD = 8 * REACH
# Events that are read at once for a whole run.
_PORTION = 4_096


@dataclass(slots=True)
class RunPart:
    """A part of a run: its calls, which of them asked for which, and contents.  `upto`: its last seq.

    `unasked`: tool calls that no answer asked for.
    """

    outline: Outline
    upto: int
    cache: ContentCache
    requests: dict[ModelCall, list[AskedCall]]
    unasked: list[MadeCall]
    definitions: "Definitions"

    def message(self, ref: ContentRef | None) -> Message | None:
        """A parsed message; None if it is not stored or is no message."""
        return None if ref is None else self.cache.parsed_message(ref)


class Definitions:
    """The definitions of tools that model calls were offered; each list is read once."""

    def __init__(self, cache: ContentCache) -> None:
        self._cache = cache
        self._by_ref: dict[ContentRef, dict[str, ToolDefinition]] = {}

    def of(self, begin: ev.LlmCalled, name: str) -> ToolDefinition | None:
        """The definition of a tool, as the model call was offered it; None if it was not."""
        if begin.tools is None:
            return None
        if begin.tools not in self._by_ref:
            self._by_ref[begin.tools] = definitions_of(self._cache.parsed(begin.tools))
        return self._by_ref[begin.tools].get(name)


async def read_part(
    record: RunRecord,
    after: int,
    is_enough: Callable[[Outline], int | None],
    also: Callable[[Outline], Iterable[ContentRef | None]],
) -> RunPart:
    """Reads the events from `REACH` before seq `after` on.

    `is_enough` returns, of what was read, the seq behind which nothing is needed but what calls before it led to; None
    while more is needed.  `also`: contents to read beside answers and arguments.
    """
    begin = max(0, after - REACH)
    outline = await _outline_at(record, begin)
    upto: int | None = None
    async for block in record.onwards(begin):
        outline.take(block)
        upto = is_enough(outline) if upto is None else upto
        if upto is not None and _is_complete(outline, upto):
            break
    messages = [output.message for model in outline.models for output in model.outputs]
    arguments = [tool.begin.arguments for tool in outline.tools]
    tools = dict.fromkeys(model.begin.tools for model in outline.models)
    cache = await fetch(record.store, record.project_id, [*messages, *arguments, *tools, *also(outline)])
    requests, unasked = await asyncio.to_thread(_requests, outline, cache)
    return RunPart(outline, outline.last_seq if upto is None else upto, cache, requests, unasked, Definitions(cache))


async def _outline_at(record: RunRecord, begin: int) -> Outline:
    """An outline that goes on after seq `begin`."""
    if begin == 0 or (begin <= (record.row.shared or 0) and record.row.parent_missing):
        return Outline()
    state = await state_at(record, begin)
    seqs = [call.seq for call in state.open_calls.values() if call.kind != "llm"]
    begins = [await record.event(seq) for seq in seqs]
    enclosing: dict[str, CallBegin] = {
        event.span: event
        for event in begins
        if isinstance(event, ev.ToolCalled | ev.StepStarted) and event.span is not None
    }
    return Outline(state.llm_calls, enclosing)


def _is_complete(outline: Outline, upto: int) -> bool:
    """Whether nothing behind what was read belongs to a turn before `upto`."""
    read_to = outline.last_seq
    ends = [model.last_seq for model in outline.models if model.begin.seq <= upto]
    if read_to < max([upto, *ends]) + REACH:
        return False
    is_open = any(outline.is_open(model.begin.span) for model in outline.models if model.begin.seq <= upto)
    return not is_open or read_to >= upto + _MOST_AHEAD


def _requests(outline: Outline, cache: ContentCache) -> tuple[dict[ModelCall, list[AskedCall]], list[MadeCall]]:
    by_model = {
        model: list(
            requests_in(model, {out.seq: cache.parsed_message(out.message) for out in model.outputs if out.message})
        )
        for model in outline.models
    }
    every = [request for requests in by_model.values() for request in requests]
    every.sort(key=lambda request: request.seq)
    return by_model, assign(every, ((tool, cache.parsed(tool.begin.arguments)) for tool in outline.tools))


async def read_on(record: RunRecord, outline: Outline, is_done: Callable[[], bool]) -> None:
    """Gives the outline the events that follow, until `is_done` or the end of the run."""
    if is_done():
        return
    async for block in record.onwards(outline.last_seq):
        outline.take(block)
        if is_done():
            return


async def read_outline(record: RunRecord) -> Outline:
    """Reads the calls of the whole run, without content."""
    outline = Outline()
    async for portion in record.portions(_PORTION):
        outline.take(portion)
    return outline
