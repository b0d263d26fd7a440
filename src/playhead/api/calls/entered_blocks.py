"""Which entering of a block ends when one block object is entered more than once: by threads, tasks, generators.

`with` enters and leaves in one frame, so the frame tells enterings apart, whoever runs in between.  What enters in one
frame and leaves in another (an `ExitStack`) is found by the call that is current there.
"""

from contextlib import suppress
from types import FrameType
from typing import NamedTuple

from playhead.api.calls.begin import CONTEXTS, CURRENT, UNRECORDED
from playhead.api.calls.span import ObservedSpan


class _Entering(NamedTuple):
    frame: FrameType | None  # the object, not its id: as long as it is held, no other frame is taken for it
    span: ObservedSpan | None


class Entered:
    """The enterings of one block object that have not been left yet.  Safe for threads and tasks."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[_Entering] = []

    def enter(self, frame: FrameType | None, span: ObservedSpan | None) -> None:
        """`frame` is the one that enters; `span` None when the call is not recorded."""
        self._open.append(_Entering(frame, span))

    def leave(self, frame: FrameType | None) -> ObservedSpan | None:
        """The span of the entering that ends here, which is forgotten; None: it has none, or there was none."""
        entering = self._in(frame) or self._around() or self._any()
        if entering is None:
            return None
        with suppress(ValueError):  # of the user's own doing: left twice
            self._open.remove(entering)
        return entering.span

    def here(self, frame: FrameType | None) -> ObservedSpan | None:
        """The span of the entering around here, seen from this frame or from a call inside the block."""
        entering = self._in(frame) or self._around()
        if entering is None and _current() is None and len(around := tuple(self._open)) == 1:
            [entering] = around  # a thread of the program's own, which has no call around it
        return entering.span if entering is not None else None

    def _in(self, frame: FrameType | None) -> _Entering | None:
        return next((entering for entering in self._latest_first() if entering.frame is frame), None)

    def _around(self) -> _Entering | None:
        """By the current call and those that it is inside of, the innermost first."""
        at = _current()
        while isinstance(at, ObservedSpan):
            found = next((entering for entering in self._latest_first() if entering.span is at), None)
            if found is not None:
                return found
            at = at.above
        return None

    def _any(self) -> _Entering | None:
        """Left where nothing is known of it: one that is not recorded, if that is what is current here."""
        recorded = _current() is not UNRECORDED
        latest = self._latest_first()
        return next((one for one in latest if _is_recorded(one.span) is recorded), latest[0] if latest else None)

    def _latest_first(self) -> tuple[_Entering, ...]:
        return tuple(self._open)[::-1]


def _is_recorded(span: ObservedSpan | None) -> bool:
    return span is not None and span.run.recorded


def _current() -> object:
    return CONTEXTS.get_current().get(CURRENT)
