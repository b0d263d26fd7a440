"""Options for calls that the record does not answer, and the report of a replay."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from playhead.model import names
from playhead.replaying.divergence import Divergence
from playhead.replaying.recorded_calls import Outcome, RecordedCall


class Rerun:
    """Type of `playhead.RERUN`: the outcome of a call in doubt that had no effect and is executed again.

    For `resume(outcomes=...)`, and as the result of a function given as `in_doubt`.
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
    """What to do with a tool that had completed with the same arguments, after the run has diverged and runs live."""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Recorded path of an enclosing call → its path now."""
    unrecorded: Unrecorded | None = None
    """What to do when the program repeats something that is not recorded. None: no option was given."""
    new: frozenset[str] = frozenset()
    """Names of functions that the program did not have when the run was recorded: they are never taken for renamed
    ones."""
    branch_wait_seconds: float = 1.0
    """How long a call that the record lacks waits for other branches to make the calls that are left of the record."""
    outcomes: dict[str, Any] = field(default_factory=dict[str, Any])
    """Span id → the outcome that a person set, for an unknown outcome or instead of the recorded one."""
    shared: "Policy | None" = None
    """For a fork that is resumed: the policy for the calls that it shares with its parent. None: this policy."""


@dataclass(slots=True)
class ReplayReport:
    """Counts and lists of what happened during a replay."""

    answered: int = 0
    live: int = 0
    in_doubt: list[str] = field(default_factory=list[str])
    divergences: list[Divergence] = field(default_factory=list[Divergence])
    changed_code: list[str] = field(default_factory=list[str])
    """Functions whose source changed since the recording and whose recorded results were still used."""
    repeated: list[str] = field(default_factory=list[str])
    """Commands that were started again and files that were changed again, outside of recorded calls."""


DIVERGENCE_OPTIONS = (
    "It was not executed, and the run is as it was. Resume it with the program as it was; or let the changed part run "
    "live: on_divergence='live' (playhead resume --on-divergence live), where completed='reuse' gives tools that had "
    "completed their recorded results, and completed='rerun' executes them again; or make a new run: playhead.fork(...)"
)


def in_doubt_sentence(call: RecordedCall, arguments: object, why: str | None) -> str:
    """Message for the person who has to decide about a call in doubt. `why`: the call has ended, and this is why its
    result cannot be restored; None: its outcome is not known."""
    if why is not None:
        fact = f"{call.call_path} was executed, and what came of it cannot be given back ({why})"
    elif call.span.end_ns is not None:
        how = call.span.attributes.get(names.OUTCOME, "cancelled")
        fact = f"{call.call_path} was {how}, and nobody knows whether it took effect"
    else:
        fact = f"{call.call_path} had begun when the process died, and nobody knows whether it took effect"
    return (
        f"{fact}; its arguments: {arguments!r}. Look, and then say what came of it (playhead resume --outcome "
        f"{call.span.span_id}=RESULT), or let it run again (in_doubt='rerun', or @observe(idempotent=True) if running "
        "it twice does no harm)"
    )


def command_sentence(command: str) -> str:
    """Message for the person who has to decide about a command that is not a recorded call."""
    return (
        f"the program starts this command again: {command}. It is no recorded call, and the record goes on after it, "
        "so the program started it before. To start it and others again: unrecorded='rerun' (playhead resume "
        "--unrecorded rerun). To record commands as tools next time: playhead run --commands, or "
        "PLAYHEAD_RECORD_COMMANDS=true"
    )


def completed_sentence(call: RecordedCall, arguments: object) -> str:
    """Message for the person who has to decide about a tool that had completed before the run diverged."""
    return (
        f"{call.call_path} had completed with these arguments before the program changed: {arguments!r}. Executing it "
        "again may do the same twice, and its recorded result may be of another state of things: give it that result "
        "(completed='reuse', or playhead resume --completed reuse), or let it run again "
        "(@observe(idempotent=True) if running it twice does no harm, or completed='rerun')"
    )


def recognised_sentence(call: RecordedCall, how: str, kind: str, path: str, arguments: object) -> str:
    """Message for the person who has to decide about a recorded call that a changed program seems to make again, under
    another kind or name. `path` and `kind`: those of the call now."""
    fact = f"{call.call_path} {'had completed' if call.is_settled else 'had begun'} with these arguments: {arguments!r}"
    rerun = "completed='rerun'" if call.is_settled else "in_doubt='rerun'"
    if how == "kind":
        back = f"kind={call.kind!r}" if call.kind != kind else "replay=True"
        return (
            f"{fact}. It was recorded as a {call.kind} that is answered, and is a {kind} now that is executed in each "
            f"attempt: give it {back} back; or, if it may be executed again, {rerun}"
        )
    name = path.rpartition("/")[2]
    return (
        f"{fact}; now {path} is called with them: was {call.name} renamed? If so, resume with "
        f"renamed={{{call.path!r}: {path!r}}} (--renamed {call.path}={path}); if {name} is another function, with "
        f"new=[{name!r}] (--new {name}); if it may be executed again, with {rerun}"
    )


def former_tool_sentence(name: str, kind: str, arguments: object) -> str:
    """Message for a fork in which no tool may be executed, about a function that was recorded as a tool and is none
    now."""
    return (
        f"{name} is called with {arguments!r}: it was recorded as a tool and is a {kind} now, and this run executes no "
        "tools. Give it kind='tool' back, or let tools run with live='all'"
    )


def completed_run_sentence(run_id: str, difference: str, at: str) -> str:
    """Message about a completed run, which only returns its recorded results. `difference`: what the program does that
    is not recorded; `at`: where to fork the run instead."""
    return (
        f"run {run_id} has completed, and only gives its recorded results again; nothing else is executed. To go on "
        f"from it with the changed program, make a new run of it: playhead.fork({run_id!r}, at={at!r}), or "
        f"playhead fork {run_id} --at {at} -- PROGRAM. What differs: {difference}"
    )


def is_open(call: RecordedCall) -> bool:
    """Whether the call has begun and not ended, so that it can continue under its own identity."""
    return call.outcome is Outcome.IN_DOUBT and call.span.end_ns is None
