"""The interface to the store of promises, which is a later stage. `playhead.configure` provides it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from playhead.wire.answers.promises import Promise, PromiseAnswer


class PromiseStore(Protocol):
    """Keeps promises. Methods may block for a network request, unless they say otherwise; they raise JournalUnusable,
    nothing else."""

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


_provided: list[Callable[[], PromiseStore]] = []


def provide_promises(make: Callable[[], PromiseStore]) -> None:
    """Sets the function that returns the store of this process."""
    _provided[:] = [make]


def promise_store() -> PromiseStore:
    """Returns the store of this process."""
    if not _provided:
        raise RuntimeError("import playhead first")
    return _provided[0]()
