"""The values that events name, as short texts: what a list shows beside each event."""

from collections.abc import Iterable, Mapping
from itertools import islice

from playhead.model.canonical import Content
from playhead.model.event import RunEvent, event_to_json
from playhead.model.message import message_lines, read_message
from playhead.model.ref import ContentRef, is_ref
from playhead.model.thread import THREAD
from playhead_collector.read.values import plain_value
from playhead_collector.store.ports import ReadStore

# Contents may be large: only so many are in memory at a time, and only their previews are kept.
_PORTION = 20
# What a preview of JSON is cut from: enough for every length that can be asked for, white space included.
_MAX_READ_BYTES = 64 * 1024


async def previews_of(
    store: ReadStore, project_id: int, events: Iterable[RunEvent], most: int
) -> Mapping[ContentRef, str]:
    """For each stored content that these events name, a text of at most `most` characters.

    Text as it is, JSON in canonical form, a message as its text.  Left out: threads (their messages have events of
    their own), binary content, and what is not stored.
    """
    named = (event_to_json(event).get("refs", {}).items() for event in events)
    refs = (ref for each in named for name, ref in each if name != "thread")
    wanted = iter(dict.fromkeys(ContentRef(ref) for ref in refs if is_ref(ref)))
    found: dict[ContentRef, str] = {}
    while portion := list(islice(wanted, _PORTION)):
        contents = await store.get_many(project_id, portion)
        texts = ((ref, _text(content)) for ref, content in contents.items())
        found |= {ref: cut(text, most) for ref, text in texts if text is not None}
    return found


def event_previews(refs: Mapping[str, str], known: Mapping[ContentRef, str]) -> dict[str, str]:
    """The previews of an event's refs by their names."""
    return {name: known[ContentRef(ref)] for name, ref in refs.items() if ref in known}


def cut(text: str, most: int) -> str:
    """The text, or its beginning and `…`: at most `most` characters."""
    return text if len(text) <= most else text[: max(0, most - 1)] + "…"


def _text(content: Content) -> str | None:
    if content.media_type.startswith(THREAD) or plain_value(content) is None:
        return None
    if content.media_type.startswith("text/"):
        return content.data[:_MAX_READ_BYTES].decode("utf-8", "replace")
    if len(content.data) <= _MAX_READ_BYTES:
        try:
            return "\n".join(filter(None, message_lines(read_message(content.data))))
        except (ValueError, RecursionError):
            pass
    return content.data[:_MAX_READ_BYTES].decode("utf-8", "replace")
