"""Handlers of declared operations: how they are declared, found and called."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from playhead.wire.operations.operation import DeclaredOperation, Listing, Operation, Watching
from playhead.wire.operations.page import ItemsPage
from playhead_collector.handlers.asking import Asking, Changing
from playhead_collector.handlers.replies import LiveStream, Reply

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Handler:
    """The function that answers an operation. `waits`: it uses threads or waits for something, so that it needs an
    event loop also over the journal. `with_store`: it gets the whole store (`Changing`), and is refused over the
    journal. `changes`: it changes something."""

    operation: DeclaredOperation
    function: Callable[..., Awaitable[Any]]
    waits: bool
    with_store: bool = False
    changes: bool = False

    async def answer(self, asking: Asking, values: Mapping[str, Any]) -> Any:
        """Returns the answer: a value for JSON, a `Reply`, or None for a stream that has ended already. `values` are
        the arguments as they are sent, without those that were not given.

        Raises Refused, StoreUnavailable, ContentMissing, ContentCorrupt.
        """
        facts = self.operation.facts
        if facts.needs is not None:
            from playhead_collector.handlers.needs import refuse_if_off  # noqa: PLC0415 - few operations need something

            refuse_if_off(facts.needs, asking.services)
        if not facts.in_worker:
            return await self.function(asking, **values)
        from playhead_collector.analysis.texts.limits import begin_reading, with_cuts  # noqa: PLC0415 - analyses only

        begin_reading(asking.settings.longest_text)
        return with_cuts(await self.function(asking, **values))


@overload
def handles(
    operation: Listing[P, T], *, waits: bool = False
) -> Callable[[Callable[Concatenate[Asking, P], Awaitable[ItemsPage[T]]]], Handler]: ...
@overload
def handles(
    operation: Watching[P, T], *, waits: bool = False
) -> Callable[[Callable[Concatenate[Asking, P], Awaitable[LiveStream | None]]], Handler]: ...
@overload
def handles(
    operation: Operation[P, T], *, waits: bool = False
) -> Callable[[Callable[Concatenate[Asking, P], Awaitable[T | Reply]]], Handler]: ...
def handles(operation: DeclaredOperation, *, waits: bool = False) -> Any:
    """Makes a function the handler of an operation that reads. See `Handler` for `waits`."""

    def handler(function: Callable[..., Awaitable[Any]]) -> Handler:
        return Handler(operation, function, waits or operation.facts.in_worker)

    return handler


def changes(
    operation: Operation[P, T],
) -> Callable[[Callable[Concatenate[Changing, P], Awaitable[T]]], Handler]:
    """Makes a function the handler of an operation that changes something."""
    return lambda function: Handler(operation, function, waits=True, with_store=True, changes=True)


@overload
def handles_with_store(
    operation: Listing[P, T],
) -> Callable[[Callable[Concatenate[Changing, P], Awaitable[ItemsPage[T]]]], Handler]: ...
@overload
def handles_with_store(
    operation: Operation[P, T],
) -> Callable[[Callable[Concatenate[Changing, P], Awaitable[T]]], Handler]: ...
def handles_with_store(operation: DeclaredOperation) -> Any:
    """Makes a function the handler of an operation that reads what no journal has: keys, promises of all programs, what
    waits to be forwarded, how much is stored."""

    def handler(function: Callable[..., Awaitable[Any]]) -> Handler:
        return Handler(operation, function, waits=True, with_store=True)

    return handler


def handlers_in(module: ModuleType) -> dict[str, Handler]:
    """Returns the handlers of a module, by the key of their operation."""
    found = (value for value in vars(module).values() if isinstance(value, Handler))
    return {handler.operation.key: handler for handler in found}
