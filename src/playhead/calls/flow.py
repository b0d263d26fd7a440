"""Flows of execution: one per asyncio task or thread job.

A context variable holds the flow; tasks, `asyncio.to_thread` and `propagate_to_thread` copy it. If the copy is read in
another task or thread than the flow's owner, a new flow begins.
"""

import sys
import threading
import weakref
from contextvars import ContextVar, Token
from typing import Any, Protocol

from playhead.calls.asyncio_here import is_only_task_of, running_loop, task_of


class FlowNumbering(Protocol):
    """The part of a run that flows need."""

    id: str

    def flow_number(self) -> str:
        """Returns a new number with each call, never one that the run's record has."""
        ...


class ExecutionFlow:
    """A flow of execution of one run. `name`: "" for the main flow, else `NUMBER<PARENT NUMBER>`. In a resumed run,
    `reached_order` is the order of the last recorded call that was matched in this flow, and `branched_at_order` the
    parent's `reached_order` when this flow branched off.

    It holds no reference to the run, since it stays in the context of a thread after the run has ended.
    """

    __slots__ = ("__weakref__", "_owner", "branched_at_order", "name", "reached_order", "run_id")

    def __init__(self, run_id: str, owner: object, name: str = "", since: int = 0):
        self.run_id = run_id
        self._owner = owner if isinstance(owner, int) else weakref.ref(owner)
        self.name = name
        self.branched_at_order = since
        self.reached_order = 0

    def is_owned_by(self, owner: object) -> bool:
        """Whether the flow belongs to this task or thread (a thread is given by its ident)."""
        mine = self._owner
        return mine == owner if isinstance(mine, int) else mine() is owner


_FLOW: ContextVar[ExecutionFlow | None] = ContextVar("playhead-flow", default=None)


def main_flow(run: FlowNumbering) -> ExecutionFlow:
    """Creates the main flow of a run, and makes it current."""
    flow = ExecutionFlow(run.id, task_or_thread())
    _FLOW.set(flow)
    return flow


def current_flow(run: FlowNumbering) -> ExecutionFlow:
    """Returns the flow of a call that is about to be made in this run; creates a new one in a new task or thread."""
    owner = task_or_thread()
    parent = _FLOW.get()
    if parent is None or parent.run_id != run.id:
        # Another instrumentation has brought the call's context here without our variable: the parent is unknown, and
        # other calls may arrive the same way, so the flow is not kept.
        return ExecutionFlow(run.id, owner, f"{run.flow_number()}<?")
    if parent.is_owned_by(owner):
        return parent
    flow = ExecutionFlow(run.id, owner, f"{run.flow_number()}<{parent.name.partition('<')[0]}", parent.reached_order)
    _FLOW.set(flow)
    return flow


def current_flow_or_none() -> ExecutionFlow | None:
    """Returns the current flow, to pass to `enter_flow` in another context."""
    return _FLOW.get()


def enter_flow(flow: ExecutionFlow | None) -> Token[ExecutionFlow | None]:
    """Makes the calls in this context part of a new flow that branches off from `flow`, until `leave_flow`."""
    here = _FLOW.get()
    is_called_inline = flow is None or (
        here is not None and here.run_id == flow.run_id and here.is_owned_by(task_or_thread())
    )
    return _FLOW.set(here if is_called_inline else flow)


def leave_flow(token: Token[ExecutionFlow | None]) -> None:
    """Undoes `enter_flow`."""
    _FLOW.reset(token)


def in_event_loop() -> bool:
    """Whether an asyncio or Trio loop runs here, which a blocking call would stop."""
    return running_loop() is not None or _trio_task() is not None


def has_event_loop() -> bool:
    """Whether an asyncio loop runs here."""
    return running_loop() is not None


def is_only_task() -> bool:
    """Whether this is the only unfinished task of its event loop."""
    loop = running_loop()
    return loop is not None and is_only_task_of(loop)


def task_or_thread() -> Any:
    """Returns the task of asyncio or Trio that runs here; without one, the ident of the thread."""
    loop = running_loop()
    task = task_of(loop) if loop is not None else _trio_task() if "trio" in sys.modules else None
    return threading.get_ident() if task is None else task


def _trio_task() -> Any:
    trio: Any = sys.modules.get("trio")
    if trio is None:
        return None
    try:
        return trio.lowlevel.current_task()
    except (RuntimeError, AttributeError):
        return None
