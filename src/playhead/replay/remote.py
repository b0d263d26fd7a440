"""A recorded run as the collector has it, for a machine whose journal does not have the run."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playhead.errors import ClientError, NotFound
from playhead.model.canonical import Content
from playhead.model.message import message_contents
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR, STATUS_OK, LogEvent, Span


class RemoteRecord:
    """A run as the collector has it."""

    def __init__(self, client: Any, run_id: str):
        """Reads spans and log events; contents when they are asked for.  Raises ClientError."""
        self._client = client
        self.spans: list[Span] = [_span(item) for item in client.spans(run_id)]
        self.logs: list[LogEvent] = _logs(client, run_id)
        self.alive, self.remote = False, True
        self.lanes: tuple[Path, ...] = ()
        self._contents: dict[ContentRef, Content | None] = {}

    def content(self, ref: ContentRef) -> Content | None:
        """Asked for once."""
        if ref not in self._contents:
            self._contents[ref] = self._fetch(ref)
        return self._contents[ref]

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Asked for each time: only a report of a divergence needs it."""
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


def _span(item: Mapping[str, Any]) -> Span:
    return Span(
        trace_id=item["trace"],
        span_id=item["span"],
        parent_id=item["parent"],
        name=item["name"],
        start_ns=_ns(item["start"]),
        end_ns=None if item["end"] is None else _ns(item["end"]),
        attributes=dict(item["attributes"]),
        status=STATUS_ERROR if item["status"] == "error" else STATUS_OK,
    )


def _logs(client: Any, run_id: str) -> list[LogEvent]:
    try:
        return [_log(item) for item in client.logs(run_id)]
    except NotFound:  # a collector from before it gave them: what was said is then said again
        return []


def _log(item: Mapping[str, Any]) -> LogEvent:
    return LogEvent(item["name"], _ns(item["time"]), item["trace"], item["span"], dict(item["attributes"]))


def _ns(time: str) -> int:
    """RFC 3339 with nanoseconds, UTC, as the collector writes it."""
    seconds, _, fraction = time.rstrip("Z").partition(".")
    moment = datetime.fromisoformat(seconds).replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000_000 + int(fraction.ljust(9, "0") or 0)
