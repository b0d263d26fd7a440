"""[analysis]: reads a run, or the part of it that a page needs, as a transcript.

Events are read once, and each thread once unless a later thread contains it; all contents are read together. Long
computations run in a thread, so that the event loop stays free.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead_collector.analysis.transcript.plans import plan_steps_in
from playhead_collector.analysis.transcript.transcript import Transcript, build_transcript
from playhead_collector.errors import ContentMissing
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch

# Events that are read before a page: most calls end soon.
_BEFORE = 4_096
# More messages than any model's context has today; of a longer thread only the beginning and the end are read.
_FIRST_MESSAGES, _LAST_MESSAGES = 64, 4_096


async def read_transcript(record: RunRecord) -> Transcript:
    """Reads the transcript of the whole run, with contents."""
    events = await record.all_events()
    return await _read_transcript(record, events, with_contexts=True)


async def read_transcript_end(record: RunRecord, most_events: int) -> Transcript:
    """Reads the transcript of the last `most_events` events of a run, with contents; of a shorter run all of it."""
    begin = record.last - most_events
    if begin <= 0:
        return await read_transcript(record)
    transcript = await _read_transcript(record, await record.events(begin), with_contexts=True)
    await _add_earlier_entries(record, begin, transcript)
    return transcript


async def read_transcript_outline(record: RunRecord) -> Transcript:
    """Reads the transcript of the whole run without contents: calls and the messages that belong to them."""
    events = await record.all_events()
    return await asyncio.to_thread(build_transcript, record.run, events, ContentCache({}), {})


async def read_transcript_page(
    record: RunRecord, after: int, limit: int, kind: type[ev.RunEvent], *, with_contexts: bool
) -> Transcript:
    """Reads the part of a run with the first `limit` events of this kind after seq `after`, and one more.

    Requests more than `_BEFORE` events before the page are not found. `with_contexts`: also reads the contexts of
    calls, and the seqs with which their contents entered the run.
    """
    begin, count = max(0, after - _BEFORE), 0
    events: list[ev.RunEvent] = []
    async for block in record.onwards(begin):
        events += block
        if count > limit:
            break  # after one more block: the outputs of a call follow its end
        count += sum(isinstance(event, kind) and event.seq > after for event in block)
    transcript = await _read_transcript(record, events, with_contexts=with_contexts)
    if with_contexts and begin:
        await _add_earlier_entries(record, begin, transcript)
    return transcript


async def _read_transcript(record: RunRecord, events: Sequence[ev.RunEvent], *, with_contexts: bool) -> Transcript:
    begins = [event for event in events if isinstance(event, ev.LlmCalled)] if with_contexts else []
    nodes = await read_threads(record, (event.thread for event in reversed(begins)))
    wanted = await asyncio.to_thread(lambda: [*(node.message for node in nodes.values()), *refs_in_events(events)])
    cache = await fetch(record.store, record.project_id, wanted)
    return await asyncio.to_thread(build_transcript, record.run, events, cache, nodes)


async def _add_earlier_entries(record: RunRecord, before: int, transcript: Transcript) -> None:
    """Adds to a page's transcript the seqs with which contents entered the run before it, and earlier plans and
    summaries."""
    entered: defaultdict[ContentRef, list[int]] = defaultdict(list)
    plans: list[ev.RunEvent] = []
    async for block in record.onwards(0):
        for event in block:
            if event.seq > before:
                break
            if (ref := _content_of(event)) is not None:
                entered[ref].append(event.seq)
            if isinstance(event, ev.ContextCompressed) and event.summary is not None:
                transcript.summaries.setdefault(event.summary, event)
            if isinstance(event, ev.PlanCreated | ev.OrchestrationDecision) or (
                isinstance(event, ev.StateChanged) and event.key == "plan"
            ):
                plans.append(event)
        if block[-1].seq >= before:
            break
    cache = await fetch(record.store, record.project_id, refs_in_events(plans))
    transcript.plan_steps[:0] = [step for event in plans for step in plan_steps_in(event, cache)]

    def put_before() -> None:
        for ref, seqs in entered.items():
            transcript.entry_seqs[ref][:0] = seqs

    await asyncio.to_thread(put_before)


def _content_of(event: ev.RunEvent) -> ContentRef | None:
    """Returns the content that entered the run with this event, or None."""
    match event:
        case ev.MessageAdded(message=ref) | ev.ToolCompleted(result=ref) | ev.RunStarted(input=ref):
            return ref
        case _:
            return None


async def read_threads(record: RunRecord, refs: Iterable[ContentRef | None]) -> dict[ContentRef, ThreadNode]:
    """Reads the nodes of these threads. A thread that is contained in one read before is not read again. Of a very long
    thread, only the beginning and the end are kept, and joined."""
    nodes: dict[ContentRef, ThreadNode] = {}
    for ref in refs:
        if ref is None or ref in nodes:
            continue
        try:
            thread = await record.store.contents.thread(record.project_id, ref)
        except ContentMissing:
            continue  # not arrived: its messages remain unknown
        if len(thread) > _FIRST_MESSAGES + _LAST_MESSAGES:
            first, last = thread[:_FIRST_MESSAGES], thread[-_LAST_MESSAGES:]
            thread = [*first, replace(last[0], parent=first[-1].ref), *last[1:]]
        nodes |= {node.ref: node for node in thread}
    return nodes


def refs_in_events(events: Iterable[ev.RunEvent]) -> Iterator[ContentRef | None]:
    """Refs of the contents that events name."""
    for event in events:
        match event:
            case ev.MessageAdded(message=ref) | ev.ToolCalled(arguments=ref) | ev.ToolCompleted(result=ref):
                yield ref
            case ev.RunStarted(input=ref) | ev.PlanCreated(plan=ref) | ev.OrchestrationDecision(annotation=ref):
                yield ref
            case ev.StateChanged(value=ref) | ev.AgentHandoff(reason=ref):
                yield ref
            case ev.LlmCalled(tools=tools, system=system, input=input_ref):
                yield from (tools, system, input_ref)
            case ev.LlmCompleted(reasoning=reasoning, output=output):
                yield from (reasoning, output)
            case _:
                pass
