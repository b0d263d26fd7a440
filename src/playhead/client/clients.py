"""The synchronous and the asynchronous client of the query API."""

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Self, TypeVar

import httpx

from playhead.client.exchange import TIMEOUT_SECONDS, answer, collector_url, options, unreachable
from playhead.client.operation import ApiRequest, PagedRequest
from playhead.client.operations import Operations

T = TypeVar("T")


class Client(Operations):
    """Client of the query API that waits for answers.  Thread-safe.  Methods raise ClientError or a subclass of it."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.base_url = collector_url(base_url)
        self._http = httpx.Client(**options(self.base_url, api_key, timeout_seconds), transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def ask(self, request: ApiRequest[T]) -> T:
        """Sends a request and returns the answer.  Raises ClientError."""
        try:
            response = self._http.send(request.request(self._http))
        except httpx.TransportError as error:
            raise unreachable(self.base_url, error) from error
        return answer(self.base_url, request, response)

    def pages(self, listing: PagedRequest[T]) -> Iterator[T]:
        """The items of a list; fetches the next page when it is needed.  Raises ClientError."""
        rest: PagedRequest[T] | None = listing if listing.remaining != 0 else None
        if rest is not None and (named := rest.run_lookup()) is not None:
            rest = rest.of_run(self.ask(named)["run"])
        while rest is not None:
            page = self.ask(rest.next_request())
            yield from page["items"]
            rest = rest.after_page(page)


class AsyncClient(Operations):
    """The same operations as in `Client`; answers are awaited, and lists are read with `async for`."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.base_url = collector_url(base_url)
        self._http = httpx.AsyncClient(**options(self.base_url, api_key, timeout_seconds), transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def ask(self, request: ApiRequest[T]) -> T:
        """Sends a request and returns the answer.  Raises ClientError."""
        try:
            response = await self._http.send(request.request(self._http))
        except httpx.TransportError as error:
            raise unreachable(self.base_url, error) from error
        return answer(self.base_url, request, response)

    async def pages(self, listing: PagedRequest[T]) -> AsyncIterator[T]:
        """The items of a list; fetches the next page when it is needed.  Raises ClientError."""
        rest: PagedRequest[T] | None = listing if listing.remaining != 0 else None
        if rest is not None and (named := rest.run_lookup()) is not None:
            rest = rest.of_run((await self.ask(named))["run"])
        while rest is not None:
            page = await self.ask(rest.next_request())
            for item in page["items"]:
                yield item
            rest = rest.after_page(page)
