"""The interface to the store of promises, which is a later stage. `playhead.configuring` provides it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from playhead.wire.operations.promises import Promise, PromiseAnswer


class PromiseStore(Protocol):
    """Keeps promises. Methods may block for a network request unless documented otherwise. All may raise
    JournalUnusable."""

    def open(self, promise: Promise) -> Promise:
        """Stores the promise, durably once this returns. Opening it again changes nothing. Returns the stored promise
        with its answer."""
        ...

    def announce(self, promise: Promise) -> Promise:
        """The same as `open`, without a network request: the collector gets the promise in the background."""
        ...

    def settle(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers a promise with the answer with which the program continued, unless it has one already. Tells the
        collector in the background. Returns the promise from the journal's folder, with its answer if that was given
        there; None if the folder does not have it."""
        ...

    def read(self, promise_id: str) -> Promise | None:
        """Returns the promise with its answer; None: unknown, or the collector cannot be asked now."""
        ...

    def answer(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers the promise, unless it has an answer. Returns it with the first answer; None: the collector cannot be
        asked now."""
        ...

    def interrupts(self, runs: Sequence[str]) -> list[Promise]:
        """Returns the open requests to stop one of these runs."""
        ...

    def may_wait(self, promise: Promise) -> bool:
        """Whether the program may wait for the answer in this process; False: it has to end. Never blocks. In tests it
        may raise if there cannot be an answer."""
        ...

    def listed(self, *, answered: bool = False) -> list[Promise]:
        """Returns the open promises, oldest first; with `answered` also the answered ones. May raise ClientError."""
        ...

    def ids(self, start: str) -> set[str]:
        """Returns the ids of all promises that begin with `start`, answered or not. May raise ClientError."""
        ...

    def decide(self, promise_id: str, answer: PromiseAnswer, new_promise: Promise | None = None) -> Promise:
        """Stores a person's answer, and returns the promise. `new_promise`: the promise itself, for an answer that may
        come before a run asks for it.

        Raises NotFound, Conflict if it has an answer already, and other ClientErrors."""
        ...


_provided: list[Callable[[], PromiseStore]] = []


def provide_promises(make: Callable[[], PromiseStore]) -> None:
    """Sets the function that returns the store of this process."""
    _provided[:] = [make]


def promise_store() -> PromiseStore:
    """Returns the store of this process."""
    if not _provided:
        raise RuntimeError("import playhead first")
    return _provided[0]()
