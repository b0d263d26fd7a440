"""Reads contents and threads by their refs."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef, NotARef
from playhead.model.thread import THREAD, ThreadNode
from playhead.wire.operations import ContentValue, ThreadMessages
from playhead.wire.pack import Pack, ThreadExtension
from playhead_collector.errors import Refused
from playhead_collector.read.values import fetch, messages_of, plain_value
from playhead_collector.settings import MIB
from playhead_collector.store.ports import ReadStore

# A batch is in memory several times at once, so it is read in portions, and refused when it is too large. A single
# content is never refused.
_PORTION, _MAX_BYTES = 10, 16 * MIB
# The most thread nodes in one pack. Each takes 64 hex digits, for its message.
_MAX_NODES = 100_000


def parse_ref(text: str) -> ContentRef:
    """Parses a ref of a request.  Raises Refused."""
    try:
        return ContentRef.parse(text)
    except NotARef as error:
        raise Refused(400, "bad_ref", str(error)) from None


async def read_batch(store: ReadStore, project_id: int, refs: Sequence[str]) -> Mapping[str, ContentValue]:
    """Returns the stored ones of these contents, as values, by ref. Raises Refused for an invalid ref, or if the
    contents are too large together."""
    wanted = iter(dict.fromkeys(map(parse_ref, refs)))
    values: dict[str, ContentValue] = {}
    size = 0
    while portion := list(islice(wanted, _PORTION)):
        for ref, content in (await store.contents.get_many(project_id, portion)).items():
            size += len(content.data)
            values[str(ref)] = content_value(content)  # orjson takes no subclass of str as a key
        if size > _MAX_BYTES and len(values) > 1:
            message = f"these contents are larger than {_MAX_BYTES // MIB} MiB together: ask for fewer refs at a time"
            raise Refused(413, "too_large", message)
    return values


def content_value(content: Content) -> ContentValue:
    """Returns a content as a JSON value: stored JSON unchanged, text as a string, anything else as base64."""
    answer: ContentValue = {"media_type": content.media_type, "size": len(content.data)}
    if content.is_masked:
        answer["masked"] = True
    value = plain_value(content)
    if value is None:
        return {**answer, "base64": base64.b64encode(content.data).decode()}
    return {**answer, "value": value}


async def read_thread(store: ReadStore, project_id: int, ref: ContentRef) -> ThreadMessages:
    """Returns the thread as a list of messages.  Raises ContentMissing."""
    thread = await messages_of(store, project_id, ref)
    cache = await fetch(store, project_id, thread)
    messages = [cache.message(message) for message in thread]
    return {"thread": ref, "messages": messages, "missing": cache.missing, "masked": cache.masked}


@dataclass(slots=True)
class PackedRefs:
    """Stored contents and threads of requested refs. `looked_at`: how many of the refs were processed."""

    looked_at: int = 0
    contents: list[Content] = field(default_factory=list[Content])
    threads: list[ThreadExtension] = field(default_factory=list[ThreadExtension])
    _bytes: int = 0
    _nodes: set[ContentRef] = field(default_factory=set[ContentRef])

    @property
    def is_full(self) -> bool:
        """Whether the limit of bytes or nodes is reached."""
        return self._bytes >= _MAX_BYTES or len(self._nodes) >= _MAX_NODES

    @property
    def pack(self) -> Pack:
        """The contents and threads as a pack."""
        return Pack(tuple(self.contents), tuple(self.threads))

    def fits(self, content: Content) -> bool:
        """Returns whether the content may be added. The first one always may."""
        return not self._bytes or self._bytes + len(content.data) <= _MAX_BYTES

    def add(self, content: Content) -> None:
        """Adds a content."""
        self.contents.append(content)
        self._bytes += len(content.data)

    def has_node(self, ref: ContentRef) -> bool:
        """Returns whether this thread was added, as a whole thread or as the beginning of one."""
        return ref in self._nodes

    def add_thread(self, tip: ContentRef, nodes: Mapping[ContentRef, ThreadNode]) -> None:
        """Adds the thread that ends in `tip`, without the nodes that were added before."""
        new: list[ThreadNode] = []
        ref: ContentRef | None = tip
        while ref is not None and ref not in self._nodes:
            new.append(nodes[ref])
            ref = nodes[ref].parent
        if new:
            self.threads.append(ThreadExtension(ref, tuple(node.message for node in reversed(new))))
            self._nodes.update(node.ref for node in new)


async def pack_refs(store: ReadStore, project_id: int, refs: Sequence[ContentRef]) -> PackedRefs:
    """Packs the stored contents and threads of these refs, in order, as many as fit.  Raises ContentCorrupt.

    A thread is added from its beginning. If the last thread of a chat is requested first, its earlier threads take no
    more space.
    """
    packed = PackedRefs()
    while packed.looked_at < len(refs) and not packed.is_full:
        rest = refs[packed.looked_at :]
        threads = await store.contents.threads(
            project_id, [ref for ref in rest if not packed.has_node(ref)], _MAX_NODES
        )
        # Stops at the first unread thread: it may be a prefix of one that was read, and needs no reading then.
        end = next((index for index, ref in enumerate(rest) if ref in threads.unread), len(rest))
        if not await _add_portion(store, project_id, rest[:end], threads.nodes, packed):
            break
    return packed


async def _add_portion(
    store: ReadStore,
    project_id: int,
    refs: Sequence[ContentRef],
    nodes: Mapping[ContentRef, ThreadNode],
    packed: PackedRefs,
) -> bool:
    """Adds the contents and threads of these refs. Returns False when not all of them fit."""
    for start in range(0, len(refs), _PORTION):
        portion = refs[start : start + _PORTION]
        wanted = [ref for ref in portion if ref not in nodes and not packed.has_node(ref)]
        contents: Mapping[ContentRef, Content] = await store.contents.get_many(project_id, wanted) if wanted else {}
        for ref in portion:
            if ref in nodes:
                packed.add_thread(ref, nodes)
            elif (content := contents.get(ref)) is not None and content.media_type != THREAD:
                if not packed.fits(content):
                    return False
                packed.add(content)
            packed.looked_at += 1
            if packed.is_full:
                return False
    return True
