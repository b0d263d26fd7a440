"""`python -m benchmarks.recorded_runs --trajectories FOLDER [--json]`: recorded runs there and back.

Plays recorded runs (files of OpenAI-form messages) with the real client, records them, asks a collector for the context
of every model call, and compares it with the record.  Exits with 1 when one differs, a run cannot be played, or nothing
was compared.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.request_differences import Difference, request_difference
from playhead.client import Client
from playhead.demo.sizes import ModelExchange, sizes_of
from playhead.demo.stage import DemoFailed, stage
from playhead.errors import PlayheadError
from playhead.testing import Trajectories, Trajectory, UnreadableTrajectories
from tests.support.replayed_runs import NotPlayed, Replayed, in_threads, record

T = TypeVar("T")
OK, DIFFERENT, FAILED, INTERRUPTED = 0, 1, 2, 130
_MAX_NAMED = 10
ProgressReport = Callable[[str, int, int], None]
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
class CheckResult:
    """What the collector says about one replayed run."""

    tool_calls: int
    contexts: int
    differences: Sequence[str]


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recorded_runs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trajectories", type=Path, required=True, help="a folder of recorded runs, *.json files")
    parser.add_argument("--limit", type=_positive, help="only so many of them")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    try:
        return run(options.trajectories, options.limit, as_json=options.json)
    except PlayheadError as error:
        print(f"Error: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def run(folder: Path, limit: int | None = None, *, as_json: bool = False) -> int:
    """Plays the runs of a folder, checks every context and prints the figures; returns the exit code.

    Raises PlayheadError.
    """
    to_user = Console(stderr=True, highlight=False)
    with Progress(console=to_user, transient=True, disable=not to_user.is_terminal) as progress:
        task = progress.add_task("starting a collector")

        def tell(doing: str, done: int, total: int) -> None:
            progress.update(task, description=doing, completed=done, total=total)

        report, problems = play(folder, limit, tell)
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        Console(highlight=False).print(_table(report))
    failures = list(_failures(report, problems, folder))
    for sentence in failures:
        to_user.print(sentence, markup=False)
    return DIFFERENT if failures else OK


def play(folder: Path, limit: int | None = None, tell: ProgressReport | None = None) -> tuple[Report, PlaybackProblems]:
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


def check(client: Client, replayed: Iterable[Replayed]) -> Iterator[CheckResult]:
    """Asks for the context of each model call of each run, and compares it with the record."""
    yield from in_threads(lambda each: check_run(client, each), replayed)


def check_run(client: Client, replayed: Replayed) -> CheckResult:
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
    return CheckResult(tool_calls, len(trajectory.turns), differences)


def model_calls(runs: Iterable[Trajectory]) -> Iterator[ModelExchange]:
    """Each model call of the record."""
    for run in runs:
        for turn in run.turns:
            yield ModelExchange(run.messages[:turn], run.tools, run.messages[turn])


def _silent(doing: str, done: int, total: int) -> None:
    """For those who do not watch."""


def _reporting(doing: str, tell: ProgressReport, results: Iterable[T], total: int) -> Iterator[T]:
    for done, result in enumerate(results, 1):
        tell(doing, done, total)
        yield result


def _failures(report: Report, problems: PlaybackProblems, folder: Path) -> Iterator[str]:
    """Why the record did not come back as it was: one sentence each; none when it did."""
    if problems.not_played:
        more = len(problems.not_played) - _MAX_NAMED
        yield f"{len(problems.not_played)} runs could not be played:"
        yield from (f"  {sentence}" for sentence in problems.not_played[:_MAX_NAMED])
        if more > 0:
            yield f"  ... and {more} more"
    if problems.different:
        first = problems.different[0]
        yield f"{len(problems.different)} contexts differ from the record; the first: {first}"
    if not report.contexts_checked:
        yield f"nothing was checked: no run in {folder} has a model call, an assistant message after another message"


def _table(report: Report) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("runs, model calls, tool calls", f"{report.runs:,}, {report.llm_calls:,}, {report.tool_calls:,}")
    table.add_row("contexts as recorded", f"{report.contexts_equal:,} of {report.contexts_checked:,}")
    table.add_row("runs that could not be played", f"{report.not_played:,}")
    for what, size in (
        ("bytes inline: content in span attributes", report.inline_bytes),
        ("bytes sent: spans with refs, each content once", report.wire_bytes),
        ("bytes stored: contents and threads, with indexes", report.content_bytes),
        ("bytes stored: everything, with indexes", report.database_bytes),
    ):
        share = f" (1/{report.inline_bytes / size:.1f} of inline)" if 0 < size < report.inline_bytes else ""
        table.add_row(what, f"{size:,}{share}")
    table.add_row("seconds", f"{report.seconds:.1f}")
    return table


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
