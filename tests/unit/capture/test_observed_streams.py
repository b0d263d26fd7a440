"""What programs do with a stream, they do with the proxy that records it."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from playhead.capture.streams import ObservedStream, StreamRecording


class Recording:
    """Counts what a stream reports."""

    def __init__(self) -> None:
        self.begun = False
        self.chunks: list[object] = []
        self.ended = 0

    def add_chunk(self, chunk: object) -> None:
        self.chunks.append(chunk)

    def finish(self, *, aborted: bool = False) -> None:
        self.ended += 1


def numbers() -> Iterator[int]:
    yield from (1, 2)


def test_a_list_takes_a_streams_chunks_with_plus_equals():
    """As it does with the generators that some clients return: number methods of wrapt's proxies came first."""
    recording = Recording()
    taken: list[Any] = [0]
    taken += ObservedStream(numbers(), cast(StreamRecording, recording))
    assert (taken, recording.chunks, recording.ended) == ([0, 1, 2], [1, 2], 1)


def test_a_list_and_a_stream_cannot_be_added_as_without_us():
    with pytest.raises(TypeError):
        _ = [0] + cast("list[int]", ObservedStream(numbers(), cast(StreamRecording, Recording())))  # noqa: RUF005 - the operator is what is tested
