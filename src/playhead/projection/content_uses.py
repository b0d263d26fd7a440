"""[projection]: the events that refer to a content, and the model calls whose input contained it. Pure."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from playhead.model.event import LlmCalled, RunEvent
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode

MESSAGE, THREAD = "message", "thread"
# Fields that hold refs of threads; the content is in their messages.
_THREADS = frozenset({"thread", "before", "after"})
_GIVEN = frozenset({"system", "tools", "input"})


class PlaceOfUse(NamedTuple):
    """An event that refers to a content. `use`: the name of the field; `thread` for the input thread of a model call,
    `message` for a message in it."""

    event: RunEvent
    use: str


def call_threads(events: Iterable[RunEvent]) -> list[ContentRef]:
    """The input threads of the model calls, each once."""
    return list(dict.fromkeys(event.thread.plain for event in events if isinstance(event, LlmCalled) and event.thread))


def count_uses(events: Sequence[RunEvent], nodes: Mapping[ContentRef, ThreadNode]) -> dict[ContentRef, int]:
    """The number of model calls whose input contained each content, for all contents that the events refer to and all
    messages of input threads."""
    uses: Counter[ContentRef] = Counter()
    tips: Counter[ContentRef] = Counter()
    for event in events:
        # A call whose input has one content twice counts once.
        direct_refs = {ref.plain for name, ref in _refs_of(event) if name in _GIVEN and isinstance(event, LlmCalled)}
        for _, ref in _refs_of(event):
            uses[ref.plain] += 0
        uses.update(direct_refs)
        if isinstance(event, LlmCalled) and event.thread is not None:
            tips[event.thread.plain] += 1
    for message, calls in _messages(tips, nodes):
        uses[message] += calls
    return dict(uses)


def places_of(
    events: Sequence[RunEvent], nodes: Mapping[ContentRef, ThreadNode], ref: ContentRef
) -> Iterator[PlaceOfUse]:
    """Yields the events that refer to this content, in order, once for each field."""
    having = _nodes_with(nodes, ref)
    for event in events:
        for name, field_ref in _refs_of(event):
            if field_ref.plain == ref.plain:
                yield PlaceOfUse(event, name)
        if isinstance(event, LlmCalled) and event.thread is not None:
            if event.thread.plain == ref.plain:
                yield PlaceOfUse(event, THREAD)
            elif event.thread.plain in having:
                yield PlaceOfUse(event, MESSAGE)


def count_calls(places: Iterable[PlaceOfUse]) -> int:
    """The number of model calls whose input contained a content. `places`: all places of use of the content."""
    input_uses = {MESSAGE, THREAD, *_GIVEN}
    return len({place.event.seq for place in places if isinstance(place.event, LlmCalled) and place.use in input_uses})


def _refs_of(event: RunEvent) -> Iterator[tuple[str, ContentRef]]:
    """Yields (field name, ref) for the contents that an event refers to, without threads."""
    for field in dataclasses.fields(event):
        ref = getattr(event, field.name) if field.metadata.get("ref") and field.name not in _THREADS else None
        if ref is not None:
            yield field.name, ref


def _messages(
    tips: Mapping[ContentRef, int], nodes: Mapping[ContentRef, ThreadNode]
) -> Iterator[tuple[ContentRef, int]]:
    """Yields each message with the number of calls whose input thread contains it. `tips`: calls by input thread. A
    node is also in the threads of its children. A message that is in a thread twice counts once."""
    calls = Counter({tip: count for tip, count in tips.items() if tip in nodes})
    by_message: dict[ContentRef, list[ThreadNode]] = {}
    for node in sorted(nodes.values(), key=lambda item: -item.depth):
        if calls[node.ref]:
            by_message.setdefault(node.message.plain, []).append(node)
        if node.parent is not None:
            calls[node.parent] += calls[node.ref]
    for message, having in by_message.items():
        refs = {node.ref for node in having}
        first = having if len(having) == 1 else [node for node in having if not _is_below(node, refs, nodes)]
        yield message, sum(calls[node.ref] for node in first)


def _is_below(node: ThreadNode, refs: Collection[ContentRef], nodes: Mapping[ContentRef, ThreadNode]) -> bool:
    """Whether one of `refs` comes before `node` in its thread."""
    above = node.parent
    while above is not None and above in nodes:
        if above in refs:
            return True
        above = nodes[above].parent
    return False


def _nodes_with(nodes: Mapping[ContentRef, ThreadNode], ref: ContentRef) -> set[ContentRef]:
    """The threads that contain the message `ref`."""
    threads: set[ContentRef] = set()
    for node in sorted(nodes.values(), key=lambda item: item.depth):
        if node.message.plain == ref.plain or node.parent in threads:
            threads.add(node.ref)
    return threads
