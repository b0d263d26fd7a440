"""Conversations at the collector: heads by the API, messages as packs. Every function raises ClientError."""

from collections.abc import Iterator, Sequence
from typing import Any

from playhead.client import Client
from playhead.client.requests import ApiRequest
from playhead.conversations.folder import ThreadContents
from playhead.conversations.heads import ConversationHead, ThreadPart
from playhead.errors import CannotRestore, NotFound
from playhead.model.canonical import Content
from playhead.model.message import read_message, refs_inside
from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from playhead.wire.operations.conversations import StoredConversation
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack

# Within the limits of a collector with its default settings.
_MOST_ITEMS, _MOST_BYTES = 5_000, 4 * 2**20
_MOST_REFS = 1_000


def head_at(client: Client, conversation: str, scope: str) -> ConversationHead | None:
    """Returns a conversation; None: there is none."""
    try:
        return head_of(client.conversation(conversation, scope=scope))
    except NotFound as error:
        if error.code != "no_such_conversation":  # an older collector
            raise
        return None


def head_of(stored: StoredConversation) -> ConversationHead:
    """Reads the collector's answer."""
    parent, head = stored["parent"], stored["head"]
    return ConversationHead(
        stored["id"], stored["scope"], stored["revision"], None if head is None else ContentRef.parse(head),
        stored["messages"], None if parent is None else (parent["id"], parent["revision"]), stored["created"],
        stored["updated"],
    )  # fmt: skip


def upload(client: Client, parts: Sequence[ThreadPart]) -> None:
    """Sends messages; they are stored once this returns."""
    for contents, threads in _packs(parts):
        body = encode_pack(Pack(tuple(contents), tuple(threads)))
        # Beside the API, whose addresses are relative to its own.
        wanted: ApiRequest[object] = ApiRequest(
            f"{client.base_url}/v1/content", method="POST", content=body, media_type=PACK
        )
        client.ask(wanted)


def without_stored(client: Client, part: ThreadPart) -> ThreadPart:
    """Returns what of these messages is not stored at the collector."""
    nodes = extend(part.messages, part.parent)
    contents = {content.ref.plain: content for content in part.contents}
    missing = _missing(client, [*(node.ref for node in nodes), *contents])
    stored = next((at for at, node in enumerate(nodes) if node.ref in missing), len(nodes))
    parent = nodes[stored - 1].ref if stored else part.parent
    return ThreadPart(parent, part.messages[stored:], [contents[ref] for ref in contents if ref in missing])


def _missing(client: Client, refs: Sequence[ContentRef]) -> set[str]:
    missing: set[str] = set()
    for first in range(0, len(refs), _MOST_ITEMS):
        wanted: ApiRequest[dict[str, Any]] = ApiRequest(
            f"{client.base_url}/v1/content/missing", body={"refs": refs[first : first + _MOST_ITEMS]}
        )
        missing.update(client.ask(wanted)["missing"])
    return missing


def _packs(parts: Sequence[ThreadPart]) -> Iterator[tuple[list[Content], list[ThreadExtension]]]:
    contents = list({content.ref.plain: content for part in parts for content in part.contents}.values())
    batch: list[Content] = []
    size = 0
    for content in contents:
        if batch and (len(batch) >= _MOST_ITEMS or size + len(content.data) > _MOST_BYTES):
            yield batch, []
            batch, size = [], 0
        batch.append(content)
        size += len(content.data)
    extensions = [piece for part in parts for piece in _pieces(part)]
    first = extensions[:1]
    if batch or first:
        yield batch, first
    for extension in extensions[1:]:
        yield [], [extension]


def _pieces(part: ThreadPart) -> Iterator[ThreadExtension]:
    """Cuts a long thread."""
    parent = part.parent
    for first in range(0, len(part.messages), _MOST_ITEMS):
        piece = ThreadExtension(parent, tuple(part.messages[first : first + _MOST_ITEMS]))
        yield piece
        parent = piece.ref


def stored_threads(
    client: Client, heads: Sequence[ContentRef], known: ThreadContents, last: int | None = None
) -> ThreadContents:
    """Adds the messages of the threads (`last`: only so many of each), with all that is in them, to what is known. Asks
    for all threads in one request and for all messages in another, if they are not too many. Raises CannotRestore for a
    thread that is not stored."""
    fetch(client, [head for head in dict.fromkeys(heads) if head not in known.nodes], known)
    paths = [known.path(head) for head in heads]
    lost = next((rest for rest, _ in paths if rest is not None), None)
    if lost is not None:
        raise CannotRestore(f"the messages {lost} are not stored: they were deleted, or never arrived")
    messages = dict.fromkeys(ref for _, path in paths for ref in (path if last is None else path[-last:]))
    fetch(client, [ref for ref in messages if ref not in known.contents], known)
    inside = dict.fromkeys(
        part.plain
        for ref in messages
        if (content := known.contents.get(ref)) is not None and b"playhead.ref" in content.data
        for part in refs_inside(read_message(content.data))
    )
    fetch(client, [ref for ref in inside if ref not in known.contents], known)
    return known


def fetch(client: Client, refs: Sequence[ContentRef], known: ThreadContents) -> None:
    """Adds the contents and threads with these refs to what is known; of threads, the nodes. What is not stored is left
    out."""
    rest = list(refs)
    while rest:
        pack, looked_at = client.content_pack(rest[:_MOST_REFS])
        known.contents.update({content.ref.plain: content for content in pack.contents})
        for thread in pack.threads:
            known.nodes.update({node.ref: node for node in extend(thread.messages, thread.parent)})
        if looked_at < 1:
            return
        rest = rest[looked_at:]
