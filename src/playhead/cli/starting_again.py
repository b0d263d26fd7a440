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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from playhead.calls.own_code import Launcher
from playhead.cli import output
from playhead.client import Client
from playhead.errors import JournalUnusable, NoRecord, ReplayError, RunStopped, SettingInvalid
from playhead.launch.command import RECORD_COMMANDS, environment
from playhead.model import names
from playhead.model.shares import wilson
from playhead.replaying.lifecycle import check_before_start, has_commands, launch_of, read_record
from playhead.replaying.stops import StopNote
from playhead.rewind import ASKED, CHOICES
from playhead.settings.sdk import load

# Programs mostly wait for models, but each needs memory.
_AT_A_TIME = 4
_Z = 1.96  # 95 %
_MAX_SHOWN = 100


def check_choices(options: Mapping[str, str | None]) -> None:
    """Raises SettingInvalid if an option of `resume` or `fork` has a value that it does not accept. None: not given."""
    for option, value in options.items():
        if value is not None and value not in CHOICES[option]:
            expected = " or ".join(CHOICES[option])
            raise SettingInvalid(f"--{option.replace('_', '-')} {value}: expected {expected}")


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How one execution of the program ended: its exit code, and the last line of its output."""

    code: int
    line: str


def start_many(program: list[str], request: dict[str, Any], parent: str, times: int) -> None:
    """Runs the program `times` times, some at the same time, and prints how the forks ended, and how many ended in
    another way than the run `parent`. Exits with the highest exit code."""
    from rich.console import Console  # noqa: PLC0415 - only for this
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
    done = start(program, request, stdout=subprocess.PIPE)
    lines = done.stdout.strip().splitlines()
    return ProgramResult(done.returncode, lines[-1] if lines else "")


def start(program: list[str], request: dict[str, Any], stdout: int | None = None) -> "subprocess.CompletedProcess[str]":
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
