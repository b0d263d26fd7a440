"""Requests to the query API as objects, and the decorator that turns `watch` into a method of both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast, overload
from urllib.parse import quote

from playhead.errors import BadRequest, NotFound
from playhead.model.canonical import parse_json
from playhead.model.ids import WHOLE_ID
from playhead.wire.operations import EventsMoved, Page, RecordedEvent
from playhead.wire.operations.operation import NoSuchPath, OperationCall, OperationRequest, can_be_in_path, request_of

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")
_PAGE = 500
# For how long a lost stream of events is opened again.
_RECONNECT_SECONDS = 300.0
# Names of runs in paths.
_RUN_NAMES = frozenset({"run", "a", "b"})
# Path of a list in a run: `runs`, the run, the list's name.
_RUN_LIST = 3


@contextmanager
def only_what_can_be_sent() -> Generator[None]:
    """Block that builds a request. Raises BadRequest for text that is no UTF-8, and for values that JSON lacks."""
    try:
        yield
    except UnicodeEncodeError as error:
        # Arguments of a command have such characters for bytes in another encoding.
        character = error.object[error.start]
        raise BadRequest(
            f"the character {character!r} cannot be sent: give text that can be written in UTF-8"
        ) from None
    except ValueError as error:
        raise BadRequest(f"the values cannot be sent as JSON: {error}") from error


@dataclass(frozen=True, slots=True)
class ApiRequest(Generic[T]):
    """One request to the query API; `read` gets the answer from its response."""

    path: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Any = None
    read: Callable[[httpx.Response], T] = lambda response: cast(T, parse_json(response.content))
    method: str | None = None
    """By default GET, or POST for a request with a body."""
    content: bytes | None = None
    """A body that is no JSON, with its media type in `media_type`."""
    media_type: str | None = None

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Builds the HTTP request. Leaves out parameters that are None. Raises BadRequest for values that cannot be
        sent."""
        params = {name: value for name, value in self.params.items() if value is not None}
        method = self.method or ("GET" if self.body is None else "POST")
        headers = {"content-type": self.media_type} if self.media_type else None
        with only_what_can_be_sent():
            return http.build_request(
                method, self.path, params=params, json=self.body, content=self.content, headers=headers
            )


def _read_page(response: httpx.Response) -> Page[Any]:
    """Reads a page of a list. Raises ValueError if the body is not a page: then another program answers at this
    address."""
    page = parse_json(response.content)
    if not isinstance(page, dict) or not {"items", "next_cursor"} <= page.keys() or not isinstance(page["items"], list):
        raise ValueError
    return cast(Page[Any], page)


@dataclass(frozen=True, slots=True)
class PagedRequest(Generic[T]):
    """A request for a list that is sent in pages; `remaining`: maximum number of items still to read (None: all)."""

    path: str
    params: Mapping[str, Any]
    remaining: int | None
    page_size: int = _PAGE

    def next_request(self) -> ApiRequest[Page[T]]:
        """Returns the request for the next page."""
        size = self.page_size if self.remaining is None else max(1, min(self.page_size, self.remaining))
        return ApiRequest(self.path, {**self.params, "limit": size}, read=_read_page)

    def run_lookup(self) -> ApiRequest[dict[str, Any]] | None:
        """Returns the request that looks up the run's id, if the path names the run by anything but a whole id: a name
        such as `last` may mean another run when the next page is requested. None if there is nothing to look up."""
        parts = self.path.split("/")
        if len(parts) < _RUN_LIST or parts[0] != "runs" or WHOLE_ID.fullmatch(parts[1]):
            return None
        return ApiRequest("/".join(parts[:2]))

    def of_run(self, run: str) -> PagedRequest[T]:
        """Returns a request for the same list of the run with this id."""
        runs, _, *rest = self.path.split("/")
        return replace(self, path="/".join((runs, run, *rest)))

    def after_page(self, page: Page[T]) -> PagedRequest[T] | None:
        """Returns the request for the page after this one; None after the last page."""
        remaining = None if self.remaining is None else self.remaining - len(page["items"])
        if page["next_cursor"] is None or (remaining is not None and remaining <= 0):
            return None
        return replace(self, params={**self.params, "cursor": page["next_cursor"]}, remaining=remaining)


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Which events to receive. `run` None: the events of all runs. `limit`: number of events after which the stream
    ends (None: no limit).

    `reconnect_seconds`: for how long to try to reconnect when the connection is lost.
    """

    run: str | None
    params: dict[str, Any]
    limit: int | None
    on_changed: Callable[[RecordedEvent], None] | None
    on_moved: Callable[[EventsMoved], None] | None
    reconnect_seconds: float


def unindexed_request() -> ApiRequest[int]:
    """Returns the request for the number of sealed runs that are not indexed yet."""
    return ApiRequest("search/decisions", {"limit": 1}, read=lambda response: response.json()["unindexed"])


class SyncStreams(Protocol):
    """What a synchronous client does for `watch`."""

    def stream_events(self, request: WatchRequest) -> Iterator[RecordedEvent]:
        """Yields events as they happen. Raises ClientError."""
        ...


class AsyncStreams(Protocol):
    """What an asynchronous client does for `watch`."""

    def stream_events(self, request: WatchRequest) -> AsyncIterator[RecordedEvent]:
        """Yields events as they happen. Raises ClientError."""
        ...


class watch_client_method(Generic[P]):  # noqa: N801 - a decorator
    """Decorator for a method that returns a `WatchRequest`: on a client, the method returns events as they happen.

    `Client` returns an iterator, `AsyncClient` an asynchronous iterator.
    """

    def __init__(self, describe: Callable[Concatenate[Any, P], WatchRequest]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: SyncStreams, owner: object = None) -> Callable[P, Iterator[RecordedEvent]]: ...
    @overload
    def __get__(self, client: AsyncStreams, owner: object = None) -> Callable[P, AsyncIterator[RecordedEvent]]: ...
    @overload
    def __get__(self, client: None, owner: object = None) -> Self: ...
    def __get__(self, client: SyncStreams | AsyncStreams | None, owner: object = None) -> Any:
        """Returns the method bound to this client. Read from the class: the decorator itself."""
        if client is None:
            return self

        describe: Callable[P, WatchRequest] = MethodType(self._describe, client)

        @wraps(describe)
        def watch(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.stream_events(describe(*args, **kwargs))

        return watch


# --- declared operations ---------------------------------------------------------------------------------------------


def api_request(call: OperationCall[T]) -> ApiRequest[T]:
    """Returns the request of a call to a declared operation. Raises NotFound for a name that cannot be in a path."""
    request = _request(call)
    wanted: ApiRequest[T] = ApiRequest(
        request.path, request.query, request.body, method=request.method, content=request.content,
        media_type=request.media_type,
    )  # fmt: skip
    if (read := call.operation.read) is None:
        return wanted

    def read_response(response: httpx.Response) -> T:
        return read(response.content, response.headers)

    return replace(wanted, read=read_response)


def paged_request(call: OperationCall[Page[T]]) -> PagedRequest[T]:
    """Returns the request for a declared list. Raises NotFound."""
    request = _request(call)
    params = {name: value for name, value in request.query.items() if name != "limit"}
    facts, limit = call.operation.facts, call.given.get("limit")
    page = limit if limit and call.given.get(facts.one_item_of or "") is not None else facts.client_page
    return PagedRequest(request.path, params, limit, page)


def watch_request(call: OperationCall[Any]) -> WatchRequest:
    """Returns the request for declared events as they happen."""
    values = call.values()
    params = {name: value for name, value in values.items() if name not in ("run", "limit")}
    return WatchRequest(values.get("run"), params, values.get("limit"), None, None, _RECONNECT_SECONDS)


def _request(call: OperationCall[Any]) -> OperationRequest:
    try:
        return request_of(call)
    except NoSuchPath as error:
        raise not_in_path(error) from None


def not_in_path(error: NoSuchPath) -> NotFound:
    """Makes the exception for a name that cannot be in a path."""
    if error.name in _RUN_NAMES:
        return NotFound(
            f"there is no run {error.value!r}: name one by its id, a part of it, or `last`; `playhead runs` lists them"
        )
    if error.name != "seq":
        return NotFound(str(error))
    return NotFound(
        f"run {error.names.get('run')} has no event {error.value!r}: give a seq or an id of its events, turn:N, "
        "first-error or last"
    )


def run_path(run: str, *rest: str) -> str:
    """Returns the path of a run or, with `rest`, of something in the run. Raises NotFound for a part that cannot be in
    a path: an empty one, `.`, `..`, or one with a slash."""
    if not can_be_in_path(run):
        raise NotFound(
            f"there is no run {run!r}: name one by its id, a part of it, or `last`; `playhead runs` lists them"
        )
    for part in rest:
        if not can_be_in_path(part):
            raise NotFound(
                f"run {run} has no event {part!r}: give a seq or an id of its events, turn:N, first-error or last"
            )
    return "/".join(("runs", *(quote(part, safe="") for part in (run, *rest))))


def is_whole_run_id(run: object) -> bool:
    """Whether a name of a run is a whole id."""
    return isinstance(run, str) and WHOLE_ID.fullmatch(run) is not None
