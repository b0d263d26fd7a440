"""Declarations of the API's operations.

The signature of a declared method is the declaration: its parameters with their bounds, and the type of the answer.
From it come the route with its description in OpenAPI, the scope that a request needs, the methods of both clients,
the inputs of a worker process, the answer from the journal, and the options of a command. The collector has a handler
with the same parameters (`playhead_collector.handlers`).

    class MomentOperations:
        @get("/runs/{run}/state", scope=READ, tag="moments")
        def state(self, run: RunName, *, at: At = None) -> StateAt:
            # and the docstring, which is the description
            ...
"""

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, wraps
from types import MappingProxyType, MethodType
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)
from urllib.parse import quote

from playhead.model.canonical import Content
from playhead.model.names import MASKED_HEADER
from playhead.model.ref import ContentRef
from playhead.wire.operations.bounds import PAGE_LIMIT, Bounds, split, wire_type, wire_value
from playhead.wire.operations.page import ItemsPage, Page

P = ParamSpec("P")
T = TypeVar("T")

READ: Final = "read"
INGEST: Final = "ingest"
ADMIN: Final = "admin"
Scope = Literal["ingest", "read", "admin"]
Need = Literal["explainer", "chat_models", "search"]
"""What an operator has to switch on: a model that explains, models that are asked again, the search index."""
HttpMethod = Literal["GET", "POST", "PUT", "DELETE"]
Place = Literal["path", "query", "body", "bytes"]
ReadAnswer = Callable[[bytes, Mapping[str, str]], T]
"""Makes the client's answer of a body and its headers (names in lower case)."""

NOTHING: Final = inspect.Parameter.empty
"""The default of a parameter that must be given."""
_NO_TEXTS: Final[Mapping[int, str]] = MappingProxyType({})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SENTENCE_END: Final = re.compile(r"(?<=[.?])\s")
# Items that a client requests at a time.
_CLIENT_PAGE: Final = 500


class Form(Enum):
    """The way of an answer: JSON, a page of a list, events as they happen, or bytes."""

    JSON = "json"
    PAGE = "page"
    EVENTS = "events"
    BYTES = "bytes"


class StrictBody(NamedTuple):
    """Name and description of a body in OpenAPI that has no other members than the declared ones."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class OperationParameter:
    """A parameter of an operation. `annotation` is the client's type, `wire` the type on the wire; `default` is
    `NOTHING` if it must be given. `is_condition`: it is one of the conditions that are taken as `**where`."""

    name: str
    wire_name: str
    place: Place
    annotation: Any
    wire: Any
    bounds: Bounds
    default: Any
    is_condition: bool

    def refusal(self, value: object) -> str | None:
        """Returns what is wrong with a value as it is sent, named as over HTTP; None if nothing is."""
        sentence = self.bounds.refusal(value, self.wire)
        return None if sentence is None else f"{self.place}.{self.wire_name}: {sentence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFacts:
    """What a declaration says beside its signature.

    `scope`: the scope that a key needs. `tag`: the group in OpenAPI. `in_worker`: a worker process answers it.
    `looks_beyond`: it reads other runs than those that it names, whose recent news have to be projected before.
    `needs`: what has to be switched on. `also_refuses`: statuses of errors beyond those of all operations, each with
    its description (empty: the usual one). `deprecated`: what to use instead. `route_name`: the name in OpenAPI, if it
    is not the method's. `media_type`: that of an answer in bytes, or of an upload. `answer_text` and `also_answers`
    describe status 200 and other statuses without an error.
    """

    method: HttpMethod
    path: str
    scope: Scope
    tag: str
    form: Form = Form.JSON
    in_worker: bool = False
    looks_beyond: bool = False
    needs: Need | None = None
    also_refuses: Mapping[int, str] = field(default_factory=dict[int, str])
    deprecated: str | None = None
    route_name: str | None = None
    media_type: str | None = None
    answer_text: str | None = None
    also_answers: Mapping[int, str] = field(default_factory=dict[int, str])
    strict_body: StrictBody | None = None
    # Lists: the default size of a page over HTTP (None: the handler's), its bounds, the query parameter behind which
    # `cursor` stands, and how many items a client requests at a time. With `one_item_of` given, the list has one item,
    # whose parts `limit` counts: the client requests as many as it was asked for.
    page_size: int | None = None
    page_limit: Bounds = PAGE_LIMIT
    cursor_after: str = "limit"
    client_page: int = _CLIENT_PAGE
    one_item_of: str | None = None


class DeclaredOperation:
    """What all kinds of declared operations have: facts, name, parameters, and the type of the answer."""

    def __init__(
        self,
        declare: Callable[..., Any],
        facts: OperationFacts,
        read: ReadAnswer[Any] | None = None,
    ) -> None:
        """`read` makes the client's answer; by default it is the parsed JSON, or the bytes."""
        self.declare = declare
        self.facts = facts
        self.read = read
        self.name = declare.__name__
        self.owner: type[Any] | None = None
        self.__doc__ = declare.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.owner = owner
        self.name = name

    def __repr__(self) -> str:
        return f"<operation {self.key}>"

    @property
    def key(self) -> str:
        """The name among all operations: `MomentOperations.state`."""
        return self.declare.__qualname__

    @property
    def description(self) -> str:
        """The declaration's docstring."""
        return inspect.cleandoc(self.declare.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first sentence of the description, without its full stop."""
        return _SENTENCE_END.split(self.description, maxsplit=1)[0].replace("\n", " ").removesuffix(".")

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the declaration, with `self`."""
        return inspect.signature(self.declare)

    @cached_property
    def answer_type(self) -> Any:
        """The type of the answer; of a list, the type of a page."""
        return get_type_hints(self.declare, include_extras=True)["return"]

    @cached_property
    def parameters(self) -> tuple[OperationParameter, ...]:
        """The parameters in their order, conditions last. Raises TypeError for a parameter without bounds."""
        hints = get_type_hints(self.declare, include_extras=True)
        parameters: list[OperationParameter] = []
        for parameter in list(self.signature.parameters.values())[1:]:
            hint = hints[parameter.name]
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                parameters.append(self._parameter(parameter.name, hint, parameter.default))
                continue
            members = get_type_hints(_unpacked(hint), include_extras=True)
            parameters += [self._parameter(name, member, None, is_condition=True) for name, member in members.items()]
        return tuple(parameters)

    def _parameter(self, name: str, hint: object, default: object, *, is_condition: bool = False) -> OperationParameter:
        annotation, bounds = split(hint)
        if bounds is None:
            raise TypeError(f"parameter {name} of {self.key} has no bounds: declare it as Annotated[..., Bounds(...)]")
        wire_name = bounds.name or name
        wire = wire_type(annotation, bounds)
        # A list that may be left out is null on the wire.
        if default == () and get_origin(wire) is list:
            wire = wire | None
        return OperationParameter(
            name, wire_name, self._place(wire_name, annotation), annotation, wire, bounds, default, is_condition
        )

    def _place(self, wire_name: str, annotation: object) -> Place:
        if f"{{{wire_name}}}" in self.facts.path:
            return "path"
        if annotation is bytes:
            return "bytes"
        return "body" if self.facts.method in ("POST", "PUT") else "query"

    def call(self, *args: object, **kwargs: object) -> "OperationCall[Any]":
        """Returns a call with these arguments. Raises TypeError if they do not fit the signature."""
        bound = self.signature.bind(None, *args, **kwargs).arguments
        _, *names = self.signature.parameters
        given: dict[str, Any] = {}
        for name in names:
            if self.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                given |= bound.get(name, {})
            elif name in bound:
                given[name] = bound[name]
        known = {parameter.name for parameter in self.parameters}
        if unknown := given.keys() - known:
            raise TypeError(f"{self.name}() got an unexpected keyword argument {min(unknown)!r}")
        for parameter in self.parameters:
            if parameter.place == "path" and given.get(parameter.name) is None and parameter.bounds.new is None:
                raise TypeError(f"{self.name}() needs `{parameter.name}`, and got None")
        return OperationCall(self, given)


def _unpacked(hint: object) -> Any:
    if get_origin(hint) is not Unpack:
        raise TypeError("conditions are declared as **where: Unpack[A_TYPED_DICT]")
    return get_args(hint)[0]


@dataclass(frozen=True, slots=True)
class OperationCall(Generic[T]):
    """An operation with the arguments of one call, as the client gave them."""

    operation: DeclaredOperation
    given: Mapping[str, Any]

    def values(self) -> dict[str, Any]:
        """Returns the arguments by name as they are sent, without those that are None or have their default."""
        values: dict[str, Any] = {}
        for parameter in self.operation.parameters:
            given = self.given.get(parameter.name)
            value = wire_value(given, parameter.bounds)
            if value is None or (given is not None and _is_default(given, parameter.default)):
                continue
            values[parameter.name] = value
        return values


def _is_default(given: object, default: object) -> bool:
    return given is default or (type(given) is type(default) and given == default) or (given == [] and default == ())


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """A call as an HTTP request: path below the API's, query, and the members of a JSON body or the bytes of another
    one (None: there is no body)."""

    method: HttpMethod
    path: str
    query: dict[str, Any]
    body: dict[str, Any] | None
    content: bytes | None = None
    media_type: str | None = None


def request_of(call: OperationCall[Any]) -> OperationRequest:
    """Returns the request of a call. Raises NoSuchPath for a name that cannot be in a path."""
    operation = call.operation
    values = call.values()
    by_place: dict[Place, dict[str, Any]] = {"path": {}, "query": {}, "body": {}, "bytes": {}}
    for parameter in operation.parameters:
        if parameter.name in values:
            by_place[parameter.place][parameter.wire_name] = values[parameter.name]
    path = operation.facts.path.lstrip("/")
    for name, value in by_place["path"].items():
        text = str(value)
        if not can_be_in_path(text):
            raise NoSuchPath(name, text, {key: str(each) for key, each in by_place["path"].items()})
        path = path.replace(f"{{{name}}}", quote(text, safe=":"))
    has_body = any(parameter.place == "body" for parameter in operation.parameters)
    return OperationRequest(
        operation.facts.method,
        path,
        by_place["query"],
        by_place["body"] if has_body else None,
        next(iter(by_place["bytes"].values()), None),
        operation.facts.media_type if by_place["bytes"] else None,
    )


class NoSuchPath(ValueError):
    """A value cannot be in a path: an empty one, `.`, `..`, or one with a slash or half a surrogate pair. `names`: all
    values in the path."""

    def __init__(self, name: str, value: str, names: Mapping[str, str]) -> None:
        super().__init__(f"there is no {name} {value!r}")
        self.name = name
        self.value = value
        self.names = names


def can_be_in_path(part: str) -> bool:
    """Whether a text can be one part of a path."""
    # Servers decode %2F before routing, and clients remove `.` and `..` from paths.
    return bool(part) and "/" not in part and part not in {".", ".."} and not _SURROGATE.search(part)


# --- both clients ----------------------------------------------------------------------------------------------------


class SyncOperations(Protocol):
    """What a synchronous client does for the declared operations."""

    def answer_of(self, call: OperationCall[T]) -> T:
        """Returns the answer of a call. Raises ClientError."""
        ...

    def items_of(self, call: OperationCall[Page[T]]) -> Iterator[T]:
        """Yields the items of a list. Raises ClientError."""
        ...

    def events_of(self, call: OperationCall[T]) -> Iterator[T]:
        """Yields events as they happen, over several connections. Raises ClientError."""
        ...


class AsyncOperations(Protocol):
    """The same for an asynchronous client."""

    async def answer_of(self, call: OperationCall[T]) -> T:
        """Returns the answer of a call. Raises ClientError."""
        ...

    def items_of(self, call: OperationCall[Page[T]]) -> AsyncIterator[T]:
        """Yields the items of a list. Raises ClientError."""
        ...

    def events_of(self, call: OperationCall[T]) -> AsyncIterator[T]:
        """Yields events as they happen, over several connections. Raises ClientError."""
        ...


class Operation(DeclaredOperation, Generic[P, T]):
    """An operation with one answer. Read from a client, it is the method that asks; read from the class, itself."""

    @overload
    def __get__(self, client: SyncOperations, owner: object = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncOperations, owner: object = None) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, owner: object = None) -> Self: ...
    def __get__(self, client: SyncOperations | AsyncOperations | None, owner: object = None) -> Any:
        """Returns the method of this client, or the operation."""
        return self if client is None else _method(self, client, client.answer_of)


class Listing(DeclaredOperation, Generic[P, T]):
    """An operation whose answer is a list of items, which clients read page by page."""

    @overload
    def __get__(self, client: SyncOperations, owner: object = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncOperations, owner: object = None) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, client: None, owner: object = None) -> Self: ...
    def __get__(self, client: SyncOperations | AsyncOperations | None, owner: object = None) -> Any:
        """Returns the method of this client, or the operation."""
        return self if client is None else _method(self, client, client.items_of)


class Watching(DeclaredOperation, Generic[P, T]):
    """An operation that sends events as they happen."""

    @overload
    def __get__(self, client: SyncOperations, owner: object = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncOperations, owner: object = None) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, client: None, owner: object = None) -> Self: ...
    def __get__(self, client: SyncOperations | AsyncOperations | None, owner: object = None) -> Any:
        """Returns the method of this client, or the operation."""
        return self if client is None else _method(self, client, client.events_of)


def _method(operation: DeclaredOperation, client: object, ask: Callable[[OperationCall[Any]], Any]) -> Any:
    declared = MethodType(operation.declare, client)

    @wraps(declared)
    def method(*args: object, **kwargs: object) -> Any:
        return ask(operation.call(*args, **kwargs))

    return method


# --- declarations ----------------------------------------------------------------------------------------------------


def get(
    path: str,
    *,
    scope: Scope,
    tag: str,
    in_worker: bool = False,
    looks_beyond: bool = False,
    needs: Need | None = None,
    also_refuses: Mapping[int, str] = _NO_TEXTS,
    deprecated: str | None = None,
    route_name: str | None = None,
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """Declares a GET operation with one answer. See `OperationFacts` for the parameters."""
    facts = OperationFacts(
        method="GET", path=path, scope=scope, tag=tag, in_worker=in_worker, looks_beyond=looks_beyond, needs=needs,
        also_refuses=also_refuses, deprecated=deprecated, route_name=route_name,
    )  # fmt: skip
    return lambda declare: Operation(declare, facts)


def get_list(
    path: str,
    *,
    scope: Scope,
    tag: str,
    page_size: int | None,
    page_limit: Bounds = PAGE_LIMIT,
    cursor_after: str = "limit",
    client_page: int = _CLIENT_PAGE,
    one_item_of: str | None = None,
    in_worker: bool = False,
    looks_beyond: bool = False,
    needs: Need | None = None,
    also_refuses: Mapping[int, str] = _NO_TEXTS,
    also_answers: Mapping[int, str] = _NO_TEXTS,
    deprecated: str | None = None,
    route_name: str | None = None,
) -> Callable[[Callable[Concatenate[Any, P], ItemsPage[T]]], Listing[P, T]]:
    """Declares a GET operation that lists items. The method has a parameter `limit: Most = None`, and returns
    `Page[...]`, or another page with items. See `OperationFacts` for the parameters."""
    facts = OperationFacts(
        method="GET", path=path, scope=scope, tag=tag, form=Form.PAGE, in_worker=in_worker, looks_beyond=looks_beyond,
        needs=needs, also_refuses=also_refuses, also_answers=also_answers, deprecated=deprecated,
        route_name=route_name, page_size=page_size, page_limit=page_limit, cursor_after=cursor_after,
        client_page=client_page, one_item_of=one_item_of,
    )  # fmt: skip
    return lambda declare: Listing(declare, facts)


def post(
    path: str,
    *,
    scope: Scope,
    tag: str,
    in_worker: bool = False,
    looks_beyond: bool = False,
    needs: Need | None = None,
    also_refuses: Mapping[int, str] = _NO_TEXTS,
    deprecated: str | None = None,
    route_name: str | None = None,
    strict_body: StrictBody | None = None,
    answer_text: str | None = None,
    media_type: str | None = None,
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """Declares a POST operation, whose parameters are members of a JSON object. `media_type`: that of an answer that
    may also be streamed, described by `answer_text`. See `OperationFacts` for the other parameters."""
    facts = OperationFacts(
        method="POST", path=path, scope=scope, tag=tag, in_worker=in_worker, looks_beyond=looks_beyond, needs=needs,
        also_refuses=also_refuses, deprecated=deprecated, route_name=route_name, strict_body=strict_body,
        answer_text=answer_text, media_type=media_type,
    )  # fmt: skip
    return lambda declare: Operation(declare, facts)


def put(
    path: str,
    *,
    scope: Scope,
    tag: str,
    also_refuses: Mapping[int, str] = _NO_TEXTS,
    deprecated: str | None = None,
    route_name: str | None = None,
    strict_body: StrictBody | None = None,
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """Declares a PUT operation, whose parameters are members of a JSON object. See `OperationFacts`."""
    facts = OperationFacts(
        method="PUT", path=path, scope=scope, tag=tag, also_refuses=also_refuses, deprecated=deprecated,
        route_name=route_name, strict_body=strict_body,
    )  # fmt: skip
    return lambda declare: Operation(declare, facts)


def delete(
    path: str,
    *,
    scope: Scope,
    tag: str,
    also_refuses: Mapping[int, str] = _NO_TEXTS,
    deprecated: str | None = None,
    route_name: str | None = None,
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """Declares a DELETE operation. See `OperationFacts`."""
    facts = OperationFacts(
        method="DELETE", path=path, scope=scope, tag=tag, also_refuses=also_refuses, deprecated=deprecated,
        route_name=route_name,
    )  # fmt: skip
    return lambda declare: Operation(declare, facts)


def watch(
    path: str,
    *,
    scope: Scope,
    tag: str,
    answer_text: str,
    also_answers: Mapping[int, str] = _NO_TEXTS,
    also_refuses: Mapping[int, str] = _NO_TEXTS,
    deprecated: str | None = None,
    route_name: str | None = None,
) -> Callable[[Callable[Concatenate[Any, P], T]], Watching[P, T]]:
    """Declares a stream of server-sent events; the method returns the type of one event. See `OperationFacts`."""
    facts = OperationFacts(
        method="GET", path=path, scope=scope, tag=tag, form=Form.EVENTS, media_type="text/event-stream",
        answer_text=answer_text, also_answers=also_answers, also_refuses=also_refuses, deprecated=deprecated,
        route_name=route_name,
    )  # fmt: skip
    return lambda declare: Watching(declare, facts)


def download(
    path: str,
    *,
    scope: Scope,
    tag: str,
    media_type: str,
    read: ReadAnswer[T],
    answer_text: str,
    method: Literal["GET", "POST"] = "GET",
    also_answers: Mapping[int, str] = _NO_TEXTS,
    also_refuses: Mapping[int, str] = _NO_TEXTS,
    deprecated: str | None = None,
    route_name: str | None = None,
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """Declares an operation whose answer is bytes of this media type. `read` makes the client's answer of the bytes
    and the headers (`as_content`, `as_words`). See `OperationFacts` for the other parameters."""
    facts = OperationFacts(
        method=method, path=path, scope=scope, tag=tag, form=Form.BYTES, media_type=media_type,
        answer_text=answer_text, also_answers=also_answers, also_refuses=also_refuses, deprecated=deprecated,
        route_name=route_name,
    )  # fmt: skip
    return lambda declare: Operation(declare, facts, read)


def upload(
    path: str,
    *,
    scope: Scope,
    tag: str,
    media_type: str,
    method: Literal["POST", "PUT"] = "POST",
    also_refuses: Mapping[int, str] = _NO_TEXTS,
    deprecated: str | None = None,
    route_name: str | None = None,
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """Declares an operation whose body is bytes of this media type: its one parameter of type `bytes`. See
    `OperationFacts` for the other parameters."""
    facts = OperationFacts(
        method=method, path=path, scope=scope, tag=tag, media_type=media_type, also_refuses=also_refuses,
        deprecated=deprecated, route_name=route_name,
    )  # fmt: skip
    return lambda declare: Operation(declare, facts)


# --- paths -----------------------------------------------------------------------------------------------------------

_PATH_PARAMETER = re.compile(r"\\{\w+\\}")


def path_pattern(path: str) -> re.Pattern[str]:
    """Returns the pattern of the paths that an operation answers."""
    return re.compile(_PATH_PARAMETER.sub("[^/]+", re.escape(path)))


def operations_of(owner: type[Any]) -> tuple[DeclaredOperation, ...]:
    """The operations that a class declares, in their order."""
    return tuple(value for value in vars(owner).values() if isinstance(value, DeclaredOperation))


def as_words(body: bytes, _: Mapping[str, str]) -> str:
    """Reads an answer that is text."""
    return body.decode()


def as_content(body: bytes, headers: Mapping[str, str]) -> Content:
    """Reads an answer that is a content, with its media type."""
    media_type = headers.get("content-type", "application/octet-stream")
    masked = headers.get(MASKED_HEADER)
    return Content(body, media_type) if masked is None else Content.masked(ContentRef.parse(masked), body, media_type)
