"""The interface to the store of promises, which is a later stage. `playhead.configure` provides it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from playhead.wire.answers.promises import Promise, PromiseAnswer


class PromiseStore(Protocol):
    """Keeps promises. Methods may block for a network request, unless they say otherwise. They raise JournalUnusable,
    and what they say."""

    def open(self, promise: Promise) -> Promise:
        """Durable once this returns. Opening it again changes nothing, and returns what is known, with the answer."""
        ...

    def announce(self, promise: Promise) -> Promise:
        """As `open`, but without a network request: the collector gets it in the background."""
        ...

    def settle(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Says what a program went on with: its answer, unless it has one. What the journal's folder knows of it, with
        the answer if that was given there; the collector is told in the background. None: only the collector knows."""
        ...

    def read(self, promise_id: str) -> Promise | None:
        """The promise with its answer; None: not known, or nobody can be asked now."""
        ...

    def answer(self, promise_id: str, answer: PromiseAnswer) -> Promise | None:
        """Answers it, unless it has an answer: the first one is in what is returned. None: nobody can be asked now."""
        ...

    def interrupts(self, runs: Sequence[str]) -> list[Promise]:
        """Open requests to stop one of these runs."""
        ...

    def may_wait(self, promise: Promise) -> bool:
        """Whether the program may wait for the answer, or has to end its process. Never blocks. In a test, where nobody
        could give an answer, it may raise."""
        ...

    def listed(self, *, answered: bool = False) -> list[Promise]:
        """All promises that are open, oldest first; also those with an answer, if `answered`. May raise ClientError."""
        ...

    def decide(self, promise_id: str, answer: PromiseAnswer, asked: Promise | None = None) -> Promise:
        """Gives a person's answer. `asked`: the promise, where it may be answered before a run asks for it.

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
