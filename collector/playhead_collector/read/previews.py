"""Short texts of the values that events name. Lists show them beside each event."""

from collections.abc import Iterable, Mapping
from itertools import islice

from playhead.model.canonical import Content
from playhead.model.event import RunEvent, event_to_json
from playhead.model.message import message_lines, read_message
from playhead.model.ref import ContentRef, is_ref
from playhead.model.thread import THREAD
from playhead_collector.read.values import plain_value
from playhead_collector.store.ports import ReadStore

# Contents may be large, so only this many are in memory at a time, and only their previews are kept.
_PORTION = 20
# A preview is made from this many bytes of a content: enough for the longest preview, white space included.
_MAX_READ_BYTES = 64 * 1024


async def previews_of(
    store: ReadStore, project_id: int, events: Iterable[RunEvent], most: int
) -> Mapping[ContentRef, str]:
    """Returns for each stored content that these events name a text of at most `most` characters.

    Text is returned as it is, JSON in canonical form, a message as its text.  Left out are threads (their messages have
    events of their own), binary contents, and contents that are not stored.
    """
    named = (event_to_json(event).get("refs", {}).items() for event in events)
    refs = (ref for items in named for name, ref in items if name != "thread")
    wanted = iter(dict.fromkeys(ContentRef(ref) for ref in refs if is_ref(ref)))
    previews: dict[ContentRef, str] = {}
    while portion := list(islice(wanted, _PORTION)):
        contents = await store.get_many(project_id, portion)
        texts = ((ref, _text(content)) for ref, content in contents.items())
        previews |= {ref: cut(text, most) for ref, text in texts if text is not None}
    return previews


def event_previews(refs: Mapping[str, str], previews: Mapping[ContentRef, str]) -> dict[str, str]:
    """Returns the previews of an event's refs, by the names of the refs."""
    return {name: previews[ContentRef(ref)] for name, ref in refs.items() if ref in previews}


def cut(text: str, most: int) -> str:
    """Returns the text, shortened to at most `most` characters; a shortened text ends with `…`."""
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
