"""delivery → [sending] → http. Sends many items, and finds those few that the collector refuses.

A refused batch is halved until single items are left. An item is given up only when it is refused alone, its neighbours
were accepted, and it is refused again after that. If the cause of a refusal may be temporary (see `http`), all items
are first sent again after a wait.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from playhead.export.http import RequestRejected, everything_refused
from playhead.wire.retries import Unavailable

T = TypeVar("T")

# When 20 items in a row are refused, the cause is not the items.
_MAX_REFUSED_IN_A_ROW = 20
# With the delays of `backoff`, 5 tries take 3 to 6 s; after that the items are tried in smaller batches.
_UNSURE_RETRIES = 5
_TOO_LARGE = 413


@dataclass(frozen=True, slots=True)
class GivenUp(Generic[T]):
    """An item that the collector refused for good, and its reason."""

    item: T
    why: str


@dataclass(slots=True)
class _Search(Generic[T]):
    taken: int = 0
    suspects: list[T] = field(default_factory=list[T])
    given_up: list[GivenUp[T]] = field(default_factory=list[GivenUp[T]])
    in_a_row: int = 0


class Sending:
    """Sends items to one endpoint. Used by one thread."""

    def __init__(self, shown: str):
        """`shown`: the endpoint's name for messages to the user."""
        self._shown = shown
        self._doubts = 0

    def send(self, items: Sequence[T], send: Callable[[Sequence[T]], tuple[int, str]]) -> tuple[int, list[GivenUp[T]]]:
        """Returns the number of accepted items, and the items given up. Raises Unavailable.

        `send` makes one request with the given items and may be called again with the same ones. It returns how many of
        them the collector refused within an accepted request, and the reason. It raises RequestRejected or Unavailable,
        and ValueError or TypeError for an item that cannot be encoded. It is also called with no items, to see whether
        the collector accepts requests of this kind at all.
        """
        if not items:
            return 0, []
        search: _Search[T] = _Search()
        self._try(items, send, search)
        if search.suspects:
            self._confirm(send, search)
        self._doubts = 0
        return search.taken, search.given_up

    def _try(self, items: Sequence[T], send: Callable[[Sequence[T]], tuple[int, str]], search: _Search[T]) -> None:
        try:
            left_out, why = send(items)
        except RequestRejected as refused:
            self._wait_out(refused, len(items))
            if len(items) == 1:
                self._suspect(items[0], refused, search)
                return
        except (ValueError, TypeError) as error:
            if len(items) == 1:
                search.given_up.append(GivenUp(items[0], repr(error)))
                return
        else:
            search.in_a_row = 0
            if not left_out:
                search.taken += len(items)
                return
            if left_out >= len(items):
                search.given_up += [GivenUp(item, why or "left out, and not said why") for item in items]
                return
        half = len(items) // 2
        self._try(items[:half], send, search)
        self._try(items[half:], send, search)

    def _wait_out(self, rejected: RequestRejected, count: int) -> None:
        # A proxy's limit on size may still let smaller batches pass.
        if rejected.is_final or (rejected.status == _TOO_LARGE and count > 1) or self._doubts >= _UNSURE_RETRIES:
            return
        self._doubts += 1
        raise Unavailable(
            "odd answer",
            f"{self._shown} answers {rejected}: what is recorded stays in the journal and is sent again; "
            "see the log of the collector, and of what is between it and this program",
        )

    def _suspect(self, item: T, rejected: RequestRejected, search: _Search[T]) -> None:
        search.suspects.append(item)
        search.in_a_row += 1
        if search.in_a_row > _MAX_REFUSED_IN_A_ROW:
            raise everything_refused(self._shown, str(rejected))

    def _confirm(self, send: Callable[[Sequence[T]], tuple[int, str]], search: _Search[T]) -> None:
        """Sends the suspects again one by one, after their neighbours (or an empty request) were accepted. Those that
        are refused now are given up."""
        if not search.taken:
            try:
                send([])
            except RequestRejected as refused:
                raise everything_refused(self._shown, str(refused)) from refused
        for item in search.suspects:
            try:
                left_out, why = send([item])
            except RequestRejected as refused:
                search.given_up.append(GivenUp(item, str(refused)))
            else:
                search.taken += not left_out
                search.given_up += [GivenUp(item, why)] if left_out else []
