"""Shows the progress of an export or an import on standard error; does nothing if that is not a terminal."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

ShowProgress = Callable[[str, int, int | None], None]
"""Called with a label, the amount that is done, and the total amount (None: unknown)."""


@contextmanager
def progress() -> Generator[ShowProgress]:
    """Gives a function that updates a progress bar."""
    if not sys.stderr.isatty():
        yield lambda label, done, of: None
        return
    from rich.console import Console  # noqa: PLC0415 - `--help` does without
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda label, done, of: bar.update(task, description=label, completed=done, total=of)
