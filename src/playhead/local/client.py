"""The client over the journal of this machine: the operations of `Client`, answered by their handlers in this process
(`answering`), without HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from playhead.client.operations import BlockingClient
from playhead.client.requests import WatchRequest
from playhead.local.opening import open_source
from playhead.wire.operations import Page, RecordedEvent
from playhead.wire.operations.operation import OperationCall

if TYPE_CHECKING:
    from playhead.local.source import JournalSource

T = TypeVar("T")


class JournalClient(BlockingClient):
    """Answers from the journal of this machine."""

    def __init__(self, journal_dir: Path, on_damage: Callable[[str], None]) -> None:
        """`on_damage` is called with a sentence for each file of the journal of which a part cannot be read.

        Raises SettingInvalid if libraries of the command line are not installed, and JournalUnusable.
        """
        self._source = open_source(journal_dir, on_damage)

    @property
    def source(self) -> JournalSource:
        """The journal that this client reads."""
        return self._source

    def close(self) -> None:
        """Stores new projections for later processes, and closes the files."""
        self._source.close()

    def answer_of(self, call: OperationCall[T]) -> T:
        """Returns the answer of a declared operation. Raises ClientError."""
        return self._source.operations.answer(call)

    def items_of(self, call: OperationCall[Page[T]]) -> Iterator[T]:
        """Yields the items of a declared list. Raises ClientError."""
        return self._source.operations.items(call)

    def events_of(self, call: OperationCall[T]) -> Iterator[T]:
        """Raises BadRequest: only a collector can send events of other processes."""
        self._source.operations.answer(call)
        return iter(())

    def stream_events(self, request: WatchRequest) -> Iterator[RecordedEvent]:
        """Raises BadRequest: only a collector can send events of other processes."""
        self._source.operations.refuse()

    def unindexed_runs(self) -> int:
        """Returns 0: all runs of the journal are indexed when it is searched."""
        return 0
