"""Opens the journal for reading, with a clear error if a library for it is not installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from playhead.errors import SettingInvalid

if TYPE_CHECKING:
    from playhead.local.source import JournalSource


def open_source(journal_dir: Path, on_damage: Callable[[str], None]) -> JournalSource:
    """Opens the journal. Raises SettingInvalid if a library for reading it is not installed, and JournalUnusable."""
    try:
        from playhead.local.source import JournalSource  # noqa: PLC0415 - needs some of the collector's libraries
    except ImportError as error:
        raise missing_library_error(error) from None
    return JournalSource(journal_dir, on_damage)


def missing_library_error(error: ImportError) -> SettingInvalid:
    """Makes the exception for a library that is not installed; its message says what to install."""
    return SettingInvalid(
        f"the journal is read with the libraries of the command line, of which {error.name} is not installed: "
        "pip install 'playhead[cli]', or name a collector with --url"
    )
