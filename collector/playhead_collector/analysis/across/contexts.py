"""[analysis]: the contexts of model calls of many runs: the messages in each, and which of them had a text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from playhead.model.event import LlmCalled
from playhead.model.message import message_lines
from playhead.model.ref import ContentRef
from playhead_collector.errors import ContentMissing
from playhead_collector.read.values import fetch
from playhead_collector.store.ports import ReadStore


class CallContext(NamedTuple):
    """A model call: the seq of its start, and whether its context had the text."""

    seq: int
    has_text: bool


async def messages_of_threads(
    store: ReadStore, project_id: int, called: Sequence[LlmCalled]
) -> Mapping[ContentRef, Sequence[ContentRef]]:
    """Returns the messages of each thread that these model calls of a run had as context. Threads that are not stored
    are left out. Reads the last thread first: it often contains the others."""
    threads: dict[ContentRef, Sequence[ContentRef]] = {}
    for event in reversed(called):
        if event.thread is None or event.thread in threads:
            continue
        try:
            nodes = await store.contents.thread(project_id, event.thread)
        except ContentMissing:
            continue
        messages = [node.message for node in nodes]
        threads |= {node.ref: messages[: index + 1] for index, node in enumerate(nodes)}
    return threads


async def contexts_with(store: ReadStore, project_id: int, run: str, text: str) -> Sequence[CallContext]:
    """Returns the model calls of the run in their order. Letters are compared without their case; a text is looked for
    in each message on its own, tool calls and results included."""
    called = [event for event in await store.events.read(project_id, run) if isinstance(event, LlmCalled)]
    threads = await messages_of_threads(store, project_id, called)
    refs = {ref for messages in threads.values() for ref in messages}
    values = await fetch(store, project_id, refs)
    wanted = text.casefold()
    having = {
        ref
        for ref in refs
        if (message := values.parsed_message(ref)) is not None
        and wanted in "\n".join(message_lines(message)).casefold()
    }
    return [
        CallContext(event.seq, event.thread is not None and not having.isdisjoint(threads.get(event.thread, ())))
        for event in called
    ]


def had_text(contexts: Sequence[CallContext], before: int | None) -> bool:
    """Whether the context of the last model call before this seq (None: of the run's last one) had the text."""
    earlier = [context for context in contexts if before is None or context.seq < before]
    return bool(earlier) and earlier[-1].has_text
