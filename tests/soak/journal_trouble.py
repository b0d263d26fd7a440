"""What happens to a program's journal while it is recorded: its folder is removed, or its file system becomes read-only
or full. The program goes on, and what it recorded is delivered or counted as lost.

Mounting needs root and Linux; without these, the checks that mount say so.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from playhead.client import Client
from playhead_collector.process import CollectorProcess
from tests.soak.conditions import Conditions, environment, run_program
from tests.support.bar import Row, at_most, not_measured

_CALLS = 2_000

# Half of the calls, then the trouble, then the other half; answers are checked, and what was lost is said.
PROGRAM = """
import json, shutil, subprocess, sys
import playhead
from playhead import observe

@observe(kind="tool")
def double(number):
    return 2 * number

count, trouble = int(sys.argv[1]), json.loads(sys.argv[2])
wrong = 0
with playhead.run("soak") as run:
    for number in range(count):
        if number == count // 2:
            playhead.flush(timeout=30)
            subprocess.run(trouble, check=True)
        wrong += double(number) != 2 * number
whole = playhead.flush(timeout=60)
print(json.dumps({"run": run.id, "wrong": wrong, "flushed": bool(whole), "counters": playhead.counters()}, default=str))
"""


def measure(conditions: Conditions) -> Iterator[Row]:
    """Wrong answers of the program, and calls that are neither in the collector nor counted."""
    count = conditions.count(_CALLS)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        yield from _with_trouble("folder removed", journal, ["rm", "-rf", str(journal)], count)
    for name, mounted, trouble in (
        ("read-only file system", "size=64m", ["mount", "-o", "remount,ro", "FOLDER"]),
        ("full file system", "size=8m", ["dd", "if=/dev/zero", "of=FOLDER/filler", "bs=1M", "count=64"]),
    ):
        if os.geteuid() != 0 or sys.platform != "linux":
            yield not_measured("journal", name, "mounting needs root on Linux")
            continue
        with _mounted(mounted) as place:
            command = [part.replace("FOLDER", str(place)) for part in trouble]
            shell = ["sh", "-c", " ".join(command) + " >/dev/null 2>&1 || true"]
            yield from _with_trouble(name, place / "journal", shell, count)


def _with_trouble(name: str, journal: Path, trouble: list[str], count: int) -> Iterator[Row]:
    with CollectorProcess() as collector:
        env = environment(journal, collector.url)
        done = run_program(PROGRAM, env, str(count), orjson.dumps(trouble).decode())
        if done.returncode:
            yield at_most("journal", f"{name}: exit code", done.returncode, 0, unit="", against=done.stderr[-300:])
            return
        said: dict[str, Any] = orjson.loads(done.stdout)
        with Client(collector.url) as client:
            arrived: int = client.run(said["run"])["tool_calls"]
    lost = count - arrived
    counted = sum(value for key, value in said["counters"].items() if key.endswith("_lost") and isinstance(value, int))
    yield at_most("journal", f"{name}: wrong answers", said["wrong"], 0, unit="", against=f"{count:,} calls")
    silent = lost if not counted and said["flushed"] else 0
    against = f"{arrived:,} arrived, {counted:,} records counted as lost, flush() said {said['flushed']}"
    yield at_most("journal", f"{name}: calls lost without a word", silent, 0, unit="", against=against)


@contextmanager
def _mounted(options: str) -> Iterator[Path]:
    """A file system in memory, on a folder of its own, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
