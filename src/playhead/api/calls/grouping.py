"""Finds the run of a call that has no agent around it: a client's call, or an observed tool's.

| where it is made | its run |
|---|---|
| inside any span of OpenTelemetry | the trace: its id is the run's, and the trace's other spans belong to it, too |
| inside a span that another process has asked for, or right in a context from outside | that span, or context |
| inside a border (`borders`): a request, a task of a queue | that border's |
| in a task of asyncio | that of the task's other calls, as long as these are no further apart than a setting says |
| in a script: the main thread, with none but the program's own code around the call's library | the process |
| elsewhere, e.g. in a worker thread, or where a server has called the program | that of an earlier call of the thread
| | that it goes on from, as its messages show (`conversations`), or one of its own |

A server's main thread, or a bot's only task, serves many people one after another: their calls must not be one run.
Nor must what other processes have asked for, however much of it shares a trace: one may hold a thousand requests.
Calls are never one run only because one follows the other.
"""

import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, SpanContext, get_current_span

from playhead.api import runtime
from playhead.api.calls.asyncio_here import running_task
from playhead.api.calls.borders import WorkBorder, border_begun, border_of_task, thread_name
from playhead.api.calls.conversations import AskedMessages, ThreadConversations, continued
from playhead.api.functions.own_code import is_own_code, started_program
from playhead.api.ports import Recorder
from playhead.api.run import ActiveRun

# Traces end without telling: those that were used last are kept.  One that is not finds its run again by its id; what
# it loses is only that a conversation's beginning is hashed again.
_MAX_TRACES = 256
# Spans that have begun and not ended: some are never ended.
_MAX_SPANS = 4_096


@dataclass(frozen=True, slots=True)
class UnattendedCall:
    """A call without an agent. `rewinding` tells one `resume()` from another, and from none; `next_run` gives the run
    that goes on from a record, once; `tool`: the name of a tool; `asked`: the messages of a model call."""

    recorder: Recorder
    where: Context
    around: Span
    rewinding: Any
    next_run: Callable[[], ActiveRun | None]
    tool: str | None = None
    asked: AskedMessages | None = None


@dataclass(slots=True)
class _Group:
    """A run, the record that it continues (None: none), and when its latest call began. `groups`: where it is known."""

    groups: "_Groups"
    run: ActiveRun
    rewinding: Any
    latest_s: float


class _Groups:
    """The runs of this process that have no agent."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()  # a signal's handler may ask a model, too
        self.traces: OrderedDict[Any, _Group] = OrderedDict()
        self.asked_for: OrderedDict[int, int] = OrderedDict()
        """Open spans inside one that another process has asked for → that one, by their ids."""
        self.script = WorkBorder(lambda: started_program() or "script")
        self.conversations = ThreadConversations()


_groups = _Groups()


def run_of_call(call: UnattendedCall) -> tuple[ActiveRun, bool]:
    """Returns the run of a call, and whether it begins with this call."""
    outer = call.around.get_span_context()
    if outer.is_valid:
        return _run_of_span(call, outer)
    border = _border(call.where)
    if border is not None:
        return _run_of_border(call, border)
    groups, finds = _groups, runtime.current.groups_calls and running_task() is None
    if finds and (found := groups.conversations.find(call.recorder, call.rewinding, call.tool, call.asked)) is not None:
        return found, False
    run = call.next_run() or ActiveRun()
    if finds:
        run.name = run.name or thread_name()
        groups.conversations.add(run, call.rewinding)
    return run, True


def _run_of_span(call: UnattendedCall, outer: SpanContext) -> tuple[ActiveRun, bool]:
    key, groups = _key(call.around, outer), _groups
    with groups.mutex:
        group = groups.traces.get(key)
        if group is not None and group.rewinding is call.rewinding:
            groups.traces.move_to_end(key)
            return group.run, False
        run = call.next_run() or _new_run(key, outer)
        groups.traces[key] = _Group(groups, run, call.rewinding, 0)
        groups.traces.move_to_end(key)
        if len(groups.traces) > _MAX_TRACES:
            groups.traces.popitem(last=False)
    return run, True


def _run_of_border(call: UnattendedCall, border: WorkBorder) -> tuple[ActiveRun, bool]:
    now, groups = time.monotonic(), _groups
    with groups.mutex:
        group = _known(border, call.rewinding)
        rested = border.rests and group is not None and now - group.latest_s > runtime.current.task_run_seconds
        if group is None or rested:
            group = _continued(call, border)
        if group is not None:
            group.latest_s, border.group = now, group
            return group.run, False
        run = call.next_run() or ActiveRun()
        border.group = _Group(groups, run, call.rewinding, now)
        if runtime.current.groups_calls:
            run.name = run.name or border.name
    return run, True


def belongs_to_run() -> bool:
    """Whether a call that is made here, without an agent around it, is one of a script, or of a run that such calls
    have begun already."""
    around, groups = get_current_span(), _groups
    outer = around.get_span_context()
    if outer.is_valid:
        return _key(around, outer) in groups.traces
    border = _border(get_current())
    if border is None or border is groups.script:
        return border is not None
    group: _Group | None = border.group
    return group is not None and group.groups is groups


def _continued(call: UnattendedCall, border: WorkBorder) -> _Group | None:
    """What a call goes on from, as its messages show: what this border did before it rested, or one that has ended."""
    if call.asked is None or not runtime.current.groups_calls:
        return None
    for earlier in (border, border_begun(call.where)):
        group = None if earlier is None else _known(earlier, call.rewinding)
        if group is not None and continued(call.recorder, [group.run], call.asked):
            return group
    return None


def _known(border: WorkBorder, rewinding: Any) -> _Group | None:
    group: _Group | None = border.group
    return group if group is not None and group.groups is _groups and group.rewinding is rewinding else None


def _border(where: Context) -> WorkBorder | None:
    settings = runtime.current
    begun = border_begun(where) if settings.groups_calls else None
    if begun is not None and not begun.is_over:
        return begun
    task = running_task()
    if task is not None:
        return border_of_task(where, task) if settings.task_run_seconds > 0 else None
    return _groups.script if _is_script(sys._getframe(1)) else None  # pyright: ignore[reportPrivateUsage]


def _new_run(key: Any, outer: SpanContext) -> ActiveRun:
    if isinstance(key, int):
        return ActiveRun(run_id=f"{outer.trace_id:032x}", is_trace=True)
    run = ActiveRun()
    run.is_request = isinstance(key, tuple)
    return run


def run_around_span(context: SpanContext, *, is_asked_for: bool) -> ActiveRun | None:
    """Returns the run of calls without an agent inside this span, the outermost one of this process, if some were made
    lately; else None. `is_asked_for`: another process has."""
    group = _groups.traces.get(_request_key(context) if is_asked_for else context.trace_id)
    return group.run if group is not None and group.run.is_named_by_span else None


def note_span(context: SpanContext, parent: SpanContext | None) -> None:
    """Notes of a span of the program's own provider that begins whether another process has asked for it, or for one
    around it."""
    known = _groups.asked_for
    if parent is None:
        return
    root = context.span_id if parent.is_remote else known.get(parent.span_id)
    if root is not None:
        known[context.span_id] = root
        if len(known) > _MAX_SPANS:
            known.popitem(last=False)


def forget_span(context: SpanContext) -> None:
    """The span has ended."""
    _groups.asked_for.pop(context.span_id, None)


def _request_key(context: SpanContext) -> tuple[int, int]:
    return context.trace_id, context.span_id


def _key(around: Span, outer: SpanContext) -> Any:
    if outer.is_remote:
        return around  # a context from outside is made anew for each request, with a span that stands for its sender
    note_span(outer, getattr(around, "parent", None))  # it may have begun before its provider was known
    asked_for = _groups.asked_for.get(outer.span_id)
    return outer.trace_id if asked_for is None else (outer.trace_id, asked_for)


def _is_script(frame: FrameType | None) -> bool:
    """Whether only the program's own code is around the library's call: no other library called the program."""
    if threading.current_thread() is not threading.main_thread():
        return False
    own = outermost = None
    while frame is not None:
        file = frame.f_code.co_filename
        if is_own_code(file):
            own = outermost = frame
        elif own is not None and not file.startswith("<frozen"):  # as `python -m` has it
            return False
        frame = frame.f_back
    return outermost is not None and outermost.f_globals.get("__name__") == "__main__"


def forget_groups() -> None:
    """Forgets all runs, so that every call begins one again: when recording starts anew, and in a forked child."""
    global _groups  # noqa: PLW0603 - a lock that another thread held at the fork stays held
    _groups = _Groups()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_groups)
