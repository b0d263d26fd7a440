"""A process that has a run stands still until another one has taken the run over; then it goes on."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import playhead
from playhead.model import names
from playhead.model.span import span_from_json
from tests.support.chaos import effects
from tests.support.chaos.effects import Effects
from tests.support.machines.chain import AGENT, TAKEN_OVER, Machine

# At so many points the main thread can stand still outside of tools.
_POINTS = 12
_HUNG_SECONDS = 300


@dataclass
class Thawed:
    """What came of it; `wrong` is to be empty."""

    name: str
    run_id: str = ""
    elsewhere: bool = False
    resumed: bool = False
    wrong: list[str] = field(default_factory=list[str])


def freeze(
    folder: Path,
    collector: str,
    name: str,
    *,
    elsewhere: bool | None = None,
    resumed: bool | None = None,
) -> Thawed:
    """Freezes the process that has begun a run, or one that has resumed it; another one of its machine, or of another
    machine, takes the run over and ends it; then the frozen one is thawed. By default, which of these is drawn."""
    drawn, thawed = random.Random(name), Thawed(name)
    folder.mkdir(parents=True)
    effects.make(folder / "effects.db")
    database = folder / "effects.db"
    here, there = (Machine(folder / place, collector, database) for place in ("here", "there"))
    thawed.elsewhere = drawn.random() < 0.5 if elsewhere is None else elsewhere
    thawed.resumed = drawn.random() < 0.5 if resumed is None else resumed
    environ = {"SCHEDULE": name, "PLAYHEAD_LINGER_SECONDS": "0.01"}
    if thawed.resumed:
        died = here.run("", **environ, KILL_AT=str(drawn.randrange(1, 8)), DELIVER="30")
        thawed.run_id = died.out.splitlines()[0]
    deliver = "30" if thawed.elsewhere or drawn.random() < 0.5 else "0"
    told = {"FREEZE_AT": str(drawn.randint(1, _POINTS)), "DELIVER": deliver}
    frozen = _start(here, thawed.run_id, environ | told)
    assert frozen.stdout is not None
    thawed.run_id = frozen.stdout.readline().strip()
    said = frozen.stdout.readline()
    try:
        if said != "frozen\n":
            thawed.wrong.append(f"it did not come to stand still: {said}")
            return thawed
        os.waitid(os.P_PID, frozen.pid, os.WSTOPPED)
        taker = there if thawed.elsewhere else here
        taken = taker.run(thawed.run_id, **environ, FORCE="yes")
        if taken.code != 0:
            thawed.wrong.append(f"the other one ended with {taken.code}: {taken.out} {taken.errors[-600:]}")
            return thawed
        done, written, now_ns = Effects(database).look(), _written(here, frozen.pid), time.time_ns()
        frozen.send_signal(signal.SIGCONT)
        out, errors = frozen.communicate(timeout=_HUNG_SECONDS)
        if frozen.returncode != TAKEN_OVER or "was taken over by" not in out:
            thawed.wrong.append(f"it ended with {frozen.returncode}: {out} {errors[-600:]}")
        if Effects(database).look() != done:
            thawed.wrong.append("it has executed something")
        if _written(here, frozen.pid) != written:
            thawed.wrong.append("it has recorded something")
    finally:
        if frozen.poll() is None:
            frozen.kill()
            frozen.communicate()
    for machine in (here, there):
        thawed.wrong += machine.ship()
    _ask_collector(thawed, collector, now_ns)
    return thawed


def _start(machine: Machine, run_id: str, environ: dict[str, str]) -> "subprocess.Popen[str]":
    pipe, command = subprocess.PIPE, [sys.executable, AGENT, run_id]
    return subprocess.Popen(command, env=machine.environ | environ, text=True, stdout=pipe, stderr=pipe)


def _written(machine: Machine, pid: int) -> int:
    """How much a process has written to its journal."""
    return sum(path.stat().st_size for path in machine.journal.glob(f"*-{pid}-*/*.segment"))


def _ask_collector(thawed: Thawed, collector: str, thawed_ns: int) -> None:
    with playhead.Client(collector) as client:
        run: Any = client.run(thawed.run_id)
        if not (run["status"] == "completed" and run["completeness"]["complete"]):
            thawed.wrong.append(f"{thawed.run_id}: {run['status']}, {run['completeness']}")
        for span in client.spans(thawed.run_id):
            if (
                span["attributes"].get(names.RUN_ATTEMPT) != run["attempt"]
                and span_from_json(span).start_ns > thawed_ns
            ):
                thawed.wrong.append(f"the collector has a span of it: {span}")
