"""What all checks of a soak have in common: their seed and length, and programs that are recorded into a collector."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from playhead.client import Client
from playhead_collector.process import CollectorProcess

ROOT = Path(__file__).parents[2]

AGENT = """
from playhead import observe

@observe
def agent(number):
    return tool(number) + 1

@observe(kind="tool")
def tool(number):
    return number
"""
"""The beginning of a program: an agent with one tool, which returns the next number."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """`seed` makes a soak repeatable; `scale` shortens all of its counts and times."""

    seed: int
    scale: float

    def count(self, full: int) -> int:
        """A count of the full soak, scaled; at least 1."""
        return max(1, round(full * self.scale))

    def random(self) -> Random:
        """A generator of its own, so that checks do not depend on which others ran."""
        return Random(self.seed)


def environment(journal: Path, url: str, **settings: str) -> dict[str, str]:
    """The environment of a program that is recorded into `journal` and delivered to the collector at `url`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PLAYHEAD_", "OTEL_"))}
    paths = [str(ROOT / "src"), str(ROOT / "collector"), str(ROOT)]
    return {
        **clean,
        "PYTHONPATH": os.pathsep.join(paths),
        "PLAYHEAD_ENDPOINT": url,
        "PLAYHEAD_JOURNAL_DIR": str(journal),
        **settings,
    }


def run_program(
    program: str,
    env: Mapping[str, str],
    *arguments: str,
    python: Sequence[str] = (sys.executable,),
    seconds: float = 600,
) -> subprocess.CompletedProcess[str]:
    """Runs Python source until its end."""
    command = [*python, "-c", program, *arguments]
    return subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=seconds, check=False)


def ship(env: Mapping[str, str]) -> int:
    """Delivers what is left in a journal's folder. Returns the exit code of `playhead ship`."""
    return subprocess.run(
        [sys.executable, "-m", "playhead", "ship"], env=dict(env), capture_output=True, timeout=600, check=False
    ).returncode


def recorded_runs(collector: CollectorProcess, **where: str) -> list[str]:
    """The ids of the collector's runs that are complete and not running."""
    with Client(collector.url) as client:
        found = client.runs(**where)  # pyright: ignore[reportArgumentType] - conditions are texts here
        return [run["run"] for run in found if _is_whole(run) or _is_whole(client.run(run["run"]))]


def _is_whole(run: Mapping[str, Any]) -> bool:
    """A busy collector may list a run without what came last; one run is brought up to date when it is asked for."""
    return run["completeness"]["complete"] and run["status"] == "completed"
