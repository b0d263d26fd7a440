"""[analysis]: the contexts of model calls of many runs."""

from collections.abc import Mapping, Sequence

from playhead.model.event import LlmCalled
from playhead.model.ref import ContentRef
from playhead_collector.errors import ContentMissing
from playhead_collector.store.ports import ReadStore


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
