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

from playhead.journal.files import OwnFile, make_private_folder, open_private
from playhead.journal.locking import lock_file

_FOLDER = "leases"
_JOURNAL = "journal"  # the file with this journal's name; those of runs have 32 hex digits
# So often a file may be given back between opening and locking it before something else must be wrong.
_ATTEMPTS = 100


class LocalLease:
    """A run that this process alone may go on with, among those that share the journal."""

    def __init__(self, path: Path, lock: OwnFile):
        """`lock` is held; use `take_local`."""
        self._path = path
        self._lock = lock
        _held.add(self)

    @property
    def is_held(self) -> bool:
        """Whether the lease is still held: with force, another process replaces the file."""
        return self._lock.is_at(self._path)

    def release(self) -> None:
        """Releases the lease. Does nothing the second time, and in a forked child, whose parent has it."""
        if self.is_held:
            with suppress(OSError):  # Windows keeps a file that is open
                self._path.unlink()
        self._lock.close()

    def abandon(self) -> None:
        """In a forked child: drops the lease, which is the parent's."""
        self._lock.close()


_held: WeakSet[LocalLease] = WeakSet()


def take_local(journal_dir: Path, run_id: str, *, force: bool = False) -> LocalLease | None:
    """Takes the lease, until `release` or the end of this process; None while another process has it.

    With `force` it is taken from the process that has it, which notices that by `is_held`. Raises OSError.
    """
    path = _path(journal_dir, run_id)
    make_private_folder(path.parent)
    if force:
        path.unlink(missing_ok=True)
    for _ in range(_ATTEMPTS):
        lock = lock_file(path)
        if lock is None:
            return None
        if lock.is_at(path):
            os.ftruncate(lock.fd, 0)
            os.pwrite(lock.fd, f"process {os.getpid()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC".encode(), 0)
            return LocalLease(path, lock)
        lock.close()  # its holder gave it back, and the file with it, while we were at the door
    raise OSError(f"{path} does not stay where it is")


def holder_of(journal_dir: Path, run_id: str) -> str:
    """For people: which process has it, and since when."""
    try:
        return _path(journal_dir, run_id).read_text() or "another process"
    except OSError:
        return "another process"


def journal_name(journal_dir: Path) -> str:
    """An id of this journal, the same under any path. Raises OSError."""
    path = journal_dir / _FOLDER / _JOURNAL
    make_private_folder(path.parent)
    own = path.with_suffix(f".{secrets.token_hex(8)}")
    fd = open_private(own, os.O_WRONLY | os.O_EXCL)
    try:
        os.write(fd, secrets.token_hex(8).encode())
    finally:
        os.close(fd)
    try:
        os.link(own, path)  # whole or not at all, for whoever reads it meanwhile
    except FileExistsError:
        pass
    finally:
        own.unlink()
    return path.read_text()


def _path(journal_dir: Path, run_id: str) -> Path:
    return journal_dir / _FOLDER / run_id


def _in_child() -> None:
    for lease in tuple(_held):
        lease.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
