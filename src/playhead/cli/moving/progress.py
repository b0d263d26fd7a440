"""Progress of an export or an import, on a terminal's standard error; nothing where no person reads."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

ShowProgress = Callable[[str, int, int | None], None]
"""Takes what is being done, how much of it is done, and how much there is (None: nobody knows)."""


@contextmanager
def progress() -> Generator[ShowProgress]:
    """A line that shows what is being done."""
    if not sys.stderr.isatty():
        yield lambda what, done, of: None
        return
    from rich.console import Console  # noqa: PLC0415 - `--help` does without
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda what, done, of: shown.update(task, description=what, completed=done, total=of)
