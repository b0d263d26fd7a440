"""[index]: takes what was deleted from the journal out of its index, too: some of it was recorded content."""

from contextlib import suppress
from pathlib import Path

# In a shipping thread: whoever holds the index for longer brings it up to date anyway.
_BUSY_SECONDS = 0.2
_FILE = Path("index", "journal.sqlite")


def prune(journal_dir: Path) -> None:
    """Call it after segments were deleted, not on a thread of the program.  Never raises; does nothing without an
    index, which only commands and `playhead.replay` make."""
    if not (journal_dir / _FILE).exists():
        return
    with suppress(Exception):  # a damaged or busy index, or no SQLite: the next reader finds what is gone
        from playhead.journal.index import database  # noqa: PLC0415 - most programs do without SQLite
        from playhead.journal.index.updating import IndexUpdate  # noqa: PLC0415

        db = database.open_file(journal_dir, _BUSY_SECONDS)
        try:
            IndexUpdate(db, journal_dir).prune()
        finally:
            db.close()
