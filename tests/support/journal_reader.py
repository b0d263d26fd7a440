"""What this process has journaled, read back for asserts: calls by name, payloads as values, threads as messages."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import recording as recording_module
from playhead.journal.frame import (
    ANNOUNCEMENT,
    CONTENT,
    LOG,
    SPAN,
    THREAD,
    frames_in,
    read_content,
    read_log,
    read_span,
    read_thread,
)
from playhead.journal.lane import LaneReader, Position, lanes
from playhead.journal.quota import BACKGROUND_THREAD
from playhead.kernel import guard
from playhead.model import names
from playhead.model.canonical import Content, content_as, value_of
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.thread import node_ref
from playhead.wire.pack import ThreadExtension


@dataclass
class Journaled:
    """All that lanes hold, in the order in which it was written."""

    spans: list[Span] = field(default_factory=list[Span])
    announced: list[Span] = field(default_factory=list[Span])
    logs: list[LogEvent] = field(default_factory=list[LogEvent])
    contents: dict[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])
    threads: list[ThreadExtension] = field(default_factory=list[ThreadExtension])

    def call(self, name: str) -> Span:
        """The one ended call of this function or model."""
        found = self.calls(name)
        assert len(found) == 1, f"{len(found)} calls of {name!r} among {[span.name for span in self.spans]}"
        return found[0]

    def calls(self, name: str) -> list[Span]:
        """The ended calls of this function, in the order in which they ended."""
        return [span for span in self.spans if span.name.rpartition(" ")[2] == name]

    def of_kind(self, wanted: str) -> list[Span]:
        """The ended spans of a kind, in the order in which they ended."""
        return [span for span in self.spans if kind(span) == wanted]

    def value(self, span: Span | LogEvent, attribute: str) -> Any:
        """The payload that this attribute refers to."""
        ref = ContentRef(span.attributes[attribute])
        found = self.contents[ref.plain]
        return value_of(content_as(found, ref))

    def input(self, name: str) -> Any:
        """The arguments of the one call of this name."""
        span = self.call(name)
        return self.value(span, names.TOOL_ARGUMENTS_REF if kind(span) == "tool" else names.INPUT_REF)

    def output(self, name: str) -> Any:
        """What the one call of this name gave."""
        span = self.call(name)
        return self.value(span, names.TOOL_RESULT_REF if kind(span) == "tool" else names.OUTPUT_REF)

    def parent(self, name: str) -> str | None:
        """The name of the call that the one call of this name was made in; None at the root."""
        parent = self.call(name).parent_id
        above = [span for span in (*self.spans, *self.announced) if span.span_id == parent]
        return above[0].name.rpartition(" ")[2] if above else None

    def messages(self, ref: str) -> list[Any]:
        """The messages of a thread, first to last."""
        known: dict[str, tuple[str | None, ContentRef]] = {}
        for extension in self.threads:
            parent = extension.parent
            for message in extension.messages:
                node = node_ref(message, parent)
                known[node] = (parent, message)
                parent = node
        found: list[Any] = []
        at: str | None = ref
        while at is not None:
            at, message = known[at]
            found.insert(0, value_of(self.contents[message]))
        return found


def kind(span: Span) -> str:
    """What kind of call it is."""
    return span.attributes[names.KIND]


def read_lane(path: Path) -> tuple[Journaled, int]:
    """What one lane holds, and how many bytes of it could not be read."""
    journaled, unread = Journaled(), 0
    reader = LaneReader(path)
    for number in reader.segments():
        data, _ = reader.read(Position(number, 0), reader.segment_bytes(number))
        end = 0
        for frame_kind, payload, end in frames_in(data):  # noqa: B007 - the last end is what is wanted
            _add(journaled, frame_kind, payload)
        unread += len(data) - end
    return journaled, unread


def read_journal(folder: Path) -> Journaled:
    """What all lanes hold; every byte of them is read, and each span and content is whole by itself."""
    whole = Journaled()
    for path in lanes(folder):
        lane, unread = read_lane(path)
        assert unread == 0
        whole.spans += lane.spans
        whole.announced += lane.announced
        whole.logs += lane.logs
        whole.contents |= lane.contents
        whole.threads += lane.threads
    return whole


def _add(journaled: Journaled, frame_kind: bytes, payload: bytes) -> None:
    match frame_kind:
        case _ if frame_kind == SPAN:
            journaled.spans.append(read_span(payload))
        case _ if frame_kind == ANNOUNCEMENT:
            journaled.announced.append(read_span(payload))
        case _ if frame_kind == LOG:
            journaled.logs.append(read_log(payload))
        case _ if frame_kind == CONTENT:
            digest, content = read_content(payload)
            assert content.ref.plain == ContentRef.from_digest(digest)
            journaled.contents[content.ref.plain] = content
        case _ if frame_kind == THREAD:
            journaled.threads.append(read_thread(payload))
        case _:
            return


class NoShipper:
    """Ships nothing: what is recorded stays where a test can read it."""

    counters = None

    def __init__(self, *args: Any, **kwargs: Any):
        self.args = args

    def start(self) -> None:
        """Nothing."""

    def wake(self) -> None:
        """Nothing."""

    def hurry(self) -> None:
        """Nothing."""

    def follow(self, lane_path: Path) -> None:
        """Nothing."""

    def also_deliver(self, lanes: Any) -> None:
        """Nothing."""

    def flush(self, timeout_s: float) -> bool:
        return True

    def stop(self, timeout_s: float) -> bool:
        return True

    def restart_after_fork(self, lane_path: Path) -> None:
        """Nothing."""


class Recording:
    """Recording into a folder of this test's own."""

    def __init__(self, folder: Path):
        self.folder = folder

    def configure(self, **options: Any) -> None:
        """Starts again with these settings."""
        playhead.configure(journal_dir=self.folder, **options)

    def read(self) -> Journaled:
        """All that was recorded so far."""
        playhead.flush()
        return read_journal(self.folder)


def start_recording(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    """For fixtures: a recording that starts empty, and ends with the test."""
    monkeypatch.setattr(recording_module, "Shipper", NoShipper)
    guard.reset_logged_causes()
    recording = Recording(folder)
    recording.configure()
    yield recording
    playhead.shutdown()
    for thread in threading.enumerate():
        if thread.name == BACKGROUND_THREAD:  # what it says of this journal is not the next test's
            thread.join(60)
    guard.reset_logged_causes()
