"""Finds the run of a call that has no agent around it: a client's call, or an observed tool's.

| where the call is made | its run |
|---|---|
| inside any span of OpenTelemetry | one run per trace: it has the trace's id, and all spans of the trace belong to it |
| inside a span whose parent is remote, or directly in a context from outside | one run per such span or context |
| inside a border (`borders`): a request, a task of a queue | one run per border |
| in a task of asyncio | one run per task, until the task pauses for longer than `task_run_seconds` |
| in a script: the main thread, with only the program's own code around the library | one run per process |
| elsewhere, e.g. in a worker thread, or in code that a server calls | the run of an earlier call of the thread which |
| | this call continues, judged by its messages (`conversations`); else a new run |

A server's main thread, or a bot's only task, serves many people one after another: their calls must not be one run.
Requests of other processes must not be one run either, even in the same trace: a trace may hold a thousand requests.
Calls never become one run only because one follows the other.
"""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from inspect import currentframe
from types import FrameType
from typing import Any

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Span, SpanContext, get_current_span

from playhead.calls import runtime
from playhead.calls.asyncio_here import running_task
from playhead.calls.borders import WorkBorder, border_begun, border_of_task, thread_name
from playhead.calls.conversations import RequestMessages, ThreadConversations, continued
from playhead.calls.own_code import is_own_code, started_program
from playhead.calls.recorder import Recorder
from playhead.calls.run import ActiveRun

# The end of a trace is not announced, so the most recently used traces are kept. A call in a forgotten trace still gets
# the same run id, and only has to hash the beginning of its conversation again.
_MAX_TRACES = 256
# Spans that have begun and not ended: some are never ended.
_MAX_SPANS = 4_096


@dataclass(frozen=True, slots=True)
class UnattendedCall:
    """A call without an agent around it. `rewinding`: identity of the surrounding `resume()` or `fork()`, None without
    one. `next_run`: returns the run to resume or fork on its first call, then None. `tool`: the tool's name if it is
    a tool. `request`: the messages if it is a model call."""

    recorder: Recorder
    where: Context
    around: Span
    rewinding: Any
    next_run: Callable[[], ActiveRun | None]
    tool: str | None = None
    request: RequestMessages | None = None


@dataclass(slots=True)
class _Group:
    """A run, the `resume()` or `fork()` that it was made in (None: in none), and when its latest call began (monotonic
    seconds). `groups`: the registry that it belongs to."""

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
        """Id of each open span below a span with a remote parent → id of that span."""
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
    if (
        finds
        and (match := groups.conversations.find(call.recorder, call.rewinding, call.tool, call.request)) is not None
    ):
        return match, False
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
    """Whether a call without an agent, if made here, would belong to the run of a script, or to a run that such calls
    have already begun."""
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
    """Returns the group whose conversation the call continues, judged by its messages: this border's from before its
    pause, or that of an ended border around it. None: no such group."""
    if call.request is None or not runtime.current.groups_calls:
        return None
    for earlier in (border, border_begun(call.where)):
        group = None if earlier is None else _known(earlier, call.rewinding)
        if group is not None and continued(call.recorder, [group.run], call.request):
            return group
    return None


def _known(border: WorkBorder, rewinding: object) -> _Group | None:
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
    return _groups.script if _is_script(currentframe()) else None


def _new_run(key: object, outer: SpanContext) -> ActiveRun:
    if isinstance(key, int):
        return ActiveRun(run_id=f"{outer.trace_id:032x}", is_trace=True)
    run = ActiveRun()
    run.is_request = isinstance(key, tuple)
    return run


def run_around_span(context: SpanContext, *, is_asked_for: bool) -> ActiveRun | None:
    """Returns the run of the calls without an agent inside this span, the outermost of its trace in this process. None:
    there were no such calls, or the trace was forgotten. `is_asked_for`: the span's parent is in another process."""
    group = _groups.traces.get(_request_key(context) if is_asked_for else context.trace_id)
    return group.run if group is not None and group.run.is_named_by_span else None


def note_span(context: SpanContext, parent: SpanContext | None) -> None:
    """Remembers a span that begins in the program's own provider, if its parent, or the parent of a span around it, is
    in another process."""
    roots = _groups.asked_for
    if parent is None:
        return
    root = context.span_id if parent.is_remote else roots.get(parent.span_id)
    if root is not None:
        roots[context.span_id] = root
        if len(roots) > _MAX_SPANS:
            roots.popitem(last=False)


def forget_span(context: SpanContext) -> None:
    """Forgets a span that has ended."""
    _groups.asked_for.pop(context.span_id, None)


def _request_key(context: SpanContext) -> tuple[int, int]:
    return context.trace_id, context.span_id


def _key(around: Span, outer: SpanContext) -> Any:
    if outer.is_remote:
        return around  # each request has its own context from outside, and so its own placeholder span of the sender
    note_span(outer, getattr(around, "parent", None))  # the span may have begun before its provider was known
    asked_for = _groups.asked_for.get(outer.span_id)
    return outer.trace_id if asked_for is None else (outer.trace_id, asked_for)


def _is_script(frame: FrameType | None) -> bool:
    """Whether only the program's own code is around the library's call: no other library called the program."""
    if threading.current_thread() is not threading.main_thread():
        return False
    own_frame = outermost = None
    while frame is not None:
        file = frame.f_code.co_filename
        if is_own_code(file):
            own_frame = outermost = frame
        elif own_frame is not None and not file.startswith("<frozen"):  # `python -m` has frozen frames outermost
            return False
        frame = frame.f_back
    return outermost is not None and outermost.f_globals.get("__name__") == "__main__"


def forget_groups() -> None:
    """Forgets all runs without an agent, so that new calls begin new ones. Called when recording starts anew, and in a
    forked child."""
    global _groups  # noqa: PLW0603 - a lock that another thread held at the fork stays held
    _groups = _Groups()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_groups)
