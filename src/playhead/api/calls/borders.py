"""Borders of work: what starts something whose calls belong together, such as a request or a task of a queue.

A border that has begun stands in OpenTelemetry's context, from which calls, tasks and threads have it.  A task of
asyncio has a border of its own, or that of the task that waits for it with `asyncio.gather`.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from opentelemetry import context as otel
from opentelemetry.context import Context

from playhead.api import runtime
from playhead.api.calls.asyncio_here import running_task
from playhead.api.guard import swallowed

_BEGUN = otel.create_key("playhead-border")
_AWAITED = otel.create_key("playhead-awaited")


class _EnteredContext:
    """OpenTelemetry's context with one more value, until it is left.  Where that happens in another context, as when
    an unfinished coroutine is thrown away, nothing is changed there."""

    __slots__ = ("_before", "_inside")

    def __init__(self, key: str, value: Any) -> None:
        self._before = otel.get_current()
        self._inside = otel.set_value(key, value, self._before)
        otel.attach(self._inside)

    def leave(self) -> None:
        if otel.get_current() is self._inside:
            otel.attach(self._before)


class WorkBorder:
    """What started some work; its calls without an agent are one run."""

    __slots__ = ("_entered", "_name", "group", "is_over", "rests")

    def __init__(self, name: str | Callable[[], str], *, rests: bool = False) -> None:
        """`name`: of the run, asked for when its first call is made.  `rests`: whether it may serve many people one
        after another, so that calls which are far apart are not one run."""
        self._name = name
        self.rests = rests
        self.is_over = False
        """Whether it has ended: what goes on in its context may be somebody else's work."""
        self.group: Any = None
        """What `grouping` keeps of its run."""
        self._entered: _EnteredContext | None = None

    @property
    def name(self) -> str:
        """The name of its run."""
        return self._name if isinstance(self._name, str) else self._name()

    def begin(self) -> None:
        """Calls in this context belong to it from now on."""
        self._entered = _EnteredContext(_BEGUN, self)

    def end(self) -> None:
        """It has ended, in the context in which it began, which is as before."""
        self.is_over = True
        if self._entered is not None:
            self._entered.leave()

    @contextmanager
    def current(self) -> Generator[None]:
        """A block from its beginning to its end."""
        self.begin()
        try:
            yield
        finally:
            self.end()


class _AwaitedCoroutines:
    """Coroutines that are about to become tasks, and whose border they have.  Other tasks have the same context when
    such a task starts them: nobody knows whether anybody waits for those."""

    __slots__ = ("border", "coroutines")

    def __init__(self, border: WorkBorder, coroutines: tuple[Any, ...]) -> None:
        self.border, self.coroutines = border, coroutines


_tasks: WeakKeyDictionary[Any, WorkBorder] = WeakKeyDictionary()


def border_begun(where: Context) -> WorkBorder | None:
    """The innermost border that has begun around this context; None: there is none."""
    found = where.get(_BEGUN)
    return found if isinstance(found, WorkBorder) else None


def border_of_task(where: Context, task: Any) -> WorkBorder:
    """The border of a task of asyncio by itself. `where`: its context."""
    known = _tasks.get(task)
    if known is None:
        awaited, coroutine = where.get(_AWAITED), task.get_coro()
        if isinstance(awaited, _AwaitedCoroutines) and any(each is coroutine for each in awaited.coroutines):
            known = awaited.border
        else:
            known = WorkBorder(getattr(coroutine, "__qualname__", None) or task.get_name(), rests=True)
        _tasks[task] = known
    return known


@contextmanager
def awaiting(coroutines: tuple[Any, ...]) -> Generator[None]:
    """A block in which these coroutines become tasks with the border of the task here, which waits for them."""
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
    """A block in which this task waits for a thread that gets a copy of its context."""
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
    except Exception as error:  # noqa: BLE001 - the guard: a task of another make
        swallowed("find what started a task", error)
        return None


def thread_name() -> str | None:
    """What this thread was started for: the name of its function, or its own without the number. None: it is the main
    thread, which nothing of the program has started."""
    thread = threading.current_thread()
    if thread is threading.main_thread():
        return None
    name = thread.name
    head, bracket, function = name.partition(" (")
    if bracket and head.startswith("Thread-"):
        return function.rstrip(")")
    return name.rstrip("0123456789_- ") or name
