"""Which contents fill the contexts most?  Sorts the messages of runs by their bytes times the number of calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from playhead.model.event import LlmCalled
from playhead.model.message import message_lines
from playhead.model.ref import ContentRef
from playhead.wire.operations.across import ContextContents, FillingContent, RunMoment
from playhead_collector.analysis.across.cohort import Cohort
from playhead_collector.analysis.across.contexts import messages_of_threads
from playhead_collector.read.values import fetch
from playhead_collector.store.ports import ReadStore

_PREVIEW: Final = 200


@dataclass(slots=True)
class SentMessage:
    """A message in contexts: how many model calls had it, in which runs, and one of the calls (`first`)."""

    first: RunMoment
    sent: int = 0
    runs: set[str] = field(default_factory=set[str])


async def answer_context_contents(store: ReadStore, project_id: int, cohort: Cohort, *, limit: int) -> ContextContents:
    """Returns the contents that fill the contexts of the runs of `cohort`, at most `limit`."""
    sent: dict[ContentRef, SentMessage] = {}
    for member in cohort.members:
        called = [event for event in await store.events.read(project_id, member.run) if isinstance(event, LlmCalled)]
        await _count(store, project_id, called, sent)
    refs = list(sent)
    sizes = {ref: len(content.data) for ref, content in (await store.contents.get_many(project_id, refs)).items()}
    return await _answer(store, project_id, cohort, sent, sizes, limit)


async def _count(
    store: ReadStore, project_id: int, called: Sequence[LlmCalled], sent: dict[ContentRef, SentMessage]
) -> None:
    """Counts the messages of these model calls of a run."""
    threads = await messages_of_threads(store, project_id, called)
    for event in reversed(called):
        for message in () if event.thread is None else threads.get(event.thread, ()):
            entry = sent.setdefault(message, SentMessage({"run": event.run, "seq": event.seq}))
            entry.sent += 1
            entry.runs.add(event.run)


async def _answer(
    store: ReadStore,
    project_id: int,
    cohort: Cohort,
    sent: Mapping[ContentRef, SentMessage],
    sizes: Mapping[ContentRef, int],
    limit: int,
) -> ContextContents:
    totals = {ref: sizes.get(ref, 0) * entry.sent for ref, entry in sent.items()}
    every = sum(totals.values())
    largest = sorted(totals, key=lambda ref: (-totals[ref], ref))[:limit]
    values = await fetch(store, project_id, largest)
    contents: list[FillingContent] = []
    for ref in largest:
        message = cast(Any, values.parsed_message(ref))
        contents.append(
            {
                "content": str(ref),
                "role": "" if message is None else str(message.get("role", "")),
                "bytes": sizes.get(ref, 0),
                "sent": sent[ref].sent,
                "total": totals[ref],
                "runs": len(sent[ref].runs),
                "share": round(totals[ref] / every, 6) if every else 0.0,
                "preview": "" if message is None else "\n".join(filter(None, message_lines(message)))[:_PREVIEW],
                "evidence": sent[ref].first,
            }
        )
    return {"population": cohort.population, "read": len(cohort.members), "total": every, "contents": contents}
