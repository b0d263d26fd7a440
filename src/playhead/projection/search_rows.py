"""[projection]: rows for searching tool calls, decisions and errors across runs.  Pure.

A row refers to its event by run and seq; it holds numbers only.  Rows are computed from the events alone, so a growing
run gets the same rows as one that is projected from all its data.  If a call's start is in earlier events, its end is
in `ended`, by the call's span.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import NamedTuple

from playhead.model import event as ev
from playhead.model.state import CANCELLED


class ToolOutcome(IntEnum):
    """How a tool call ended. The numbers are stored in rows: never change them.

    The first four follow from events. `RETURNED_ERROR`: the call completed, but its result reports an error; set by
    code that reads results.
    """

    OPEN, COMPLETED, FAILED, CANCELLED, RETURNED_ERROR = range(5)


DECISIONS: dict[type[ev.Event], int] = {
    ev.AgentHandoff: 1,
    ev.PlanCreated: 2,
    ev.OrchestrationDecision: 3,
    ev.UserInterrupted: 4,
    ev.ApprovalRequested: 5,
    ev.ApprovalGranted: 6,
    ev.ApprovalDenied: 6,
}
"""Kinds of events that are decisions, with their numbers in rows. Add numbers, never change one."""

ERRORS: dict[type[ev.Event], int] = {ev.RunFailed: 1, ev.LlmFailed: 2, ev.ToolFailed: 3, ev.StepCompleted: 4}
"""Kinds of events that report a failure, with their numbers in rows. Add numbers, never change one."""

APPROVED, REFUSED = 1, 2


class ToolCallRow(NamedTuple):
    """A tool call, at the seq of its start. `span`: the call's span id while the call is open."""

    seq: int
    time_ns: int
    tool: int
    agent: int | None
    outcome: ToolOutcome
    span: str | None


class DecisionRow(NamedTuple):
    """A decision; `about`: the agent that took over, or the tool that approval was asked for."""

    seq: int
    time_ns: int
    kind: int
    agent: int | None
    about: int | None
    outcome: int


class ErrorRow(NamedTuple):
    """An error; `about`: the tool, model or step that failed."""

    seq: int
    time_ns: int
    kind: int
    error_type: int | None
    agent: int | None
    about: int | None


@dataclass(slots=True)
class SearchRows:
    """Rows of some events of a run; `ended`: outcomes of calls whose start is not among these events, by span."""

    tool_calls: list[ToolCallRow] = field(default_factory=list[ToolCallRow])
    decisions: list[DecisionRow] = field(default_factory=list[DecisionRow])
    errors: list[ErrorRow] = field(default_factory=list[ErrorRow])
    ended: dict[str, ToolOutcome] = field(default_factory=dict[str, ToolOutcome])


def number_of(name: str | None) -> int | None:
    """The number of a name in rows: the first four bytes of its SHA-256, as a signed integer. None for None."""
    if name is None:
        return None
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:4], signed=True)


def search_rows(events: Iterable[ev.RunEvent]) -> SearchRows:
    """The rows of these events."""
    rows, open_calls = SearchRows(), dict[str | None, int]()
    for event in events:
        agent = number_of(event.actor)
        match event:
            case ev.ToolCalled():
                open_calls[event.span] = len(rows.tool_calls)
                rows.tool_calls.append(_open_call(event, agent))
            case ev.ToolCompleted() | ev.ToolFailed():
                _end(rows, open_calls, event)
            case _:
                pass
        if kind := DECISIONS.get(type(event)):
            rows.decisions.append(
                DecisionRow(event.seq, event.time_ns, kind, agent, number_of(_decided_about(event)), _outcome(event))
            )
        if (kind := ERRORS.get(type(event))) and (error_type := _error_type(event)) is not None:
            about = number_of(_failed(event))
            rows.errors.append(ErrorRow(event.seq, event.time_ns, kind, number_of(error_type), agent, about))
    return rows


def _open_call(event: ev.ToolCalled, agent: int | None) -> ToolCallRow:
    tool = number_of(event.name) or 0
    return ToolCallRow(event.seq, event.time_ns, tool, agent, ToolOutcome.OPEN, event.span)


def _end(rows: SearchRows, open_calls: dict[str | None, int], event: ev.ToolCompleted | ev.ToolFailed) -> None:
    if isinstance(event, ev.ToolCompleted):
        outcome = ToolOutcome.COMPLETED
    else:
        outcome = ToolOutcome.CANCELLED if event.outcome == CANCELLED else ToolOutcome.FAILED
    index = open_calls.pop(event.span, None)
    if index is not None:
        rows.tool_calls[index] = rows.tool_calls[index]._replace(outcome=outcome, span=None)
    elif event.span is not None:
        rows.ended[event.span] = outcome


def _decided_about(event: ev.RunEvent) -> str | None:
    match event:
        case ev.AgentHandoff(to=name) | ev.ApprovalRequested(tool=name):
            return name
        case _:
            return None


def _outcome(event: ev.RunEvent) -> int:
    if isinstance(event, ev.ApprovalGranted):
        return APPROVED
    return REFUSED if isinstance(event, ev.ApprovalDenied) else 0


def _error_type(event: ev.RunEvent) -> str | None:
    """The type of the error that the event reports; None for an event without one."""
    match event:
        case ev.RunFailed() | ev.LlmFailed() | ev.ToolFailed():
            return None if event.outcome == CANCELLED else event.error_type
        case ev.StepCompleted():
            return None if event.outcome == CANCELLED else event.error_type or None
        case _:
            return None


def _failed(event: ev.RunEvent) -> str | None:
    match event:
        case ev.LlmFailed(model=name) | ev.ToolFailed(name=name) | ev.StepCompleted(name=name):
            return name
        case _:
            return None
