"""Blocks (`with observe(...)`, `with playhead.run(...)`): begins and ends their calls.

One block object may be entered several times at once, by threads and tasks. The current call, a context variable, tells
which of the entries ends. Inside one task or thread it cannot tell two generators that take turns from a block inside
itself, so the object is not entered a second time there.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from opentelemetry import context as otel

from playhead.calls.begin import CURRENT
from playhead.calls.flow import task_or_thread
from playhead.calls.lifecycle import enter, fail, fail_and_detach, finish
from playhead.calls.recorded_answer import recorded_answer
from playhead.calls.span import ObservedSpan
from playhead.errors import ReplayDiverged
from playhead.kernel.guard import warn_once

_NOT_ANSWERED = (
    "{name} is a block, and no outcome can be given in the place of its code. Make a function of it, or let it run "
    "again (playhead.RERUN)"
)


@dataclass(slots=True, eq=False)
class BlockEntry:
    """One time that a block was entered and not left yet. `owner`: the task or thread that entered it. `span` None: the
    call is not recorded."""

    span: ObservedSpan | None
    owner: Any
    refused: int = 0
    """How many times the block was entered again inside this entry, and not left yet."""


class BlockEntries:
    """Entries of one block object that have not been left yet. Safe for threads and tasks."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[BlockEntry] = []

    def refuse_second(self, name: str) -> bool:
        """Whether this task or thread has entered the block around the current call. It is then not entered again,
        with a warning; `leave_block` is called for it all the same."""
        entry = _around_current_call(self._entered_here()) if self._open else None
        if entry is None:
            return False
        entry.refused += 1
        warn_once(
            f"block {name}",
            f"the block {name!r} is entered inside itself, which is recorded as one call: make a new object for each "
            "`with`, or decorate a function",
        )
        return True

    def enter(self, span: ObservedSpan | None) -> None:
        """Adds an entry. `span` None: the call is not recorded."""
        self._open.append(BlockEntry(span, task_or_thread()))

    def leaving(self) -> BlockEntry | None:
        """Returns the entry that is left here; None if there is none."""
        entries = self._latest_first()
        if len(entries) <= 1:
            return entries[0] if entries else None
        # Else it is left in another task than it was entered in, without its context: by a finalizer, for instance.
        return self._entry_of_this_context() or next(iter(self._entered_here() or entries), None)

    def remove(self, entry: BlockEntry) -> None:
        """Removes an entry that has been left."""
        with suppress(ValueError):  # the user's code left the block twice
            self._open.remove(entry)

    def forget(self, span: ObservedSpan | None) -> None:
        """Removes the entry of a block that could not be entered, if it was added."""
        entry = next((entry for entry in self._entered_here() if entry.span is span), None)
        if entry is not None:
            self.remove(entry)

    def current(self) -> ObservedSpan | None:
        """Returns the span of the innermost entry around the current call; None when it is not recorded."""
        entry = self._entry_of_this_context()
        if entry is None and _current() is None and len(around := tuple(self._open)) == 1:
            [entry] = around  # in a thread that the program started: no call is current there
        return entry.span if entry is not None else None

    def _entry_of_this_context(self) -> BlockEntry | None:
        here = self._entered_here()
        unrecorded = (entry for entry in here if not _is_recorded(entry.span))
        return _around_current_call(here) or next(unrecorded, None) or _around_current_call(self._latest_first())

    def _entered_here(self) -> Sequence[BlockEntry]:
        """Returns the entries of this task or thread, latest first."""
        owner = task_or_thread()
        return [entry for entry in self._latest_first() if entry.owner == owner]

    def _latest_first(self) -> Sequence[BlockEntry]:
        return tuple(self._open)[::-1]


def _around_current_call(entries: Sequence[BlockEntry]) -> BlockEntry | None:
    """Returns the entry of the innermost current call that has one."""
    span = _current()
    while isinstance(span, ObservedSpan):
        entry = next((entry for entry in entries if entry.span is span), None)
        if entry is not None:
            return entry
        span = span.enclosing
    return None


def _is_recorded(span: ObservedSpan | None) -> bool:
    return span is not None and span.run.recorded


def _current() -> object:
    return otel.get_current().get(CURRENT)


def enter_block(entries: BlockEntries, span: ObservedSpan | None) -> None:
    """Makes the block's call current. Raises what a signal's handler raises. In a resumed or forked run, raises
    RunStopped or ToolDenied if the block must not be executed. After an error the block is not entered."""
    try:
        entries.enter(span)
        if span is not None:
            answer = recorded_answer(span)
            if answer is not None and answer.edit is None:
                raise answer.error or ReplayDiverged(_NOT_ANSWERED.format(name=span.name))
            enter(span)
    except BaseException as error:
        try:
            if span is not None:
                fail_and_detach(span, error)
        finally:
            entries.forget(span)
        raise


def leave_block(entries: BlockEntries, raised: BaseException | None) -> ObservedSpan | None:
    """Ends the call of the block that is left here, and returns it; None when it is not recorded, or was refused.

    Raises only what a signal's handler raises; the block is left all the same.
    """
    entry: BlockEntry | None = None
    try:
        entry = entries.leaving()
        if entry is not None and entry.refused:
            entry.refused -= 1
            entry = None
        span = entry.span if entry is not None else None
        if span is not None:
            if raised is not None:
                fail(span, raised)
            else:
                finish(span)
    except BaseException as error:
        entry = entry or entries.leaving()
        if entry is not None and entry.span is not None:
            fail_and_detach(entry.span, error)
        raise
    finally:
        if entry is not None:
            entries.remove(entry)
    return span
