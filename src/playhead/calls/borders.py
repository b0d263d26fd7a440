"""Borders of work: a unit such as a request or a task of a queue, whose calls without an agent are one run.

An open border is kept in OpenTelemetry's context, so that calls, tasks and threads inherit it. An asyncio task has a
border of its own, or that of the task that waits for it with `asyncio.gather`.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from opentelemetry import context as otel
from opentelemetry.context import Context

from playhead.calls import runtime
from playhead.calls.asyncio_here import running_task
from playhead.kernel.guard import log_internal_error

_BEGUN = otel.create_key("playhead-border")
_AWAITED = otel.create_key("playhead-awaited")


class _EnteredContext:
    """Adds a value to OpenTelemetry's current context until `leave`. If `leave` is called in another context, e.g. when
    an unfinished coroutine is collected, it changes nothing there."""

    __slots__ = ("_before", "_inside")

    def __init__(self, key: str, value: object) -> None:
        self._before = otel.get_current()
        self._inside = otel.set_value(key, value, self._before)
        otel.attach(self._inside)

    def leave(self) -> None:
        if otel.get_current() is self._inside:
            otel.attach(self._before)


class WorkBorder:
    """One unit of work; its calls without an agent are one run."""

    __slots__ = ("_entered", "_name", "group", "is_over", "rests")

    def __init__(self, name: str | Callable[[], str], *, rests: bool = False) -> None:
        """`name`: the run's name; a function is called with the first call. `rests`: the work may serve many people
        one after another, so calls far apart in time are not one run."""
        self._name = name
        self.rests = rests
        self.is_over = False
        """Whether it has ended. Code that still runs in its context may be doing other work."""
        self.group: Any = None
        """The run of this border as `grouping` keeps it; None until its first call."""
        self._entered: _EnteredContext | None = None

    @property
    def name(self) -> str:
        """The name of its run."""
        return self._name if isinstance(self._name, str) else self._name()

    def begin(self) -> None:
        """Opens the border: calls in this context belong to it from now on."""
        self._entered = _EnteredContext(_BEGUN, self)

    def end(self) -> None:
        """Closes the border, and restores the context as it was before `begin`. Call it in the same context."""
        self.is_over = True
        if self._entered is not None:
            self._entered.leave()

    @contextmanager
    def current(self) -> Generator[None]:
        """Opens the border for a block."""
        self.begin()
        try:
            yield
        finally:
            self.end()


class _AwaitedCoroutines:
    """Coroutines that are about to become tasks, and the border that these tasks share. Tasks that they start inherit
    the same context, but not the border: it is unknown whether anything waits for them."""

    __slots__ = ("border", "coroutines")

    def __init__(self, border: WorkBorder, coroutines: tuple[Any, ...]) -> None:
        self.border, self.coroutines = border, coroutines


_tasks: WeakKeyDictionary[Any, WorkBorder] = WeakKeyDictionary()


def border_begun(where: Context) -> WorkBorder | None:
    """Returns the innermost border opened around this context, which may have ended; None: there is none."""
    border = where.get(_BEGUN)
    return border if isinstance(border, WorkBorder) else None


def border_of_task(where: Context, task: Any) -> WorkBorder:
    """Returns the border of an asyncio task: its own, or that of the task which awaits it. `where`: its context."""
    border = _tasks.get(task)
    if border is None:
        awaited, coroutine = where.get(_AWAITED), task.get_coro()
        if isinstance(awaited, _AwaitedCoroutines) and any(candidate is coroutine for candidate in awaited.coroutines):
            border = awaited.border
        else:
            border = WorkBorder(getattr(coroutine, "__qualname__", None) or task.get_name(), rests=True)
        _tasks[task] = border
    return border


@contextmanager
def awaiting(coroutines: tuple[Any, ...]) -> Generator[None]:
    """Lets these coroutines, if they become tasks inside the block, share the border of the current task, which waits
    for them."""
    border = _border_of_task_here()
    if border is None:
        yield
        return
    entered = _EnteredContext(_AWAITED, _AwaitedCoroutines(border, coroutines))
    try:
        yield
    finally:
        entered.leave()


@contextmanager
def awaiting_thread() -> Generator[None]:
    """Lets a thread that gets a copy of the context inside the block share the border of this task, which waits for
    it."""
    begun = border_begun(otel.get_current())
    border = _border_of_task_here() if begun is None or begun.is_over else None
    if border is None:
        yield
        return
    entered = _EnteredContext(_BEGUN, border)
    try:
        yield
    finally:
        entered.leave()


def _border_of_task_here() -> WorkBorder | None:
    try:
        task = running_task() if runtime.current.groups_calls else None
        return None if task is None else border_of_task(otel.get_current(), task)
    except Exception as error:  # noqa: BLE001 - the guard: a task class of another library
        log_internal_error("find what started a task", error)
        return None


def thread_name() -> str | None:
    """Returns the name of the function that this thread runs, or the thread's name without its number. None in the main
    thread."""
    thread = threading.current_thread()
    if thread is threading.main_thread():
        return None
    name = thread.name
    head, bracket, function = name.partition(" (")
    if bracket and head.startswith("Thread-"):
        return function.rstrip(")")
    return name.rstrip("0123456789_- ") or name
