"""The client of a command that names no collector: it asks the usual one, and the journal if nothing answers there."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from playhead.client.clients import Client
from playhead.client.operations import BlockingClient
from playhead.client.requests import WatchRequest
from playhead.client.responses import is_nobody_there
from playhead.errors import CollectorUnreachable, SettingInvalid
from playhead.journal.lane import lanes
from playhead.local.client import JournalClient
from playhead.wire.operations import Page, RecordedEvent
from playhead.wire.operations.operation import DeclaredOperation, OperationCall

T = TypeVar("T")


class CollectorOrJournal(BlockingClient):
    """Asks the collector. If nothing answers at its address and the journal has records, answers from the journal from
    then on."""

    def __init__(self, collector: Client, journal_dir: Path, say: Callable[[str], None]) -> None:
        """`say` is called with a sentence when the journal answers instead, and for each of its damaged files."""
        self._collector = collector
        self._journal_dir = journal_dir
        self._say = say
        self._journal: JournalClient | None = None

    def close(self) -> None:
        """Closes the connections, and the files of the journal."""
        self._collector.close()
        if self._journal is not None:
            self._journal.close()

    def answer_of(self, call: OperationCall[T]) -> T:
        """Returns the answer of a declared operation. Raises ClientError."""
        if self._journal is None:
            try:
                return self._collector.answer_of(call)
            except CollectorUnreachable as error:
                self._journal = self._instead(error, call.operation)
        return self._journal.answer_of(call)

    def items_of(self, call: OperationCall[Page[T]]) -> Iterator[T]:
        """Yields the items of a declared list. Raises ClientError."""
        if self._journal is None:
            items = self._collector.items_of(call)
            try:
                first = list(islice(items, 1))
            except CollectorUnreachable as error:
                self._journal = self._instead(error, call.operation)
            else:  # a list that has begun is not continued by the journal
                yield from first
                yield from items
                return
        yield from self._journal.items_of(call)

    def events_of(self, call: OperationCall[T]) -> Iterator[T]:
        """Yields declared events as they happen. Raises ClientError."""
        return (self._journal or self._collector).events_of(call)

    def stream_events(self, request: WatchRequest) -> Iterator[RecordedEvent]:
        """Yields events as they happen. Raises ClientError. The journal never answers instead: it has no news."""
        return (self._journal or self._collector).stream_events(request)

    def unindexed_runs(self) -> int:
        """The number of sealed runs that are not indexed yet. Raises ClientError."""
        return (self._journal or self._collector).unindexed_runs()

    def _instead(self, error: CollectorUnreachable, operation: DeclaredOperation) -> JournalClient:
        """Opens the journal. Raises `error` if something listens at the collector's address, if the journal cannot
        answer such an operation, and if it has no records."""
        if not is_nobody_there(error) or operation.facts.method != "GET" or not _has_lanes(self._journal_dir):
            raise error
        try:
            journal = JournalClient(self._journal_dir, self._say)
        except SettingInvalid as missing:
            self._say(str(missing))
            raise error from None
        self._say(f"no collector answers: this is from the journal in {self._journal_dir}")
        return journal


def _has_lanes(journal_dir: Path) -> bool:
    try:
        return bool(lanes(journal_dir))
    except OSError:
        return False
