"""[index]: removes from the index what was deleted from the journal.  Loads SQLite only if there is an index."""

from contextlib import suppress
from pathlib import Path

# Short, for a shipping thread: a process that locks the index for longer brings it up to date anyway.
_BUSY_SECONDS = 0.2
_INDEX_FILE = Path("index", "journal.sqlite")


def prune(journal_dir: Path) -> None:
    """Removes deleted segments from the index, if there is one (only commands and `playhead.read_local` create it).

    Call it after segments were deleted, not on a thread of the program.  Never raises."""
    if not (journal_dir / _INDEX_FILE).exists():
        return
    with suppress(Exception):  # a damaged or busy index, or no SQLite: the next reader finds what is gone
        from playhead.journal.index import database  # noqa: PLC0415 - most programs do without SQLite
        from playhead.journal.index.updating import IndexUpdate  # noqa: PLC0415

        db = database.open_file(journal_dir, _BUSY_SECONDS)
        try:
            IndexUpdate(db, journal_dir).prune()
        finally:
            db.close()
