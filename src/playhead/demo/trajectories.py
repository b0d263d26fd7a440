"""trajectories → replay → SDK ══▶ collector → compare.  Recorded runs on the real path, there and back."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import openai

from playhead.client import Client
from playhead.demo.compare import Difference, request_difference
from playhead.demo.replay import Replayed, replay
from playhead.demo.sizes import ModelExchange, sizes_of
from playhead.demo.stage import DemoFailed, stage
from playhead.testing import MockModelServer, Trajectories, Trajectory, UnreadableTrajectories

T = TypeVar("T")
R = TypeVar("R")

# Two cores: more would only wait for each other.
_THREADS = 2
Progress = Callable[[str, int, int], None]
"""Told what is being done, how many are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Report:
    """What went through, what it took, and how much of it came back as it was."""

    runs: int
    not_played: int
    llm_calls: int
    tool_calls: int
    inline_bytes: int
    wire_bytes: int
    content_bytes: int
    database_bytes: int
    contexts_checked: int
    contexts_equal: int
    seconds: float

    def as_json(self) -> dict[str, int | float]:
        """By name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PlaybackProblems:
    """What went wrong, in sentences: runs that could not be read or played, contexts that are not as recorded."""

    not_played: Sequence[str]
    different: Sequence[str]


@dataclass(frozen=True, slots=True)
class NotPlayed:
    """A run that could not be played again, and why."""

    trajectory: Trajectory
    why: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What the collector says about one replayed run."""

    tool_calls: int
    contexts: int
    differences: Sequence[str]


def play(folder: Path, limit: int | None = None, tell: Progress | None = None) -> tuple[Report, PlaybackProblems]:
    """Records the runs in this folder and asks for every context.

    A run that cannot be read or played is a problem, and the others go on.  Raises DemoFailed for a folder without
    recorded runs, and where no collector can be started.
    """
    not_played: list[str] = []
    runs, tell = load(folder, limit, not_played.append), tell or _silent
    began = perf_counter()
    with stage() as on:
        tried = list(_reporting("recording", tell, record(runs), len(runs)))
        on.deliver()
        played = [each for each in tried if isinstance(each, Replayed)]
        not_played += [f"{each.trajectory.key}: {each.why}" for each in tried if isinstance(each, NotPlayed)]
        checked = list(_reporting("checking", tell, check(on.client, played), len(played)))
        sizes = sizes_of(model_calls(each.trajectory for each in played), on.url)
    different = [sentence for each in checked for sentence in each.differences]
    contexts = sum(each.contexts for each in checked)
    report = Report(
        runs=len(played),
        not_played=len(not_played),
        llm_calls=sum(len(each.trajectory.turns) for each in played),
        tool_calls=sum(each.tool_calls for each in checked),
        inline_bytes=sizes.inline,
        wire_bytes=sizes.wire,
        content_bytes=sizes.content,
        database_bytes=sizes.database,
        contexts_checked=contexts,
        contexts_equal=contexts - len(different),
        seconds=round(perf_counter() - began, 2),
    )
    return report, PlaybackProblems(not_played, different)


def load(folder: Path, limit: int | None, skipped: Callable[[str], None] | None = None) -> list[Trajectory]:
    """The recorded runs of a folder, the first `limit` of them.  Raises DemoFailed when there are none.

    `skipped` is called with a sentence about each file or run that cannot be read; without it, the first one raises.
    """
    if not folder.is_dir():
        raise DemoFailed(f"{folder} is not a folder: name one with recorded runs, *.json files")
    try:
        return list(islice(Trajectories.load(folder, skipped), limit))
    except UnreadableTrajectories as error:
        raise DemoFailed(str(error)) from error


def record(runs: Sequence[Trajectory]) -> Iterator[Replayed | NotPlayed]:
    """Plays the runs through the real client, against a mock model server that says what was recorded."""
    # Not through a proxy that the environment may name: the server is on this machine.
    http = openai.DefaultHttpxClient(trust_env=False)
    server = MockModelServer(trajectories=Trajectories(runs), keep_requests=False)
    with server, openai.OpenAI(base_url=server.base_url, api_key="none", http_client=http) as client:
        yield from _in_threads(lambda run: _replay(client, run), runs)


def check(client: Client, replayed: Iterable[Replayed]) -> Iterator[Checked]:
    """Asks for the context of each model call of each run, and compares it with the record."""
    yield from _in_threads(lambda each: check_run(client, each), replayed)


def check_run(client: Client, replayed: Replayed) -> Checked:
    """One run; every model call of the record must be there, in its order."""
    trajectory, run = replayed.trajectory, replayed.run
    calls = list(client.llm_calls(run))
    differences: list[str] = []
    for number, turn in enumerate(trajectory.turns):
        where = f"{trajectory.key}, model call {number + 1} (run {run}"
        if number >= len(calls):
            differences.append(f"{where}): was recorded, and the collector does not know it")
            continue
        seq = calls[number]["seq"]
        request = client.context(run, at=seq, exact=True)["request"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
        found: Difference | None = request_difference(trajectory.messages[:turn], trajectory.tools, request)
        if found:
            differences.append(f"{where}, seq {seq}): {found}")
    tool_calls = client.run(run)["tool_calls"]
    return Checked(tool_calls, len(trajectory.turns), differences)


def model_calls(runs: Iterable[Trajectory]) -> Iterator[ModelExchange]:
    """Each model call of the record."""
    for run in runs:
        for turn in run.turns:
            yield ModelExchange(run.messages[:turn], run.tools, run.messages[turn])


def _replay(client: openai.OpenAI, run: Trajectory) -> Replayed | NotPlayed:
    try:
        return replay(client, run)
    except Exception as error:  # noqa: BLE001 - whatever one run holds, the others are played
        return NotPlayed(run, f"cannot be played again: {type(error).__name__}: {error}")


def _in_threads(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Results in order.  When one fails, or nobody wants more, what has not begun is not begun any more."""
    with ThreadPoolExecutor(_THREADS) as threads:
        waiting = deque(threads.submit(work, item) for item in items)
        try:
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _silent(doing: str, done: int, total: int) -> None:
    """For those who do not watch."""


def _reporting(doing: str, tell: Progress, results: Iterable[T], total: int) -> Iterator[T]:
    for done, result in enumerate(results, 1):
        tell(doing, done, total)
        yield result
