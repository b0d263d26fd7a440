"""Starts a program again on a recorded run, once or many times: what `playhead resume` and `playhead fork` do.

The request is passed to the program in its environment (see `playhead.rewind`). The exit code is that of the program,
except if the run was stopped (see `playhead.replaying.stops`).
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
from pathlib import Path
from typing import Any

import typer

from playhead.calls.own_code import Launcher
from playhead.cli import output
from playhead.cli.fork_outcomes import NO_SCORE, ProgramResult, judge_of, score_outcomes
from playhead.client import Client
from playhead.client.operations import BlockingClient
from playhead.errors import JournalUnusable, NoRecord, ReplayError, RunStopped, SettingInvalid
from playhead.launch.command import RECORD_COMMANDS, environment, recording_tools
from playhead.model import names
from playhead.model.shares import wilson
from playhead.replaying.lifecycle import check_before_start, has_commands, launch_of, read_record, recorded_functions
from playhead.replaying.stops import StopNote
from playhead.rewind import ASKED, CHOICES
from playhead.settings.sdk import load

# Programs mostly wait for models, but each needs memory.
_AT_A_TIME = 4


def check_choices(options: Mapping[str, str | None]) -> None:
    """Raises SettingInvalid if an option of `resume` or `fork` has a value that it does not accept. None: not given."""
    for option, value in options.items():
        if value is not None and value not in CHOICES[option]:
            expected = " or ".join(CHOICES[option])
            raise SettingInvalid(f"--{option.replace('_', '-')} {value}: expected {expected}")


def start_many(
    program: list[str], request: dict[str, Any], times: int, by: str, ask: Callable[[], BlockingClient]
) -> None:
    """Runs the program `times` times, some at the same time, and prints the outcomes of the forks, and how many have
    another one than the run that they are forked from. Exits with the highest exit code.

    `by`: what counts as an outcome (`fork_outcomes`). `ask` makes a client for scores; one of the journal knows only
    what was recorded before it was made.
    """
    parent, judge = str(request["fork"]), judge_of(by)
    earlier = set[str]() if judge else _forks(ask, parent)
    ended = _run_often(program, request, times)
    # A parent that has not ended would go on live, which the user did not request.
    whole = _has_ended(parent)
    if judge is None:
        forks = sorted(_forks(ask, parent) - earlier)
        if len(forks) < times:
            typer.echo(f"{times - len(forks)} of {times} forks have not arrived: they are not counted", err=True)
        with ask() as client:
            outcomes, [usual] = score_outcomes(client, forks, by), score_outcomes(client, [parent], by)
        whole = whole and not usual.startswith(NO_SCORE)
    else:
        outcomes = [judge(result) for result in ended]
        as_it_was = {**request, "resume": parent, "options": {"unrecorded": request["options"]["unrecorded"]}}
        del as_it_was["fork"]
        usual = judge(_run(program, as_it_was)) if whole else ""
    _print_outcomes(outcomes, usual if whole else None)
    raise typer.Exit(max(result.code for result in ended))


def _run_often(program: list[str], request: dict[str, Any], times: int) -> list[ProgramResult]:
    from rich.console import Console  # noqa: PLC0415 - only for this
    from rich.progress import track  # noqa: PLC0415

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        running = [pool.submit(_run, program, request) for _ in range(times)]
        return [outcome.result() for outcome in track(running, "forks", times, console=Console(stderr=True))]


def _print_outcomes(outcomes: list[str], of_parent: str | None) -> None:
    """Prints how often each outcome came, and how often another one than the parent's (None: it has none), or than the
    most frequent one."""
    if not outcomes:
        return
    seen = Counter(outcomes).most_common()
    for outcome, count in seen:
        output.echo(f"{count:5} x  {outcome}")
    usual = seen[0][0] if of_parent is None else of_parent
    other, total = sum(outcome != usual for outcome in outcomes), len(outcomes)
    low, high = wilson(other, total)
    usually = "the most frequent one (the parent has none)" if of_parent is None else "the parent's"
    output.echo(f"{usually}: {usual}")
    typer.echo(f"another outcome in {other} of {total}: {other / total:.0%} (95 %: {low:.0%} to {high:.0%})")


def _forks(ask: Callable[[], BlockingClient], parent: str) -> set[str]:
    with ask() as client:
        return {run["run"] for run in client.runs(fork_of=parent)}


def _has_ended(run_id: str) -> bool:
    settings = load()
    record = read_record(
        run_id, settings.journal_dir, lambda: Client(settings.collector, settings.api_key, project=settings.project)
    )
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
    done = start(program, request, stdout=subprocess.PIPE)
    return ProgramResult(done.returncode, done.stdout)


def start(program: list[str], request: dict[str, Any], stdout: int | None = None) -> "subprocess.CompletedProcess[str]":
    """Runs the program to its end. Its exit code becomes 76 if the run was stopped, whatever code the program returned.

    Raises ReplayError if the program ends with code 0 without having continued the run; SettingInvalid if it cannot be
    started.
    """
    made, mark = tempfile.mkstemp(prefix="playhead-")
    os.close(made)
    stop = StopNote(Path(f"{mark}.stop"))
    asked = {name: value for name, value in request.items() if name != "record_tools"}
    environ = {**_environment(request), ASKED: json.dumps({**asked, "mark": mark, "stop": f"{mark}.stop"})}
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
        except (NoRecord, JournalUnusable):  # the program may set its journal's folder itself
            return {**os.environ, **recording_tools(os.environ, request.get("record_tools", ()))}
        options = request["options"]
        check_before_start(run_id, record, client, options.get("at"), options.get("unrecorded") or "raise")
    launch = launch_of(run_id, record)
    commands = has_commands(record) or launch == Launcher.RUN_WITH_COMMANDS
    environ = dict(os.environ) if launch is None else environment(os.environ)
    functions = (*recorded_functions(record), *request.get("record_tools", ()))
    return {**environ, **(RECORD_COMMANDS if commands else {}), **recording_tools(os.environ, functions)}


@contextmanager
def _reading() -> Generator[Callable[[], Any]]:
    """Gives a function that returns a client of the collector; the client is made at the first call."""
    clients: list[Client] = []

    def client() -> Client:
        if not clients:
            settings = load()
            clients.append(Client(settings.collector, settings.api_key, project=settings.project))
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
