"""The folder of the journal, for what programs keep beside their records. `playhead.configuring` provides it."""

from collections.abc import Callable
from pathlib import Path

_provided: list[Callable[[], Path]] = []


def provide_journal_folder(find: Callable[[], Path]) -> None:
    """Sets the function that returns the folder for this process."""
    _provided[:] = [find]


def journal_folder() -> Path:
    """Returns the folder, which need not exist yet. Raises SettingInvalid."""
    if not _provided:
        raise RuntimeError("import playhead first")
    return _provided[0]()
