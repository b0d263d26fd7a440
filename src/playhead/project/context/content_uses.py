"""[project]: where a run had a content, and which of its model calls were given it. Pure."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from playhead.model.event import LlmCalled, RunEvent
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode

MESSAGE, THREAD = "message", "thread"
# Refs of threads: their messages are what a call was given.
_THREADS = frozenset({"thread", "before", "after"})
_GIVEN = frozenset({"system", "tools", "input"})


class PlaceOfUse(NamedTuple):
    """An event that names a content, and as what: the name of its field, `thread`, or `message` for a message of the
    thread that a model call was given."""

    event: RunEvent
    use: str


def call_threads(events: Iterable[RunEvent]) -> list[ContentRef]:
    """The threads that model calls were given, each once."""
    return list(dict.fromkeys(event.thread.plain for event in events if isinstance(event, LlmCalled) and event.thread))


def count_uses(events: Sequence[RunEvent], nodes: Mapping[ContentRef, ThreadNode]) -> dict[ContentRef, int]:
    """For each content that the events name, or that is a message of a call's thread: how many calls were given it."""
    uses: Counter[ContentRef] = Counter()
    tips: Counter[ContentRef] = Counter()
    for event in events:
        # A call that is given one content twice is one call.
        given = {ref.plain for name, ref in _refs_of(event) if name in _GIVEN and isinstance(event, LlmCalled)}
        for _, ref in _refs_of(event):
            uses[ref.plain] += 0
        uses.update(given)
        if isinstance(event, LlmCalled) and event.thread is not None:
            tips[event.thread.plain] += 1
    for message, calls in _messages(tips, nodes):
        uses[message] += calls
    return dict(uses)


def places_of(
    events: Sequence[RunEvent], nodes: Mapping[ContentRef, ThreadNode], ref: ContentRef
) -> Iterator[PlaceOfUse]:
    """Where the events had this content, in order."""
    having = _nodes_with(nodes, ref)
    for event in events:
        for name, each in _refs_of(event):
            if each.plain == ref.plain:
                yield PlaceOfUse(event, name)
        if isinstance(event, LlmCalled) and event.thread is not None:
            if event.thread.plain == ref.plain:
                yield PlaceOfUse(event, THREAD)
            elif event.thread.plain in having:
                yield PlaceOfUse(event, MESSAGE)


def count_calls(places: Iterable[PlaceOfUse]) -> int:
    """How many model calls were given the content, of which these are all places."""
    given = {MESSAGE, THREAD, *_GIVEN}
    return len({place.event.seq for place in places if isinstance(place.event, LlmCalled) and place.use in given})


def _refs_of(event: RunEvent) -> Iterator[tuple[str, ContentRef]]:
    """The contents that an event names, without threads, by the names of the fields."""
    for field in dataclasses.fields(event):
        ref = getattr(event, field.name) if field.metadata.get("ref") and field.name not in _THREADS else None
        if ref is not None:
            yield field.name, ref


def _messages(
    tips: Mapping[ContentRef, int], nodes: Mapping[ContentRef, ThreadNode]
) -> Iterator[tuple[ContentRef, int]]:
    """The messages of the threads with the number of calls that were given them: a node is in the threads of its
    children. A message that stands in one thread twice counts once."""
    calls = Counter({tip: count for tip, count in tips.items() if tip in nodes})
    by_message: dict[ContentRef, list[ThreadNode]] = {}
    for node in sorted(nodes.values(), key=lambda each: -each.depth):
        if calls[node.ref]:
            by_message.setdefault(node.message.plain, []).append(node)
        if node.parent is not None:
            calls[node.parent] += calls[node.ref]
    for message, having in by_message.items():
        refs = {node.ref for node in having}
        first = having if len(having) == 1 else [node for node in having if not _is_below(node, refs, nodes)]
        yield message, sum(calls[node.ref] for node in first)


def _is_below(node: ThreadNode, refs: Collection[ContentRef], nodes: Mapping[ContentRef, ThreadNode]) -> bool:
    """Whether one of these nodes comes before this one in its thread."""
    above = node.parent
    while above is not None and above in nodes:
        if above in refs:
            return True
        above = nodes[above].parent
    return False


def _nodes_with(nodes: Mapping[ContentRef, ThreadNode], ref: ContentRef) -> set[ContentRef]:
    """The threads that have the message."""
    found: set[ContentRef] = set()
    for node in sorted(nodes.values(), key=lambda each: each.depth):
        if node.message.plain == ref.plain or node.parent in found:
            found.add(node.ref)
    return found
