"""Finds which entry of a block ends, when one block object is entered several times by threads, tasks or generators.

`with` enters and leaves in one frame, so the frame identifies the entry, whatever runs in between. An entry that is
left in another frame (by an `ExitStack`) is found by the call that is current there.
"""

from contextlib import suppress
from types import FrameType
from typing import NamedTuple

from playhead.calls.begin import CONTEXTS, CURRENT, UNRECORDED
from playhead.calls.lifecycle import enter, fail, fail_and_detach, finish
from playhead.calls.recorded_answer import recorded_answer
from playhead.calls.span import ObservedSpan
from playhead.errors import ReplayDiverged

_NOT_ANSWERED = (
    "{name} is a block, and no outcome can be given in the place of its code. Make a function of it, or let it run "
    "again (playhead.RERUN)"
)


class _BlockEntry(NamedTuple):
    frame: FrameType | None  # the object, not its id: while it is referenced, no other frame can have the same id
    span: ObservedSpan | None


class BlockEntries:
    """Entries of one block object that have not been left yet. Safe for threads and tasks."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[_BlockEntry] = []

    def enter(self, frame: FrameType | None, span: ObservedSpan | None) -> None:
        """Adds an entry. `frame`: the frame that enters. `span` None: the call is not recorded."""
        self._open.append(_BlockEntry(frame, span))

    def ending(self, frame: FrameType | None) -> _BlockEntry | None:
        """Returns the entry that ends in this frame."""
        return self._entry_of_frame(frame) or self._entry_around_current_call() or self._unrecorded_entry()

    def remove(self, entry: _BlockEntry) -> None:
        """Removes an entry that has been left."""
        with suppress(ValueError):  # the user's code left the block twice
            self._open.remove(entry)

    def current(self, frame: FrameType | None) -> ObservedSpan | None:
        """Returns the span of the innermost entry around this frame or around the current call; None when it is not
        recorded."""
        entering = self._entry_of_frame(frame) or self._entry_around_current_call()
        if entering is None and _current() is None and len(around := tuple(self._open)) == 1:
            [entering] = around  # in a thread that the program started: no call is current there
        return entering.span if entering is not None else None

    def _entry_of_frame(self, frame: FrameType | None) -> _BlockEntry | None:
        return next((entering for entering in self._latest_first() if entering.frame is frame), None)

    def _entry_around_current_call(self) -> _BlockEntry | None:
        """Returns the entry of the innermost current call that has one."""
        span = _current()
        while isinstance(span, ObservedSpan):
            entry = next((entering for entering in self._latest_first() if entering.span is span), None)
            if entry is not None:
                return entry
            span = span.enclosing
        return None

    def _unrecorded_entry(self) -> _BlockEntry | None:
        """Returns the latest entry whose call is recorded; if the current call is not recorded, the latest entry whose
        call is not. Without such an entry, returns the latest of all; None if no entry is open."""
        recorded = _current() is not UNRECORDED
        latest = self._latest_first()
        return next((entry for entry in latest if _is_recorded(entry.span) is recorded), latest[0] if latest else None)

    def _latest_first(self) -> tuple[_BlockEntry, ...]:
        return tuple(self._open)[::-1]


def _is_recorded(span: ObservedSpan | None) -> bool:
    return span is not None and span.run.recorded


def _current() -> object:
    return CONTEXTS.get_current().get(CURRENT)


def enter_block(entries: BlockEntries, frame: FrameType | None, span: ObservedSpan | None) -> None:
    """Makes the block's call current. Raises what a signal's handler raises. In a resumed or forked run, raises
    RunStopped or ToolDenied if the block must not be executed. After an error the block is not entered."""
    try:
        entries.enter(frame, span)
        if span is not None:
            answer = recorded_answer(span)
            if answer is not None and answer.edit is None:
                raise answer.error or ReplayDiverged(_NOT_ANSWERED.format(name=span.name))
            enter(span)
    except BaseException as error:
        leave_block(entries, frame, error)
        raise


def leave_block(entries: BlockEntries, frame: FrameType | None, raised: BaseException | None) -> ObservedSpan | None:
    """Ends the call of the block that this frame leaves, and returns it; None when it is not recorded.

    Raises only what a signal's handler raises; the block is left all the same.
    """
    entry: _BlockEntry | None = None
    try:
        entry = entries.ending(frame)
        span = entry.span if entry is not None else None
        if span is not None:
            if raised is not None:
                fail(span, raised)
            else:
                finish(span)
    except BaseException as error:
        entry = entry or entries.ending(frame)
        if entry is not None and entry.span is not None:
            fail_and_detach(entry.span, error)
        raise
    finally:
        if entry is not None:
            entries.remove(entry)
    return span
