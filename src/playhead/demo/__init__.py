"""`playhead demo`: what a recorded agent looks like, on a collector that lasts as long as the demo.  Inside:

stage         a collector on an embedded Postgres, the SDK pointed at it; nothing is left over
support       runs examples/support_agent.py on it              show      prints what was recorded
trajectories  plays recorded runs on it and asks for every context    replay, compare     sizes
"""

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

from playhead.errors import SettingInvalid

if TYPE_CHECKING:
    from playhead.demo.trajectories import PlaybackProblems, Report

OK, DIFFERENT, INTERRUPTED = 0, 1, 130
_MAX_NAMED = 10


def run_demo() -> int:
    """Runs the example agent and shows its record; returns the exit code.  Raises PlayheadError."""
    _need_openai()
    from playhead.demo.show import show_scene  # noqa: PLC0415 - see run_trajectories
    from playhead.demo.stage import stage  # noqa: PLC0415
    from playhead.demo.support import support_scene  # noqa: PLC0415

    console = Console(highlight=False)
    try:
        with console.status("starting a collector") as waits, stage() as on:
            show_scene(console, scene := support_scene(on))
            waits.stop()
            if scene.page is not None and sys.stdin.isatty() and console.is_terminal:
                console.input("Enter ends the demo, and the collector with it. ")
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK


def run_trajectories(folder: Path, limit: int | None = None, as_json: bool = False) -> int:
    """Plays recorded runs and checks every context; returns the exit code.  Raises PlayheadError."""
    _need_openai()
    # What is imported here needs the extras `collector` and `openai`; naming the demo needs neither.
    from playhead.demo.show import show_report  # noqa: PLC0415
    from playhead.demo.trajectories import play  # noqa: PLC0415

    to_user = Console(stderr=True, highlight=False)
    try:
        with Progress(console=to_user, transient=True, disable=not to_user.is_terminal) as progress:
            task = progress.add_task("starting a collector")

            def tell(doing: str, done: int, total: int) -> None:
                progress.update(task, description=doing, completed=done, total=total)

            report, problems = play(folder, limit, tell)
    except KeyboardInterrupt:
        return INTERRUPTED
    if as_json:
        print(json.dumps(report.as_json()))  # noqa: T201 - it is the answer
    else:
        show_report(Console(highlight=False), report, problems)
    failures = list(_failures(report, problems, folder))
    for sentence in failures:
        to_user.print(sentence, markup=False)
    return DIFFERENT if failures else OK


def _failures(report: "Report", problems: "PlaybackProblems", folder: Path) -> Iterator[str]:
    """Why the demo did not show what it should: one sentence each; none when it did."""
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


def _need_openai() -> None:
    if importlib.util.find_spec("openai") is None:
        raise SettingInvalid('the demo\'s agents use the openai client: pip install "playhead[collector,openai]"')
