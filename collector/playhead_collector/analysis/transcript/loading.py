"""[analysis]: reads a run, or the part of it that a page tells of, as turns.

Events once, each thread that no later one continues, all contents together; what takes long is done beside the event
loop, so that others are answered meanwhile.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead_collector.analysis.transcript.plans import steps_told
from playhead_collector.analysis.transcript.transcript import Turns, tell
from playhead_collector.errors import ContentMissing
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import Shelf, fetch

# A page is told from so many events before it: most calls are answered at once.
_BEFORE = 4_096
# More messages than any model's context has today; what a program recorded beyond that is looked at from both ends.
_FIRST_MESSAGES, _LAST_MESSAGES = 64, 4_096


async def read_turns(record: RunRecord) -> Turns:
    """The whole run."""
    events = [event async for block in record.onwards(0) for event in block]
    return await _story(record, events, with_contexts=True)


async def read_outline(record: RunRecord) -> Turns:
    """The whole run without any content: which calls there were, and which messages belong to them."""
    events = [event async for block in record.onwards(0) for event in block]
    return await asyncio.to_thread(tell, record.run, events, Shelf({}), {})


async def read_page(
    record: RunRecord, after: int, limit: int, kind: type[ev.RunEvent], *, with_contexts: bool
) -> Turns:
    """The part of a run that tells of the first `limit` events of this kind behind seq `after`, and of one more.

    What was asked for more than `_BEFORE` events before the page is not found again.  `with_contexts`: also what calls
    saw, and where that had entered the run.
    """
    begin, found = max(0, after - _BEFORE), 0
    events: list[ev.RunEvent] = []
    async for block in record.onwards(begin):
        events += block
        if found > limit:
            break  # with one block more, for what a call put out follows its end
        found += sum(isinstance(event, kind) and event.seq > after for event in block)
    story = await _story(record, events, with_contexts=with_contexts)
    if with_contexts and begin:
        await _remember(record, begin, story)
    return story


async def _story(record: RunRecord, events: Sequence[ev.RunEvent], *, with_contexts: bool) -> Turns:
    begins = [event for event in events if isinstance(event, ev.LlmCalled)] if with_contexts else []
    nodes = await read_threads(record, (event.thread for event in reversed(begins)))
    wanted = await asyncio.to_thread(lambda: [*(node.message for node in nodes.values()), *named_in(events)])
    shelf = await fetch(record.store, record.project, wanted)
    return await asyncio.to_thread(tell, record.run, events, shelf, nodes)


async def _remember(record: RunRecord, before: int, story: Turns) -> None:
    """Notes where contents had entered the run before a page, and the plans that were written down there."""
    entered: defaultdict[ContentRef, list[int]] = defaultdict(list)
    plans: list[ev.RunEvent] = []
    async for block in record.onwards(0):
        for event in block:
            if event.seq > before:
                break
            if (ref := _brought(event)) is not None:
                entered[ref].append(event.seq)
            if isinstance(event, ev.PlanCreated | ev.OrchestrationDecision) or (
                isinstance(event, ev.StateChanged) and event.key == "plan"
            ):
                plans.append(event)
        if block[-1].seq >= before:
            break
    shelf = await fetch(record.store, record.project, named_in(plans))
    story.steps[:0] = [step for event in plans for step in steps_told(event, shelf)]

    def put_before() -> None:
        for ref, seqs in entered.items():
            story.seqs[ref][:0] = seqs

    await asyncio.to_thread(put_before)


def _brought(event: ev.RunEvent) -> ContentRef | None:
    """The content that entered the run with this event."""
    match event:
        case ev.MessageAdded(message=ref) | ev.ToolCompleted(result=ref) | ev.RunStarted(input=ref):
            return ref
        case _:
            return None


async def read_threads(record: RunRecord, refs: Iterable[ContentRef | None]) -> dict[ContentRef, ThreadNode]:
    """All nodes; a thread that a known one continues is not read again.  Of a very long one its beginning and its end,
    as if one followed the other."""
    nodes: dict[ContentRef, ThreadNode] = {}
    for ref in refs:
        if ref is None or ref in nodes:
            continue
        try:
            thread = await record.store.thread(record.project, ref)
        except ContentMissing:
            continue  # not arrived: what it would say is unknown, and stays so
        if len(thread) > _FIRST_MESSAGES + _LAST_MESSAGES:
            first, last = thread[:_FIRST_MESSAGES], thread[-_LAST_MESSAGES:]
            thread = [*first, replace(last[0], parent=first[-1].ref), *last[1:]]
        nodes |= {node.ref: node for node in thread}
    return nodes


def named_in(events: Iterable[ev.RunEvent]) -> Iterator[ContentRef | None]:
    """The contents that events tell of."""
    for event in events:
        match event:
            case ev.MessageAdded(message=ref) | ev.ToolCalled(arguments=ref) | ev.ToolCompleted(result=ref):
                yield ref
            case ev.RunStarted(input=ref) | ev.PlanCreated(plan=ref) | ev.OrchestrationDecision(annotation=ref):
                yield ref
            case ev.StateChanged(value=ref) | ev.AgentHandoff(reason=ref):
                yield ref
            case ev.LlmCalled(tools=tools, system=system, input=given):
                yield from (tools, system, given)
            case ev.LlmCompleted(reasoning=reasoning, output=output):
                yield from (reasoning, output)
            case _:
                pass
