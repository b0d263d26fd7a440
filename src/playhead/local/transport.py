"""HTTP transports over the journal: the collector's application in this process, or the collector first."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from playhead.errors import SettingInvalid
from playhead.journal.lane import lanes
from playhead.local.opening import missing_library_error, open_source

if TYPE_CHECKING:
    from playhead.local.source import JournalSource


class JournalTransport(httpx.BaseTransport):
    """Answers requests from the journal, in this process. A request that it cannot answer gets an error response that
    says why."""

    def __init__(self, source: "JournalSource") -> None:
        """Raises SettingInvalid if libraries of the command line are not installed."""
        try:
            from playhead_collector.serve.local import local_app  # noqa: PLC0415 - half a second of imports
        except ImportError as error:
            raise missing_library_error(error) from None
        self._source = source
        self._app = httpx.ASGITransport(local_app(source.records, cache=source.projections))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the response of the query API."""
        try:
            return asyncio.run(self._answer(request))
        finally:
            self._source.keep()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._app.handle_async_request(request)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())


class CollectorOrJournal(httpx.BaseTransport):
    """Sends requests to the collector. If no collector can be reached and the journal has records, answers from the
    journal from then on."""

    def __init__(self, journal_dir: Path, say: Callable[[str], None], verify: ssl.SSLContext | bool = True) -> None:
        """`say` is called with a sentence when the journal answers instead, and for each of its damaged files.
        `verify`: as of httpx, for the collector."""
        self._journal_dir = journal_dir
        self._say = say
        self._collector = httpx.HTTPTransport(verify=verify)
        self._journal: JournalTransport | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the response of the collector, or else of the journal. Raises httpx.ConnectError if neither can
        answer."""
        if self._journal is not None:
            return self._journal.handle_request(request)
        try:
            return self._collector.handle_request(request)
        except httpx.ConnectError:
            if request.method != "GET" or not _has_lanes(self._journal_dir):
                raise
            try:
                self._journal = JournalTransport(open_source(self._journal_dir, self._say))
            except SettingInvalid as missing:
                self._say(str(missing))
            if self._journal is None:
                raise
        self._say(f"no collector answers: this is from the journal in {self._journal_dir}")
        return self._journal.handle_request(request)

    def close(self) -> None:
        """Closes the connections to the collector."""
        self._collector.close()


def _has_lanes(journal_dir: Path) -> bool:
    try:
        return bool(lanes(journal_dir))
    except OSError:
        return False
