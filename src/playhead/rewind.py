"""`playhead.resume`, `playhead.fork`, and the rewind that the environment requests; all with this process's settings.

A run may be named by its id, by a part of the id, or as `last`. Which run is meant is found out before anything of it
is read or recorded under its id.
"""

import json
import os
import weakref
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from playhead.calls.own_code import Launcher, NamedFunctions
from playhead.calls.run import NextRun
from playhead.capture.registry import instrumented
from playhead.errors import ClientError, CollectorUnreachable, NoRecord, PlayheadError, ReplayError, SettingInvalid
from playhead.kernel.guard import log
from playhead.model.ids import WHOLE_ID
from playhead.model.objects.interrupts import ExitSentence, reraise_if_for_program
from playhead.recording import RecordingProcess, current_settings, deliver_all, deliver_lanes, flush, lease_client
from playhead.replaying.effects import watch_effects
from playhead.replaying.fork_options import ResumeOptions
from playhead.replaying.lease import LeaseTerms
from playhead.replaying.lifecycle import (
    Prepared,
    RewindContext,
    has_commands,
    launch_of,
    prepare_fork,
    prepare_resume,
    read_record,
    recorded_functions,
)
from playhead.replaying.other_processes import OtherProcesses
from playhead.replaying.policy import Completed, Live, OnDivergence, OnDoubt, Policy, Tools, Unrecorded
from playhead.replaying.starting import RecordedStart
from playhead.replaying.stops import StopNote

CHOICES = {
    "on_divergence": ("raise", "live"),
    "completed": ("raise", "reuse", "rerun"),
    "in_doubt": ("raise", "rerun"),
    "live": ("all", "llm"),
    "tools": ("deny",),
    "other_processes": ("raise", "rerun"),
    "unrecorded": ("raise", "rerun"),
}
"""Options beside PLAYHEAD_RESUME (PLAYHEAD_RESUME_ON_DIVERGENCE, and so on), with their possible values."""
_MAY_BE_FUNCTIONS = {"on_divergence", "in_doubt", "tools"}
ASKED = "PLAYHEAD_REWIND"
"""The variable in which `playhead resume` and `playhead fork` pass their task to the program: a JSON object."""


def resume(
    run_id: str,
    *,
    on_divergence: OnDivergence | None = None,
    completed: Completed | None = None,
    renamed: Mapping[str, str] | None = None,
    new: Sequence[str] | None = None,
    in_doubt: OnDoubt | None = None,
    outcomes: Mapping[int, Any] | Mapping[str, Any] | Mapping[int | str, Any] | None = None,
    live: Live | None = None,
    tools: Tools | None = None,
    other_processes: OtherProcesses | None = None,
    unrecorded: Unrecorded | None = None,
    force: bool = False,
) -> RewindContext:
    """Runs the same code again: `with playhead.resume(run_id) as run: agent("task")`.

    Until the end of the record, calls of models, tools, retrievers and embeddings are answered from it, and their
    arguments are compared; from there the run continues live, as its next attempt.  The record is read from the local
    journal, else from the collector.  `run_id` may also be a part of the id, or "last"; only the collector can find the
    run then.

    `on_divergence`: for a call that differs from the record. "raise" (the default: ReplayDiverged, before anything is
    executed), "live" (one warning; that branch runs live from there), or a function that takes the report and may
    return an outcome.
    `completed`: for a live call of a tool that had completed with the same arguments. "raise" (InDoubt, the default),
    "reuse" (its recorded result), or "rerun"; tools declared idempotent are executed again.
    `renamed`: new paths of observed functions, by their recorded paths: `{"trip/plan": "trip/make_plan"}`.
    `new`: names of functions that the program did not have when the run was recorded; they are executed. Without it, a
    function that is called with the arguments of a missing function counts as renamed, and stops the run.

    `in_doubt`: for a tool call that had begun when the process died. "raise" (InDoubt, the default), "rerun", or a
    function that takes the call and returns its outcome or `playhead.RERUN` (the call's `idempotency_key` is the one
    that the tool had); models and tools declared idempotent are called again.  `outcomes`: outcomes by seq, event id,
    or function (`pay#2`).

    An outcome is `{"result": value}`, `{"error": text or exception}`, or a plain value; for a model `{"message": ...}`
    in the provider's form, or a text.  `force` resumes a run even if another process still runs or resumes it, or if
    its records have not all arrived; that process then executes and records nothing more of it (RunTakenOver).
    Entering the block raises NoRecord or RunAlive.

    Calls that other processes made are not answered from the record, unless they were made for a call that is answered.
    `other_processes`: what to do if such calls would be made again. "raise" (ReplayError, the default), or "rerun".

    `unrecorded`: what to do if models asked for tools that were executed outside the record, so that the program would
    execute them again. "raise" (the default: UnrecordedTools with the list of them, before the block begins), or
    "rerun" (a warning with that list).  Warnings also name commands that the program starts again, and files that it
    changes again, outside of recorded calls; if "raise" is given explicitly, such a command raises InDoubt before it is
    started.

    A fork is resumed as a fork: its outcome and its options are in its record.  These options hold for the calls that
    it shares with its parent; for its own calls, the defaults above hold.  Options given here hold for both.  `live`
    and `tools` are as in `fork`.

    A completed run returns its results again, and executes and records nothing. If the program differs, it raises
    ReplayDiverged, whatever the options are: use `fork` for a new run.
    """
    _check_choices(
        "resume", on_divergence=on_divergence, completed=completed, in_doubt=in_doubt, live=live, tools=tools
    )
    _check_choices("resume", other_processes=other_processes, unrecorded=unrecorded)
    _check_mappings("resume", renamed=renamed, outcomes=outcomes)
    _check_names("resume", new)
    collector = _Collector()

    def make() -> Any:
        settings = current_settings()
        run = whole_run_id(run_id, collector)
        flush(0)  # this process may hold part of the record in memory
        options = ResumeOptions(
            on_divergence,
            completed,
            in_doubt,
            renamed,
            new,
            live,
            tools,
            unrecorded,
            {str(key): outcome for key, outcome in (outcomes or {}).items()},
            settings.replay_wait_seconds,
        )
        terms = LeaseTerms(
            settings.journal_dir,
            partial(lease_client, settings),
            0.0 if settings.endpoint is None else settings.lease_seconds,
            force,
            partial(deliver_all, settings.exit_timeout_seconds),
            RecordingProcess.own_runs,
        )
        others = other_processes or "raise"
        return _checked_and_delivered(
            prepare_resume(run, collector, options=options, terms=terms, other_processes=others)
        )

    return RewindContext(make, collector.close)


def fork(
    run_id: str,
    *,
    at: int | str,
    outcome: object = None,
    live: Live = "all",
    tools: Tools | None = None,
    on_divergence: OnDivergence = "live",
    completed: Completed = "rerun",
    renamed: Mapping[str, str] | None = None,
    new: Sequence[str] | None = None,
    in_doubt: OnDoubt = "rerun",
    other_processes: OtherProcesses = "raise",
    unrecorded: Unrecorded | None = None,
) -> RewindContext:
    """Runs what would have happened: `with playhead.fork(run_id, at=9, outcome={"error": "timeout"}) as run: ...`.

    Makes a new run that shares the record up to the call to which event `at` belongs (a seq, an event's id, or a
    function's name: `pay`, `pay#2`). From that call it continues with `outcome` (in the form that `resume` takes); with
    outcome None it is executed live.  For a model call, the outcome may also change the request: `{"system": text}`, or
    `{"messages": {place: message, text or None}}`; this also applies to later calls that begin with the same messages.
    The parent is unchanged.

    Live calls of a fork are executed, even a tool that had completed in the parent with the same arguments:
    `completed`, `renamed`, `new`, `on_divergence` and `in_doubt` are as in `resume`, with other defaults.
    `other_processes` is as in `resume`, for calls that other processes made before that step.

    With `live="llm"` tools are not executed: they are answered from the record if their arguments match, else by
    `tools`: "deny" (raises ToolDenied, the default), or a function that takes name and arguments, and returns the
    result.  `unrecorded` is as in `resume`.  Entering the block raises NoRecord, and ReplayError for an outcome that
    this call cannot have.
    """
    _check_choices("fork", on_divergence=on_divergence, completed=completed, in_doubt=in_doubt, live=live, tools=tools)
    _check_choices("fork", other_processes=other_processes, unrecorded=unrecorded)
    _check_mappings("fork", renamed=renamed)
    _check_names("fork", new)
    if tools is not None and live == "all":
        raise ReplayError(f"fork(tools={tools!r}) is for live='llm': with live='all' tools are executed")
    if isinstance(at, bool) or not isinstance(at, int | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ReplayError(f"fork(at={at!r}): expected a seq, an event's id, or a function's name")
    collector = _Collector()

    def make() -> Any:
        settings = current_settings()
        run = whole_run_id(run_id, collector)
        flush(0)  # this process may hold part of the record in memory
        how: Tools = "live" if live == "all" else tools or "deny"
        policy = Policy(on_divergence, in_doubt, how, completed=completed, renamed=dict(renamed or {}))
        policy.new, policy.unrecorded = frozenset(new or ()), unrecorded
        policy.branch_wait_seconds = settings.replay_wait_seconds
        how_asked: dict[str, Any] = {"outcome": outcome, "live": live, "unrecorded": unrecorded or "raise"}
        how_asked["other_processes"] = other_processes
        return _checked_and_delivered(
            prepare_fork(run, at, settings.journal_dir, collector, policy=policy, **how_asked)
        )

    return RewindContext(make, collector.close)


def recorded_start(run_id: str) -> RecordedStart:
    """Returns the starting point for a run that continues this one: last checkpoint, state and conversation. Raises
    NoRecord."""
    collector = _Collector()
    run = whole_run_id(run_id, collector)
    flush(0)  # this process may hold part of the record in memory
    start = RecordedStart(run, read_record(run, current_settings().journal_dir, collector))
    weakref.finalize(start, collector.close)  # parts of the record are read later, through this collector
    return start


# --- the rewind that the environment requests -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RequestedRewind:
    """The resume or fork that the environment requests for the first run of this process."""

    request_json: str | None
    """The JSON object of `playhead resume` and `playhead fork`."""
    run_id: str | None
    """The run that PLAYHEAD_RESUME names."""
    options: Mapping[str, str]
    """PLAYHEAD_RESUME_ON_DIVERGENCE and so on, by the names of `resume`'s options."""

    def prepare(self, *, is_recording: bool) -> NextRun:
        """Prepares the resume or fork for the first run that begins in this process. Raises SystemExit if it fails."""
        try:
            return self._prepare(is_recording)
        except Exception as error:
            reraise_if_for_program(error)
            # The user requested this run: beginning a new one instead would execute everything again.
            why = str(error) if isinstance(error, PlayheadError) else f"cannot go on with that run: {error!r}"
            if log.hasHandlers():  # without a handler, the sentence would be on the terminal twice
                log.error("%s", why)
            raise SystemExit(ExitSentence(f"playhead: {why}")) from error

    def _prepare(self, is_recording: bool) -> NextRun:
        for option, value in self.options.items():
            if value not in CHOICES[option]:
                name = f"PLAYHEAD_RESUME_{option.upper()}"
                raise SettingInvalid(f"{name}={value}: expected {' or '.join(CHOICES[option])}")
        if not is_recording:
            raise ReplayError("nothing is recorded here (see the settings with `playhead doctor`), so no run can go on")
        task: dict[str, Any] = (
            json.loads(self.request_json) if self.request_json else {"resume": self.run_id, "options": self.options}
        )
        if mark := task.get("mark"):  # removing the file tells the starting command that its request was read
            Path(mark).unlink(missing_ok=True)
        options: dict[str, Any] = task.get("options", {})
        rewound = resume(task["resume"], **options) if "resume" in task else fork(task["fork"], **options)
        return rewound.waiting(StopNote(Path(task["stop"])) if task.get("stop") else None)


def requested_rewind(environ: MutableMapping[str, str] = os.environ) -> RequestedRewind | None:
    """Returns the resume or fork that PLAYHEAD_RESUME, `playhead resume` or `playhead fork` request of this process;
    None if there is none.

    PLAYHEAD_RESUME_ON_DIVERGENCE and the others in `CHOICES` are the options of PLAYHEAD_RESUME. All variables are
    removed from the environment, so that child processes do not resume the run, too.
    """
    task, run_id = environ.pop(ASKED, None), environ.pop("PLAYHEAD_RESUME", None)
    options = {option: value for option in CHOICES if (value := environ.pop(f"PLAYHEAD_RESUME_{option.upper()}", None))}
    return RequestedRewind(task, run_id, options) if task or run_id else None


# --- parts of resume and fork -----------------------------------------------------------------------------------------


def _check_choices(of: str, **options: object) -> None:
    """Raises ReplayError for an unknown value: with a misspelt one, calls could be executed that must not be."""
    for option, value in options.items():
        choices = CHOICES[option]
        if value is None and (of == "resume" or option in ("tools", "unrecorded")):
            continue
        may_be_a_function = option in _MAY_BE_FUNCTIONS
        if value not in choices and not (may_be_a_function and callable(value)):
            expected = [*map(repr, choices), *(["a function"] if may_be_a_function else [])]
            raise ReplayError(f"{of}({option}={value!r}): expected {' or '.join(expected)}")


def _check_mappings(of: str, **options: object) -> None:
    for option, value in options.items():
        if value is not None and not isinstance(value, Mapping):
            raise ReplayError(f"{of}({option}={value!r}): expected a dictionary")


def _check_names(of: str, new: object) -> None:
    is_list = isinstance(new, list | tuple | set | frozenset)
    if new is not None and not (is_list and all(isinstance(name, str) for name in new)):  # pyright: ignore[reportUnknownVariableType]
        raise ReplayError(f"{of}(new={new!r}): expected a list of names of functions")


def _checked_and_delivered(prepared: Prepared) -> Prepared:
    """Adds the run's lanes of dead processes to the delivery of this process, so that the collector gets the whole run.
    Raises ReplayError if this process does not instrument what the recording did, so that calls would be repeated."""
    run, replay, lease = prepared
    launch, why = launch_of(run.id, replay.record), ""
    if launch is not None and Launcher.name is None and not instrumented():
        why = (
            f"that run was recorded by `{launch}`, which instruments the libraries that the program uses, and in this "
            "process none is: all calls would be made again. Start the program by `playhead resume RUN -- PROGRAM`, "
            "which does what that did, or call playhead.instrument() first"
        )
    elif has_commands(replay.record) and "subprocess" not in instrumented():
        why = (
            "commands of that run were recorded as tools, and in this process they are not: they would be started "
            "again. Set PLAYHEAD_RECORD_COMMANDS=true, start the program by `playhead run --commands`, or call "
            "playhead.instrument('subprocess') first"
        )
    elif missing := sorted({*recorded_functions(replay.record)} - {*NamedFunctions.names}):
        why = (
            f"{', '.join(missing)} of that run were recorded as tools, and in this process they are not: they would be "
            "executed again. Start the program by `playhead resume RUN -- PROGRAM`, which does what the recording did, "
            f"set PLAYHEAD_RECORD_TOOLS={','.join(missing)}, or call playhead.instrument() with these names first"
        )
    if why:
        if lease is not None:
            lease.release()
        raise ReplayError(why)
    watch_effects(str(current_settings().journal_dir.absolute()))
    deliver_lanes(prepared[1].record.lanes)
    return prepared


class _Collector:
    """A client of the collector, created on first use (if the journal lacks the run), and closed with the block."""

    def __init__(self) -> None:
        self._client: Any = None

    def __call__(self) -> Any:
        """Returns the client."""
        from playhead.client import Client  # noqa: PLC0415 - needed only if the journal lacks the run

        if self._client is None:
            settings = current_settings()
            self._client = Client(settings.collector, settings.api_key, project=settings.project)
        return self._client

    def close(self) -> None:
        """Closes the client's connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


# --- which run is meant -----------------------------------------------------------------------------------------------

_MAX_NAMED = 100


def whole_run_id(named: object, client: Callable[[], Any]) -> str:
    """Returns the id of the run. `named`: its id (also written as a UUID), a part of the id, or `last`.

    Asks the collector only for a part or `last`. Raises NoRecord; TypeError if `named` is not a text.
    """
    if not isinstance(named, str):
        raise TypeError(f"a run is named by its id, a text, and not by {named!r}: `playhead runs` lists them")
    if len(named) > _MAX_NAMED or not (named.isascii() and named.isprintable()):
        raise NoRecord(f"{named[:_MAX_NAMED]!r} is no run's id, nor a part of one: `playhead runs` lists them")
    written = named.strip().replace("-", "").lower()
    if WHOLE_ID.fullmatch(written):
        return written
    try:
        return str(client().run(named.strip())["run"])
    except CollectorUnreachable as error:
        raise NoRecord(
            f"{named!r} is not the whole id of a run, which has 32 digits, and what it means only a collector knows: "
            f"{error}"
        ) from error
    except ClientError as error:
        raise NoRecord(str(error)) from error
