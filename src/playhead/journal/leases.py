"""refs → [journal] → export.  Leases on runs: which process of this machine goes on with one from its record.

A lease is a file in the journal's folder `leases` that its holder keeps locked: the kernel gives it back when the
process dies, however it dies.  Only runs that go on have one; a run that begins is known to be alive by its lane.
"""

import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakSet

from playhead.journal.locking import lock_file

_FOLDER = "leases"
_JOURNAL = "journal"  # the file with this journal's name; those of runs have 32 hex digits
# So often a file may be given back between opening and locking it before something else must be wrong.
_ATTEMPTS = 100


class LocalLease:
    """A run that this process alone may go on with, among those that share the journal."""

    def __init__(self, path: Path, fd: int):
        """`fd` holds the lock; use `take_local`."""
        self._path = path
        self._fd = fd
        _held.add(self)

    @property
    def is_mine(self) -> bool:
        """Whether it still is: a process that was told to force its way makes a file of its own."""
        return self._fd >= 0 and _is_at(self._path, self._fd)

    def release(self) -> None:
        """Others may take it.  A second call does nothing; nor does any in a forked child, whose parent has it."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if _is_at(self._path, fd):
            with suppress(OSError):  # Windows keeps a file that is open
                self._path.unlink()
        os.close(fd)

    def leave(self) -> None:
        """In a forked child: it is the parent's."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


_held: WeakSet[LocalLease] = WeakSet()


def take_local(journal_dir: Path, run_id: str, *, force: bool = False) -> LocalLease | None:
    """The lease, given back by `release` or by the end of this process; None while another process has it.

    With `force` it is taken from whoever has it, who can tell by `is_mine`.  Raises OSError.
    """
    path = _path(journal_dir, run_id)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if force:
        path.unlink(missing_ok=True)
    for _ in range(_ATTEMPTS):
        fd = lock_file(path)
        if fd is None:
            return None
        if _is_at(path, fd):
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"process {os.getpid()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC".encode(), 0)
            return LocalLease(path, fd)
        os.close(fd)  # its holder gave it back, and the file with it, while we were at the door
    raise OSError(f"{path} does not stay where it is")


def holder_of(journal_dir: Path, run_id: str) -> str:
    """For people: which process has it, and since when."""
    try:
        return _path(journal_dir, run_id).read_text() or "another process"
    except OSError:
        return "another process"


def journal_name(journal_dir: Path) -> str:
    """Tells this journal from others, whatever paths they have.  Raises OSError."""
    path = journal_dir / _FOLDER / _JOURNAL
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    own = path.with_suffix(f".{secrets.token_hex(8)}")
    own.write_text(secrets.token_hex(8))
    try:
        os.link(own, path)  # whole or not at all, for whoever reads it meanwhile
    except FileExistsError:
        pass
    finally:
        own.unlink()
    return path.read_text()


def _path(journal_dir: Path, run_id: str) -> Path:
    return journal_dir / _FOLDER / run_id


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except OSError:
        return False


def _in_child() -> None:
    for lease in tuple(_held):
        lease.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
