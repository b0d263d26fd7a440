"""journal → [listeners]: `playhead.on_event`: functions of the program that are called with each event it records.

They are called in a thread of their own, in the order of the records, after the records are in the journal. If a
program records faster than its functions take events, events are dropped here (counted, with one warning), never in the
record.
"""

import os
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import guarded, warn_once

EventListener = Callable[[dict[str, Any]], object]
# A few seconds of a busy program; each is some hundred bytes.
_MOST_WAITING = 10_000
_Priority = Literal["critical", "normal"]
_PRIORITIES = get_args(_Priority)


@dataclass(frozen=True, slots=True, eq=False)
class _Registration:
    """A function with the events it wants. `kinds` empty: all; `priority` None: any."""

    function: EventListener
    kinds: frozenset[str]
    priority: str | None

    def wants(self, event: dict[str, Any]) -> bool:
        """Whether the function is to be called with this event."""
        return (not self.kinds or event["kind"] in self.kinds) and self.priority in (None, event["priority"])


_Waiting = queue.SimpleQueue[tuple[bytes, bytes] | threading.Event]
"""Records, each a frame's kind and payload, and what a caller of `drain` waits for."""


class EventListeners:
    """The functions of this process, and the thread that calls them. Safe for threads."""

    def __init__(self) -> None:
        self.active: tuple[_Registration, ...] = ()
        self.dropped = 0
        """Number of records that were dropped because too many waited: no function was called for them."""
        self._mutex = ForkSafeLock()
        # Not `Queue`: a signal's handler or the garbage collector may end a call in the middle of `put`.
        self._waiting: _Waiting = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, function: EventListener, kinds: frozenset[str], priority: str | None) -> Callable[[], None]:
        """Registers the function.  Returns a function that removes it again."""
        registration = _Registration(function, kinds, priority)
        with self._mutex:
            self.active = (*self.active, registration)

        def remove() -> None:
            with self._mutex:
                self.active = tuple(entry for entry in self.active if entry is not registration)

        return remove

    def put(self, kind: bytes, payload: bytes) -> None:
        """Queues a record that the journal has: a frame's kind and payload. Returns at once."""
        self._start()
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put((kind, payload))
        else:
            self.dropped += 1
            warn_once("on_event full", "functions given to on_event are slower than the program: they miss events")

    def drain(self, seconds: float) -> bool:
        """Waits until the functions were called with all events so far; returns False if that takes longer."""
        if self._thread is None or threading.current_thread() is self._thread:
            return True
        done = threading.Event()
        self._waiting.put(done)
        return done.wait(max(0.0, seconds))

    def after_fork(self) -> None:
        """In a forked child: drops the waiting records, for which the parent calls its functions."""
        self._waiting = queue.SimpleQueue()
        self._thread = None

    def _start(self) -> None:
        if self._thread is not None:
            return
        with self._mutex:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._call_all, args=(self._waiting,), name="playhead-on-event", daemon=True
                )
                self._thread.start()

    def _call_all(self, waiting: "_Waiting") -> None:
        while True:
            item = waiting.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            events: Sequence[dict[str, Any]] = ()
            with guarded("read a record for on_event"):
                from playhead.journal.recorded_events import events_of  # noqa: PLC0415 - `on_event` has imported it

                events = events_of(*item)
            self._call(events)

    def _call(self, events: Sequence[dict[str, Any]]) -> None:
        for event in events:
            for registration in self.active:
                if registration.wants(event):
                    with guarded("call a function given to on_event"):  # it is the user's code
                        registration.function(event)


LISTENERS = EventListeners()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LISTENERS.after_fork)


def on_event(
    function: EventListener, *, kinds: Iterable[str] | str | None = None, priority: _Priority | None = None
) -> Callable[[], None]:
    """Calls the function with each event that is recorded here: `playhead.on_event(print, kinds=["tool_failed"])`.

    An event is a dictionary as the API gives it (`kind`, `run`, `time_ns`, `priority`, `span`, `actor`, `data`,
    `refs`), without `seq`, which the collector gives.  The function is called after the journal has the event, in a
    thread of Playhead's: it never keeps the program waiting, and what it raises is logged once and swallowed.
    `kinds`: only these kinds; `priority`: only "critical" or only "normal" ones.  Returns a function that ends it.
    Raises TypeError or ValueError for arguments that could never be called, or would never match.
    """
    # Only programs that listen need the classes of events, which take longer to import than the rest of this folder.
    from playhead.journal.recorded_events import EVENT_KINDS  # noqa: PLC0415

    if not callable(function):
        raise TypeError(f"on_event({function!r}): give a function that takes an event, a dictionary")
    try:
        wanted = frozenset([kinds] if isinstance(kinds, str) else kinds or ())
    except TypeError:
        raise TypeError(f"on_event(kinds={kinds!r}): give the name of a kind of event, or a list of names") from None
    if unknown := sorted(wanted.difference(EVENT_KINDS), key=repr):
        raise ValueError(f"on_event(kinds={unknown}): no such kinds of events; there are: {', '.join(EVENT_KINDS)}")
    if priority not in (None, *_PRIORITIES):
        raise ValueError(f"on_event(priority={priority!r}): expected one of {', '.join(_PRIORITIES)}")
    return LISTENERS.add(function, wanted, priority)
