"""A collector that is frozen, replaced while it takes spans, or without space: nothing acknowledged is lost."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx

from playhead.outbound.otlp import traces_request
from playhead_collector.process import CollectorProcess
from tests.soak.conditions import AGENT, Conditions, environment, recorded_runs, run_program, ship
from tests.support.bar import Row, at_least, at_most, not_measured
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, send_content

_SECONDS = 60

PROGRAM = f"""{AGENT}
import sys, time

until, longest = time.monotonic() + float(sys.argv[1]), 0.0
number = 0
while time.monotonic() < until:
    began = time.perf_counter()
    assert agent(number) == number + 1
    longest = max(longest, time.perf_counter() - began)
    number += 1
    time.sleep(0.02)
print(number, longest)
"""


def measure(conditions: Conditions) -> Iterator[Row]:
    """Three troubles, each under traffic."""
    seconds = float(conditions.count(_SECONDS))
    yield from _frozen(seconds)
    yield from _replaced(seconds)
    yield from _without_space(seconds)


def _frozen(seconds: float) -> Iterator[Row]:
    """The collector is stopped by SIGSTOP for a third of the time while a program is recorded."""
    with tempfile.TemporaryDirectory() as folder, CollectorProcess() as collector:
        env = environment(Path(folder), collector.url)
        stop, go_on = (partial(os.kill, collector.pid, each) for each in (signal.SIGSTOP, signal.SIGCONT))
        with _later(seconds / 3, stop), _later(2 * seconds / 3, go_on):
            done = run_program(PROGRAM, env, str(seconds))
        yield from _whole("frozen collector", done, env, collector)


def _replaced(seconds: float) -> Iterator[Row]:
    """The collector is ended and started anew on the same port and data three times, as an upgrade does it."""
    with tempfile.TemporaryDirectory(prefix="playhead-soak-") as data, tempfile.TemporaryDirectory() as folder:
        Path(data).chmod(0o755)  # as root, Postgres runs as somebody else
        first = CollectorProcess(data_dir=Path(data)).start()
        port = int(first.url.rpartition(":")[2])
        current = [first]

        def replace() -> None:
            current[0].stop()
            current[0] = CollectorProcess(data_dir=Path(data), port=port).start()

        env = environment(Path(folder), first.url)
        try:
            with _later(seconds / 4, replace), _later(seconds / 2, replace), _later(3 * seconds / 4, replace):
                done = run_program(PROGRAM, env, str(seconds))
            yield from _whole("collector replaced three times", done, env, current[0])
        finally:
            current[0].stop()


def _whole(
    name: str, done: "subprocess.CompletedProcess[str]", env: dict[str, str], at: CollectorProcess
) -> Iterator[Row]:
    if done.returncode:
        yield at_most("collector", f"{name}: exit code", done.returncode, 0, unit="", against=done.stderr[-300:])
        return
    calls, longest = done.stdout.split()
    ship(env)
    arrived = len(recorded_runs(at))
    yield at_most("collector", f"{name}: runs lost", int(calls) - arrived, 0, unit="", against=f"{calls} runs")
    yield at_most("collector", f"{name}: longest call", float(longest) * 1e3, 1_000, unit="ms", against="")


def _without_space(seconds: float) -> Iterator[Row]:
    """Postgres' data on a file system of 600 MB that fills up: 503, and what was acknowledged is there afterwards."""
    if os.geteuid() != 0 or sys.platform != "linux":
        yield not_measured("collector", "no space for Postgres", "mounting needs root on Linux")
        return
    with tempfile.TemporaryDirectory(prefix="playhead-soak-") as place:
        Path(place).chmod(0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m,mode=755", "tmpfs", place], check=True)
        filler = Path(place, "filler")
        try:
            with CollectorProcess(data_dir=Path(place) / "data") as collector:
                acknowledged, statuses = _send_until_full(collector, filler, seconds)
                filler.unlink()
                arrived = _arrived(collector, acknowledged)
        finally:
            subprocess.run(["umount", "-l", place], check=True)
    against = f"{len(acknowledged)} runs acknowledged, answers {statuses}"
    yield at_least(
        "collector",
        "no space for Postgres: refused",
        sum(statuses.values()) - statuses[200],
        1,
        unit="",
        against=against,
    )
    yield at_most(
        "collector",
        "no space for Postgres: acknowledged and lost",
        len(acknowledged) - arrived,
        0,
        unit="",
        against=against,
    )
    others = sum(count for status, count in statuses.items() if status not in (200, 429, 503))
    yield at_most("collector", "no space for Postgres: other answers", others, 0, unit="", against=against)


def _send_until_full(collector: CollectorProcess, filler: Path, seconds: float) -> tuple[list[str], dict[int, int]]:
    acknowledged: list[str] = []
    statuses: dict[int, int] = {200: 0}
    until, is_full = time.monotonic() + seconds, False
    with httpx.Client(base_url=collector.url, timeout=60, trust_env=False) as http:
        while time.monotonic() < until:
            if not is_full and time.monotonic() > until - seconds * 2 / 3:
                is_full = True
                subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=1M"], capture_output=True, check=False)
            run = MadeUpRun(20)
            if not is_full:
                send_content(collector.url, [run])
            answer = http.post("/v1/traces", content=traces_request(run.spans), headers={"content-type": PROTOBUF})
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            if answer.status_code == 200:
                acknowledged.append(run.run)
    return acknowledged, statuses


def _arrived(collector: CollectorProcess, runs: list[str]) -> int:
    """How many of the runs have all of their spans, once there is space again."""
    until = time.monotonic() + 120
    with httpx.Client(base_url=f"{collector.url}/api/v1", timeout=60, trust_env=False) as http:
        while True:
            answers = [http.get(f"/runs/{run}") for run in runs]
            found = sum(answer.status_code == 200 and answer.json()["tool_calls"] == 20 for answer in answers)
            if found == len(runs) or time.monotonic() > until:
                return found
            time.sleep(1)


class _later:  # noqa: N801 - used as a statement
    """Calls a function after so many seconds, beside the block, and waits for it at the block's end."""

    def __init__(self, seconds: float, action: Callable[[], object]) -> None:
        self._timer = threading.Timer(seconds, action)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.join()
