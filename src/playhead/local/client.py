"""The client over the journal of this machine: the operations of `Client`, answered in this process.

Declared operations are answered by their handlers (`answering`), the others by the HTTP application in this process
(`transport.JournalTransport`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from playhead.client.operations import Operations
from playhead.client.requests import ApiRequest, PagedRequest, WatchRequest, items_of
from playhead.local.opening import open_source
from playhead.wire.operations import Page, RecordedEvent
from playhead.wire.operations.operation import OperationCall

if TYPE_CHECKING:
    from playhead.client import Client
    from playhead.local.source import JournalSource

T = TypeVar("T")
# No request is sent there. It is a local address so that no proxy from the environment gets these requests.
_NO_COLLECTOR = "http://localhost"


class JournalClient(Operations):
    """Client with the operations of `Client`, answered from the journal of this machine."""

    def __init__(self, journal_dir: Path, on_damage: Callable[[str], None], timeout_seconds: float) -> None:
        """`on_damage` is called with a sentence for each file of the journal of which a part cannot be read.

        Raises SettingInvalid if libraries of the command line are not installed, and JournalUnusable.
        """
        self._source = open_source(journal_dir, on_damage)
        self._timeout_seconds = timeout_seconds
        self._http: Client | None = None

    @property
    def source(self) -> JournalSource:
        """The journal that this client reads."""
        return self._source

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stores new projections for later processes, and closes the files."""
        if self._http is not None:
            self._http.close()
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

    def ask(self, request: ApiRequest[T]) -> T:
        """Returns the answer to a request. Raises ClientError."""
        return self._over_http().ask(request)

    def pages(self, listing: PagedRequest[T]) -> Iterator[T]:
        """Yields the items of a list. Raises ClientError."""
        return items_of(self, listing)

    def stream_events(self, request: WatchRequest) -> Iterator[RecordedEvent]:
        """Raises BadRequest when the first event is read: only a collector can send events of other processes."""
        return self._over_http().stream_events(request)

    def _over_http(self) -> Client:
        if self._http is None:
            from playhead.client import Client  # noqa: PLC0415 - loads an HTTP library
            from playhead.local.transport import JournalTransport  # noqa: PLC0415 - and the application

            transport = JournalTransport(self._source)
            self._http = Client(_NO_COLLECTOR, timeout_seconds=self._timeout_seconds, transport=transport)
        return self._http
