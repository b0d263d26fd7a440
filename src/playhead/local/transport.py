"""The query API over the journal, as a transport of HTTP requests: a client asks it as it asks a collector."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from playhead.errors import SettingInvalid
from playhead.journal.lane import lanes
from playhead.local.client import libraries_missing, open_source

if TYPE_CHECKING:
    from playhead.local.source import JournalSource


class JournalTransport(httpx.BaseTransport):
    """Answers requests from the journal, in this process.  What it cannot answer gets an error that says why."""

    def __init__(self, source: "JournalSource") -> None:
        """Raises SettingInvalid when libraries of the command line are not installed."""
        try:
            from playhead_collector.serve.local import local_app  # noqa: PLC0415 - half a second of imports
        except ImportError as error:
            raise libraries_missing(error) from None
        self._source = source
        self._app = httpx.ASGITransport(local_app(source.records, cache=source.projections))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the query API."""
        try:
            return asyncio.run(self._answer(request))
        finally:
            self._source.keep()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._app.handle_async_request(request)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())


class CollectorOrJournal(httpx.BaseTransport):
    """Asks the collector; when nothing answers there and the journal has records, the journal from then on."""

    def __init__(self, journal_dir: Path, say: Callable[[str], None]) -> None:
        """`say` gets a sentence when the journal is asked instead, and one for each of its damaged files."""
        self._journal_dir = journal_dir
        self._say = say
        self._collector = httpx.HTTPTransport()
        self._journal: JournalTransport | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the one or the other."""
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
