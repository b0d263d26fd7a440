"""A recorded run read from the collector, for a machine whose journal does not have the run."""

from pathlib import Path
from typing import Any

from playhead.errors import ClientError, NotFound
from playhead.journal.lane import LostEnd
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.message import message_contents
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span, log_from_json, span_from_json
from playhead.replay.record import Record


class RemoteRecord:
    """A run read from the collector."""

    def __init__(self, client: Any, run_id: str):
        """Reads spans and log events now, and contents on demand. Raises ClientError."""
        self._client = client
        spans = [span_from_json(item) for item in client.spans(run_id)]
        self.spans: list[Span] = [span for span in spans if names.PROCESS_ID not in span.attributes]
        self.elsewhere: list[Span] = [span for span in spans if names.PROCESS_ID in span.attributes]
        self.logs: list[LogEvent] = [log for log in _logs(client, run_id) if names.PROCESS_ID not in log.attributes]
        self.alive, self.remote = False, True
        self.lanes: tuple[Path, ...] = ()
        self.parent: Record | None = None
        self.lost_ends: tuple[LostEnd, ...] = ()
        self._contents: dict[ContentRef, Content | None] = {}

    def content(self, ref: ContentRef) -> Content | None:
        """The content, fetched at most once; None if the collector does not have it."""
        if ref not in self._contents:
            self._contents[ref] = self._fetch(ref)
        return self._contents[ref]

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Refs of the thread's messages; None if they are not available. Fetched each time: only a report of a
        divergence needs them."""
        try:
            messages = self._client.thread(thread)["messages"]
        except ClientError:
            return None
        if None in messages:
            return None
        contents = [message_contents(message)[0] for message in messages]
        self._contents.update({content.ref: content for content in contents})
        return [content.ref for content in contents]

    def _fetch(self, ref: ContentRef) -> Content | None:
        try:
            return self._client.content(ref)
        except NotFound:
            return None


def _logs(client: Any, run_id: str) -> list[LogEvent]:
    try:
        return [log_from_json(item) for item in client.logs(run_id)]
    except NotFound:  # an older collector without this route: log events are then recorded twice
        return []
