"""Contents and threads, by their refs."""

import base64
from collections.abc import Mapping, Sequence
from itertools import islice

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef, NotARef
from playhead.wire.answers import ContentValue, ThreadMessages
from playhead_collector.errors import Refused
from playhead_collector.read.values import fetch, messages_of, plain_value
from playhead_collector.settings import MIB
from playhead_collector.store.ports import Store

# A batch is held in memory whole, several times over: it is read in portions, and refused when it grows too large. A
# single content may be as large as contents are.
_PORTION, _MAX_BYTES = 10, 16 * MIB


def parse_ref(text: str) -> ContentRef:
    """The ref that a caller wrote.  Raises Refused."""
    try:
        return ContentRef.parse(text)
    except NotARef as error:
        raise Refused(400, "bad_ref", str(error)) from None


async def read_batch(store: Store, project: int, refs: Sequence[str]) -> Mapping[str, ContentValue]:
    """The stored contents among these refs, each as a value. Raises Refused for an invalid ref, or when they are too
    large together.
    """
    wanted = iter(dict.fromkeys(map(parse_ref, refs)))
    found: dict[str, ContentValue] = {}
    size = 0
    while portion := list(islice(wanted, _PORTION)):
        for ref, content in (await store.get_many(project, portion)).items():
            size += len(content.data)
            found[str(ref)] = content_value(content)  # orjson takes no subclass of str as a key
        if size > _MAX_BYTES and len(found) > 1:
            message = f"these contents are larger than {_MAX_BYTES // MIB} MiB together: ask for fewer refs at a time"
            raise Refused(413, "too_large", message)
    return found


def content_value(content: Content) -> ContentValue:
    """A content as a JSON value: JSON as it is, text as a string, anything else as base64."""
    answer: ContentValue = {"media_type": content.media_type, "size": len(content.data)}
    value = plain_value(content)
    if value is None:
        return {**answer, "base64": base64.b64encode(content.data).decode()}
    return {**answer, "value": value}


async def read_thread(store: Store, project: int, ref: ContentRef) -> ThreadMessages:
    """The thread as a list of messages.  Raises ContentMissing."""
    thread = await messages_of(store, project, ref)
    cache = await fetch(store, project, thread)
    return {"thread": ref, "messages": [cache.message(message) for message in thread], "missing": cache.missing}
