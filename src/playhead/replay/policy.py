"""Options for calls that the record does not answer, and the report of a replay."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from playhead.model import names
from playhead.replay.matching.divergence import Divergence
from playhead.replay.matching.recorded_calls import Outcome, RecordedCall


class Rerun:
    """Type of `playhead.RERUN`: the outcome of a call in doubt that took no effect and is executed again.

    For `resume(outcomes=...)`, and what a function given as `in_doubt` returns.
    """


RERUN = Rerun()

OnDivergence = Literal["live", "raise"] | Callable[[Divergence], Any]
OnDoubt = Literal["rerun", "raise"] | Callable[[RecordedCall], Any]
Completed = Literal["raise", "reuse", "rerun"]
Tools = Literal["live", "deny"] | Callable[[str, Any], Any]
Live = Literal["all", "llm"]
Unrecorded = Literal["raise", "rerun"]


@dataclass(slots=True)
class Policy:
    """Options of resume and fork: what to do where the record has no answer."""

    on_divergence: OnDivergence = "raise"
    in_doubt: OnDoubt = "raise"
    tools: Tools = "live"
    completed: Completed = "raise"
    """Of a tool that had completed with the same arguments, where the run has diverged and goes on live."""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Paths of enclosing calls, as recorded → as they are now."""
    unrecorded: Unrecorded | None = None
    """Of what the program does again and the record does not have.  None: nothing was said."""
    new: frozenset[str] = frozenset()
    """Names of functions that the program did not have when it was recorded: never taken for renamed ones."""
    branch_wait_seconds: float = 1.0
    """How long a call that the record does not have waits for other branches to come for what is left of the record."""
    outcomes: dict[str, Any] = field(default_factory=dict[str, Any])
    """Span id → an outcome that stands in for what is not known, or for what was."""
    shared: "Policy | None" = None
    """Of a fork that is resumed: what holds for the calls that it shares with its parent, which it was forked with.
    None: the same as for its own."""


@dataclass(slots=True)
class ReplayReport:
    """Counts and lists of what happened during a replay."""

    answered: int = 0
    live: int = 0
    in_doubt: list[str] = field(default_factory=list[str])
    divergences: list[Divergence] = field(default_factory=list[Divergence])
    changed_code: list[str] = field(default_factory=list[str])
    """Functions that are not what they were, and whose recorded results were given all the same."""
    repeated: list[str] = field(default_factory=list[str])
    """Commands that were started again, and files that were changed again, outside of recorded calls."""


DIVERGENCE_OPTIONS = (
    "It was not executed, and the run is as it was. Resume it with the program as it was; or let the changed part run "
    "live: on_divergence='live' (playhead resume --on-divergence live), where completed='reuse' gives tools that had "
    "completed their recorded results, and completed='rerun' executes them again; or make a new run: playhead.fork(...)"
)


def in_doubt_sentence(call: RecordedCall, arguments: Any, why: str | None) -> str:
    """Message for the person who has to decide. `why`: the call is known to have ended, but its result cannot be given
    back.
    """
    if why is not None:
        what = f"{call.call_path} was executed, and what came of it cannot be given back ({why})"
    elif call.span.end_ns is not None:
        how = call.span.attributes.get(names.OUTCOME, "cancelled")
        what = f"{call.call_path} was {how}, and nobody knows whether it took effect"
    else:
        what = f"{call.call_path} had begun when the process died, and nobody knows whether it took effect"
    return (
        f"{what}; its arguments: {arguments!r}. Look, and then say what came of it (playhead resume --outcome "
        f"{call.span.span_id}=RESULT), or let it run again (in_doubt='rerun', or @observe(idempotent=True) if running "
        "it twice does no harm)"
    )


def command_sentence(command: str) -> str:
    """Message for the person who has to decide about a command that is no recorded call."""
    return (
        f"the program starts this command again: {command}. It is no recorded call, and the record goes on after it, "
        "so the program started it before. To start it and others again: unrecorded='rerun' (playhead resume "
        "--unrecorded rerun). To record commands as tools next time: playhead run --commands, or "
        "PLAYHEAD_RECORD_COMMANDS=true"
    )


def completed_sentence(call: RecordedCall, arguments: Any) -> str:
    """Message for the person who has to decide about a tool that had completed before the run diverged."""
    return (
        f"{call.call_path} had completed with these arguments before the program changed: {arguments!r}. Executing it "
        "again may do the same twice, and its recorded result may be of another state of things: give it that result "
        "(completed='reuse', or playhead resume --completed reuse), or let it run again "
        "(@observe(idempotent=True) if running it twice does no harm, or completed='rerun')"
    )


def recognised_sentence(call: RecordedCall, how: str, kind: str, path: str, arguments: Any) -> str:
    """Message for the person who has to decide about a call that a changed program seems to make again, though it is
    not answered: `path` and `kind` are what it is called now."""
    what = f"{call.call_path} {'had completed' if call.is_settled else 'had begun'} with these arguments: {arguments!r}"
    rerun = "completed='rerun'" if call.is_settled else "in_doubt='rerun'"
    if how == "kind":
        back = f"kind={call.kind!r}" if call.kind != kind else "replay=True"
        return (
            f"{what}. It was recorded as a {call.kind} that is answered, and is a {kind} now that is executed in each "
            f"attempt: give it {back} back; or, if it may be executed again, {rerun}"
        )
    name = path.rpartition("/")[2]
    return (
        f"{what}; now {path} is called with them: was {call.name} renamed? If so, resume with "
        f"renamed={{{call.path!r}: {path!r}}} (--renamed {call.path}={path}); if {name} is another function, with "
        f"new=[{name!r}] (--new {name}); if it may be executed again, with {rerun}"
    )


def former_tool_sentence(name: str, kind: str, arguments: Any) -> str:
    """Message for a fork in which no tool may be executed, about a call that is none any more."""
    return (
        f"{name} is called with {arguments!r}: it was recorded as a tool and is a {kind} now, and this run executes no "
        "tools. Give it kind='tool' back, or let tools run with live='all'"
    )


def completed_run_sentence(run_id: str, what: str, at: str) -> str:
    """A run that has completed only gives its results again."""
    return (
        f"run {run_id} has completed, and only gives its recorded results again; nothing else is executed. To go on "
        f"from it with the changed program, make a new run of it: playhead.fork({run_id!r}, at={at!r}), or "
        f"playhead fork {run_id} --at {at} -- PROGRAM. What differs: {what}"
    )


def is_open(call: RecordedCall) -> bool:
    """Whether the call has begun and never ended: it can go on under its own identity."""
    return call.outcome is Outcome.IN_DOUBT and call.span.end_ns is None
