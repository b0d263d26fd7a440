"""Commands that run a program again on a recorded run: resume, fork. The program's own code is not changed.

The request is passed to the program in its environment (see `playhead.rewind`). The command's exit code is that of the
program, except if the run was stopped (see `playhead.replaying.stops`).
"""

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from playhead.calls.own_code import Launcher
from playhead.cli import connection, output
from playhead.cli.connection import ask
from playhead.cli.options import Run
from playhead.errors import (
    ClientError,
    CollectorUnreachable,
    JournalUnusable,
    NoRecord,
    ReplayError,
    RunStopped,
    SettingInvalid,
)
from playhead.launch.command import RECORD_COMMANDS, environment
from playhead.model import names
from playhead.model.shares import wilson
from playhead.replaying.lifecycle import check_before_start, has_commands, launch_of, read_record
from playhead.replaying.stops import StopNote
from playhead.rewind import ASKED, CHOICES
from playhead.settings.sdk import load

# Programs mostly wait for models, but each needs memory.
_AT_A_TIME = 4
_MAX_SHOWN = 100
_SPAN_ID_DIGITS = 16
_BEGINS_JSON = ("{", "[", '"')

Program = Annotated[list[str], typer.Argument(help="The program, as it is always started.", show_default=False)]


def resume(
    ctx: typer.Context,
    run: Run,
    program: Program,
    in_doubt: Annotated[
        str | None,
        typer.Option(help="A tool that had begun when the process died: raise (the default), or rerun."),
    ] = None,
    on_divergence: Annotated[
        str | None,
        typer.Option(help="The program asks something else than it did: raise (the default), or live."),
    ] = None,
    completed: Annotated[
        str | None,
        typer.Option(
            help="With --on-divergence live, a tool that had completed with the same arguments: raise (the default), "
            "reuse (its recorded result), or rerun."
        ),
    ] = None,
    live: Annotated[
        str | None,
        typer.Option(
            help="What is executed where the record ends: all, or llm (no tools). A fork goes on as it was made, "
            "another run with all."
        ),
    ] = None,
    tools: Annotated[
        str | None, typer.Option(help="With llm, tools that the record cannot answer: deny (the default).")
    ] = None,
    other_processes: Annotated[
        str | None,
        typer.Option(help="Calls of other processes that would be made again: raise (the default), or rerun."),
    ] = None,
    renamed: Annotated[
        list[str] | None,
        typer.Option(
            help="OLD=NEW: the path of an observed function that has another name or place now. May be given again.",
            show_default=False,
        ),
    ] = None,
    new: Annotated[
        list[str] | None,
        typer.Option(help="A function that the program did not have, and not a renamed one.", show_default=False),
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(help="SEQ_OR_ID=JSON: what came of a call. May be given again.", show_default=False),
    ] = None,
    unrecorded: Annotated[
        str | None,
        typer.Option(
            help="Tools that models asked for and that were executed outside the record: raise (the default: say "
            "which, and stop), or rerun."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Even if another process has it, or has not delivered all: that one is stopped."),
    ] = False,
) -> None:
    """Run a program again where its run ended: recorded calls are answered, the rest goes live.

    playhead resume [OPTIONS] RUN -- python agent.py
    """
    options: dict[str, Any] = {"in_doubt": in_doubt, "live": live, "tools": tools, "other_processes": other_processes}
    options |= {"unrecorded": unrecorded}
    _check_choices(options)
    options |= {"force": force} | _diverged(on_divergence, completed, renamed, new)
    options["outcomes"] = dict(map(_named_outcome, outcome or ()))
    request = {"resume": _run_id(ctx, run), "options": options}
    raise typer.Exit(_start(program, request).returncode)


def fork(
    ctx: typer.Context,
    run: Run,
    program: Program,
    at: Annotated[str, typer.Option(help="The step: its seq, or its event's id.", show_default=False)],
    outcome: Annotated[
        str | None,
        typer.Option(
            help='What comes of it instead: {"result": ...}, {"error": ...}, {"message": ...}, or a value; '
            'or what a model is asked: {"system": "..."}, {"messages": {"2": "..."}}.'
        ),
    ] = None,
    live: Annotated[str, typer.Option(help="What runs live after it: all, or llm (tools are not executed).")] = "all",
    tools: Annotated[str, typer.Option(help="With --live llm, tools that the record cannot answer: deny.")] = "deny",
    in_doubt: Annotated[str, typer.Option(help="A tool whose result cannot be given back: rerun, or raise.")] = "rerun",
    on_divergence: Annotated[
        str, typer.Option(help="Before the step, the program asks something else than it did: live, or raise.")
    ] = "live",
    completed: Annotated[
        str, typer.Option(help="What had completed and goes live all the same: rerun, reuse, or raise.")
    ] = "rerun",
    other_processes: Annotated[
        str, typer.Option(help="Calls of other processes before the step that would be made again: raise, or rerun.")
    ] = "raise",
    renamed: Annotated[
        list[str] | None, typer.Option(help="OLD=NEW, as of `resume`. May be given again.", show_default=False)
    ] = None,
    new: Annotated[
        list[str] | None, typer.Option(help="A new function, as of `resume`. May be given again.", show_default=False)
    ] = None,
    unrecorded: Annotated[
        str | None, typer.Option(help="Tools that were executed outside the record, as of `resume`: raise, or rerun.")
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="So many forks, some at the same time, and a summary.")] = 1,
) -> None:
    """Run a program again up to a step, and on from there with another outcome, as a new run.

    playhead fork [OPTIONS] RUN --at 9 -- python agent.py
    """
    chosen = {"in_doubt": in_doubt, "other_processes": other_processes, "unrecorded": unrecorded}
    _check_choices({"live": live, "tools": tools, **chosen})
    options: dict[str, Any] = {"at": at, "live": live}
    options |= chosen | _diverged(on_divergence, completed, renamed, new)
    options["tools"] = tools if live == "llm" else None
    if outcome is not None:
        options["outcome"] = _outcome(outcome)
    run_id = _run_id(ctx, run)
    if at.isdecimal() and len(at) < _SPAN_ID_DIGITS:
        options["at"] = _span_at(ctx, run_id, int(at))
    request = {"fork": run_id, "options": options}
    if times == 1:
        raise typer.Exit(_start(program, request).returncode)
    _run_many(program, request, run_id, times)


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How one execution of the program ended: its exit code, and the last line of its output."""

    code: int
    line: str


def _run_many(program: list[str], request: dict[str, Any], parent: str, times: int) -> None:
    from rich.console import Console  # noqa: PLC0415 - `--help` does without it
    from rich.progress import track  # noqa: PLC0415

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        running = [pool.submit(_run, program, request) for _ in range(times)]
        ended = [outcome.result() for outcome in track(running, "forks", times, console=Console(stderr=True))]
    seen = Counter(ended).most_common()
    for outcome, count in seen:
        output.echo(f"{count:5} x  exit {outcome.code}  {outcome.line[:_MAX_SHOWN]}")
    # A parent that has not ended would go on live, which the user did not request.
    whole = _has_ended(parent)
    as_it_was = {"resume": parent, "options": {"unrecorded": request["options"]["unrecorded"]}}
    usual = _run(program, as_it_was) if whole else seen[0][0]
    other = sum(outcome != usual for outcome in ended)
    low, high = wilson(other, times)
    usually = "the parent's" if whole else "the most frequent one (the parent has not ended)"
    output.echo(f"{usually}: exit {usual.code}  {usual.line[:_MAX_SHOWN]}")
    typer.echo(f"another outcome in {other} of {times}: {other / times:.0%} (95 %: {low:.0%} to {high:.0%})")
    raise typer.Exit(max(outcome.code for outcome in ended))


def _has_ended(run_id: str) -> bool:
    from playhead.client import Client  # noqa: PLC0415 - `--help` does without an HTTP library

    settings = load()
    record = read_record(run_id, settings.journal_dir, lambda: Client(settings.collector, settings.api_key))
    # A root that is a model or tool call does not end the run: other calls may follow. A fork's record also has its
    # parent's spans.
    return any(
        names.RUN_ROOT in span.attributes
        and span.attributes.get(names.KIND) not in names.CALL_KINDS
        and span.attributes.get(names.RUN_ID) == run_id
        and span.end_ns is not None
        for span in record.spans
    )


def _run(program: list[str], request: dict[str, Any]) -> ProgramResult:
    done = _start(program, request, stdout=subprocess.PIPE)
    lines = done.stdout.strip().splitlines()
    return ProgramResult(done.returncode, lines[-1] if lines else "")


def _start(
    program: list[str], request: dict[str, Any], stdout: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """Runs the program to its end. Its exit code becomes 76 if the run was stopped, whatever code the program returned.

    Raises ReplayError if the program ends with code 0 without having continued the run; SettingInvalid if it cannot be
    started.
    """
    made, mark = tempfile.mkstemp(prefix="playhead-")
    os.close(made)
    stop = StopNote(Path(f"{mark}.stop"))
    environ = {**_environment(request), ASKED: json.dumps({**request, "mark": mark, "stop": f"{mark}.stop"})}
    try:
        with _interrupts_are_the_programs():
            done = subprocess.run(program, env=environ, stdout=stdout, text=True, check=False)  # noqa: S603 - the user's own
        if done.returncode == 0 and Path(mark).exists():
            raise ReplayError(
                f"{' '.join(program)} has ended without going on with the run: it has made no observed call, or did "
                "not get the environment that it was started with; give the program that was recorded, after --"
            )
        if (why := stop.read()) is not None:
            done.returncode = RunStopped.EXIT_CODE
            if why:
                typer.echo(f"playhead: {why}", err=True)
        return done
    except OSError as error:
        raise SettingInvalid(
            f"{program[0]} cannot be started ({error.strerror}): give the program as you always start it, after --"
        ) from error
    finally:
        Path(mark).unlink(missing_ok=True)
        stop.delete()


def _environment(request: dict[str, Any]) -> dict[str, str]:
    """Returns the environment for the program, with the same recording options as when the run was recorded. Raises
    ReplayError if the run cannot be continued."""
    run_id = str(request.get("resume") or request.get("fork"))
    with _reading() as client:
        try:
            record = read_record(run_id, load().journal_dir, client)
        except (NoRecord, JournalUnusable):
            return dict(os.environ)  # the program may set its journal's folder itself
        options = request["options"]
        check_before_start(run_id, record, client, options.get("at"), options.get("unrecorded") or "raise")
    launch = launch_of(run_id, record)
    commands = has_commands(record) or launch == Launcher.RUN_WITH_COMMANDS
    environ = dict(os.environ) if launch is None else environment(os.environ)
    return {**environ, **RECORD_COMMANDS} if commands else environ


@contextmanager
def _reading() -> Generator[Callable[[], Any]]:
    """Gives a function that returns a client of the collector; the client is made at the first call."""
    from playhead.client import Client  # noqa: PLC0415 - `--help` does without an HTTP library

    clients: list[Client] = []

    def client() -> Client:
        if not clients:
            settings = load()
            clients.append(Client(settings.collector, settings.api_key))
        return clients[0]

    try:
        yield client
    finally:
        for open_client in clients:
            open_client.close()


@contextmanager
def _interrupts_are_the_programs() -> Generator[None]:
    """Leaves Ctrl-C to the program, which also gets the signal and may take its time to end; `subprocess.run` would
    kill it soon."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _leave_it_to_the_program)  # not SIG_IGN: the program would inherit that
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave_it_to_the_program(number: int, frame: object) -> None:
    """Does nothing: the program gets the same signal."""


def _run_id(ctx: typer.Context, run: str) -> str:
    if len(run) == 32:  # a whole id needs no request: the journal may have the run
        return run
    try:
        with ask(ctx) as client:
            return connection.run_id(client, run)
    except CollectorUnreachable as error:
        raise CollectorUnreachable(f"{error}; a run's whole id needs none where its journal is") from None


def _span_at(ctx: typer.Context, run_id: str, seq: int) -> int | str:
    """Returns the span id of this event; the seq if the event cannot be read here, since the program may use another
    journal.

    Raises NoRecord if the run has no such event, or if the event belongs to no call.
    """
    try:
        with ask(ctx) as client:
            events = list(client.events(run_id, after=max(seq, 1) - 1, limit=1))
    except ClientError:
        return seq  # the program looks it up in its journal, and reports if that fails
    if not events or events[0]["seq"] != seq or not events[0]["span"]:
        raise NoRecord(f"run {run_id} has no call at {seq}; see `playhead events {run_id}` for what it has")
    return events[0]["span"]


def _named_outcome(text: str) -> tuple[str, Any]:
    event, equals, outcome = text.partition("=")
    if not equals or not event:
        raise SettingInvalid(f"--outcome {text}: expected SEQ_OR_ID=JSON, for example 9='{{\"result\": 5}}'")
    return event, _outcome(outcome)


def _diverged(
    on_divergence: str | None, completed: str | None, renamed: list[str] | None, new: list[str] | None
) -> dict[str, Any]:
    _check_choices({"on_divergence": on_divergence, "completed": completed})
    paths: dict[str, str] = {}
    for pair in renamed or ():
        old, _, now = pair.partition("=")
        if not old or not now:
            raise SettingInvalid(f"--renamed {pair}: expected OLD=NEW, for example trip/plan=trip/make_plan")
        paths[old] = now
    return {"on_divergence": on_divergence, "completed": completed, "renamed": paths, "new": new}


def _outcome(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] in _BEGINS_JSON:
            expected = 'JSON such as {"result": 5} or {"error": "timeout"}, quoted for your shell, or a plain text'
            raise SettingInvalid(
                f"--outcome {text}: this begins like JSON and is none ({error}); expected {expected} "
                '(a text that begins with {, [ or " has to be a JSON string)'
            ) from error
        return text  # a plain text: the result of a tool, or the answer of a model


def _check_choices(options: Mapping[str, str | None]) -> None:
    for option, value in options.items():
        if value is not None and value not in CHOICES[option]:
            expected = " or ".join(CHOICES[option])
            raise SettingInvalid(f"--{option.replace('_', '-')} {value}: expected {expected}")
