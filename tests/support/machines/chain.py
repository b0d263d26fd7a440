"""One chain: the agent is killed on one of two machines, resumed on either, and killed again, until it is done."""

import os
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import playhead
from playhead.export.dead_lane_delivery import ship_orphans
from playhead.settings.sdk import load
from tests.support.chaos import effects
from tests.support.chaos.effects import Effects
from tests.support.programs.processes import Ended, run

_MOST_POINTS = 60
_MOST_ATTEMPTS = 40
_SETTLED_SECONDS = 180.0
_LEASE_SECONDS = "1"
REFUSED, TAKEN_OVER = 3, 4

AGENT = Path(__file__).with_name("agent.py")


class Machine:
    """Processes that share a journal."""

    def __init__(self, folder: Path, collector: str, database: Path):
        folder.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.folder, self.journal = folder, folder / "journal"
        self.environ = kept | path | {"PLAYHEAD_JOURNAL_DIR": str(self.journal), "PLAYHEAD_ENDPOINT": collector}
        self.environ |= {"PLAYHEAD_LEASE_SECONDS": _LEASE_SECONDS, "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "30"}
        self.environ["EFFECTS"] = str(database)

    def run(self, run_id: str, **environ: str) -> Ended:
        """The agent to its end; with a run's id it goes on with that."""
        return run(AGENT, run_id, environ=self.environ | environ)

    def ship(self) -> list[str]:
        """What its dead processes have left is delivered, as `playhead ship` does it. Returns what did not go well."""
        report = ship_orphans(self.journal, load(environ=self.environ))
        is_well = (report.left, report.dead_letters, report.problem) == (0, 0, "")
        return [] if is_well else [f"{self.folder.name}: {report}"]


@dataclass
class CheckResult:
    """What came of one chain; `wrong` is to be empty."""

    name: str
    run_id: str = ""
    attempts: int = 0
    kills: int = 0
    refused: int = 0
    forced: int = 0
    moved: int = 0
    """Attempts on another machine than the one before."""
    wrong: list[str] = field(default_factory=list[str])


class Chain:
    """The attempts at one run."""

    def __init__(self, folder: Path, collector: str, name: str, *, may_force: bool = False):
        self.checked = CheckResult(name)
        self._drawn = random.Random(name)
        self._collector = collector
        self._may_force = may_force
        folder.mkdir(parents=True)
        effects.make(folder / "effects.db")
        self._effects = Effects(folder / "effects.db")
        database = folder / "effects.db"
        self._machines = [Machine(folder / place, collector, database) for place in ("here", "there")]

    def run(self) -> CheckResult:
        """Until it is done."""
        last: Machine | None = None
        wanted: Machine | None = None
        while self.checked.attempts < _MOST_ATTEMPTS:
            machine = wanted or self._drawn.choice(self._machines)
            ended = self._attempt(machine)
            wanted = None
            if ended.code == REFUSED:
                wanted = machine if self._refused(ended.out.splitlines()[-1]) else None
                continue
            self.checked.moved += last is not None and machine is not last
            last = machine
            if not self.checked.run_id:
                self.checked.run_id = ended.out.splitlines()[0]
            if ended.code == -9:
                self.checked.kills += 1
            elif ended.code == 0:
                self._look()
                return self.checked
            else:
                self.checked.wrong.append(f"exit {ended.code}: {ended.errors[-600:]}")
                return self.checked
        self.checked.wrong.append("not done")
        return self.checked

    def _attempt(self, machine: Machine) -> Ended:
        drawn, first = self._drawn, not self.checked.run_id
        self.checked.attempts += 1
        environ = {"SCHEDULE": str(drawn.random())}
        if drawn.random() < 0.8 or first:
            environ["KILL_AT"] = str(drawn.randrange(1, _MOST_POINTS // (1 if first else 2)))
        environ["MAY_FORCE"] = "yes" if self._may_force else ""
        environ["DELIVER"] = drawn.choice(["0", "0", "30"])
        environ["PLAYHEAD_LINGER_SECONDS"] = drawn.choice(["0.01", "0.05", "60"])
        if self._may_force and drawn.random() < 0.3:
            environ["FORCE"] = "yes"
            self.checked.forced += 1
        return machine.run(self.checked.run_id, **environ)

    def _refused(self, said: str) -> bool:
        """The message names who has the run; then that machine delivers, or time passes. Returns whether all was
        delivered."""
        self.checked.refused += 1
        reasons = ("still sending", "process ", "the collector does not help", "nor in the collector")
        if not any(words in said for words in reasons):
            self.checked.wrong.append(f"nobody is named: {said}")
        if self._drawn.random() < 0.5:
            for machine in self._machines:
                self.checked.wrong += machine.ship()
            return True
        time.sleep(0.5)
        return False

    def _look(self) -> None:
        for machine in self._machines:
            self.checked.wrong += machine.ship()
        done = self._effects.look().effects
        twice = {what: count for what, count in done.items() if count > 1}
        if twice and not self.checked.forced:
            self.checked.wrong.append(f"executed more than once: {twice}")
        with playhead.Client(self._collector) as client:
            until = time.monotonic() + _SETTLED_SECONDS
            run: Any = client.run(self.checked.run_id)
            while not (run["status"] == "completed" and run["completeness"]["complete"]):
                if time.monotonic() > until:
                    self.checked.wrong.append(f"{self.checked.run_id}: {run['status']}, {run['completeness']}")
                    break
                time.sleep(0.2)
                run = client.run(self.checked.run_id)
            completed = Counter(event["kind"] for event in client.events(self.checked.run_id))["run_completed"]
        if completed != 1:
            self.checked.wrong.append(f"{completed} times completed")
