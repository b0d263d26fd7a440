"""The synchronous and the asynchronous client of the query API."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from time import monotonic, sleep
from types import TracebackType
from typing import Self, TypeVar, cast

import httpx

from playhead.client.operations import BlockingClient, Operations, messages_in
from playhead.client.requests import (
    ApiRequest,
    PagedRequest,
    WatchRequest,
    api_request,
    paged_request,
    unindexed_request,
    watch_request,
)
from playhead.client.responses import TIMEOUT_SECONDS, answer, collector_url, options, unreachable
from playhead.client.watching import Watch, named_run
from playhead.errors import CollectorUnreachable
from playhead.wire.operations import Page, RecordedEvent, ThreadMessages
from playhead.wire.operations.operation import OperationCall

T = TypeVar("T")


class Client(BlockingClient):
    """Synchronous client of the query API. Thread-safe. Methods raise ClientError or a subclass of it."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        project: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.base_url = collector_url(base_url)
        self._http = httpx.Client(**options(self.base_url, api_key, timeout_seconds, project), transport=transport)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def answer_of(self, call: OperationCall[T]) -> T:
        """Returns the answer of a declared operation. Raises ClientError."""
        return self.ask(api_request(call))

    def items_of(self, call: OperationCall[Page[T]]) -> Iterator[T]:
        """Yields the items of a declared list; requests the next page when it is needed. Raises ClientError."""
        listing = paged_request(call)
        rest: PagedRequest[T] | None = listing if listing.remaining != 0 else None
        if rest is not None and (named := rest.run_lookup()) is not None:
            rest = rest.of_run(self.ask(named)["run"])
        while rest is not None:
            page = self.ask(rest.next_request())
            yield from page["items"]
            rest = rest.after_page(page)

    def events_of(self, call: OperationCall[T]) -> Iterator[T]:
        """Yields declared events as they happen. Raises ClientError."""
        return cast(Iterator[T], self.stream_events(watch_request(call)))

    def ask(self, request: ApiRequest[T]) -> T:
        """Sends a request and returns the answer.  Raises ClientError."""
        try:
            response = self._http.send(request.request(self._http))
        except httpx.TransportError as error:
            raise unreachable(self.base_url, error) from error
        return answer(self.base_url, request, response)

    def unindexed_runs(self) -> int:
        """The number of sealed runs that are not indexed yet, so that searches do not find them; at most 1,000."""
        return self.ask(unindexed_request())

    def stream_events(self, request: WatchRequest) -> Iterator[RecordedEvent]:
        """Yields events as they happen; reconnects when the connection is lost. Raises ClientError."""
        watch = Watch(request, None if request.run is None else self.ask(named_run(request.run))["run"], monotonic)
        while not watch.is_done:
            lost: CollectorUnreachable | None = None
            try:
                response = self._http.send(watch.request(self._http), stream=True)
                with closing(response):
                    if watch.opened(response):
                        for data in response.iter_bytes():
                            yield from watch.feed(data)
                    elif not watch.is_done:
                        response.read()
                        watch.check(self.base_url, response)
            except httpx.TransportError as error:
                lost = unreachable(self.base_url, error)
            if not watch.is_done:
                sleep(watch.lost(lost))


class AsyncClient(Operations):
    """Asynchronous client with the same operations as `Client`: answers are awaited, lists are read with `async
    for`."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        project: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.base_url = collector_url(base_url)
        self._http = httpx.AsyncClient(**options(self.base_url, api_key, timeout_seconds, project), transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def answer_of(self, call: OperationCall[T]) -> T:
        """Returns the answer of a declared operation. Raises ClientError."""
        return await self.ask(api_request(call))

    async def items_of(self, call: OperationCall[Page[T]]) -> AsyncIterator[T]:
        """Yields the items of a declared list; requests the next page when it is needed. Raises ClientError."""
        listing = paged_request(call)
        rest: PagedRequest[T] | None = listing if listing.remaining != 0 else None
        if rest is not None and (named := rest.run_lookup()) is not None:
            rest = rest.of_run((await self.ask(named))["run"])
        while rest is not None:
            page = await self.ask(rest.next_request())
            for item in page["items"]:
                yield item
            rest = rest.after_page(page)

    def events_of(self, call: OperationCall[T]) -> AsyncIterator[T]:
        """Yields declared events as they happen. Raises ClientError."""
        return cast(AsyncIterator[T], self.stream_events(watch_request(call)))

    async def ask(self, request: ApiRequest[T]) -> T:
        """Sends a request and returns the answer.  Raises ClientError."""
        try:
            response = await self._http.send(request.request(self._http))
        except httpx.TransportError as error:
            raise unreachable(self.base_url, error) from error
        return answer(self.base_url, request, response)

    async def unindexed_runs(self) -> int:
        """The number of sealed runs that are not indexed yet, so that searches do not find them; at most 1,000."""
        return await self.ask(unindexed_request())

    async def thread(self, ref: str) -> ThreadMessages:
        """The messages of a thread."""
        return messages_in(await self.content(ref, view="messages"))

    async def stream_events(self, request: WatchRequest) -> AsyncIterator[RecordedEvent]:
        """Yields events as they happen; reconnects when the connection is lost. Raises ClientError."""
        run = None if request.run is None else (await self.ask(named_run(request.run)))["run"]
        watch = Watch(request, run, monotonic)
        while not watch.is_done:
            lost: CollectorUnreachable | None = None
            try:
                response = await self._http.send(watch.request(self._http), stream=True)
                async with aclosing(response):
                    if watch.opened(response):
                        async for data in response.aiter_bytes():
                            for event in watch.feed(data):
                                yield event
                    elif not watch.is_done:
                        await response.aread()
                        watch.check(self.base_url, response)
            except httpx.TransportError as error:
                lost = unreachable(self.base_url, error)
            if not watch.is_done:
                await asyncio.sleep(watch.lost(lost))
