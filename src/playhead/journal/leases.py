"""refs → [journal] → export.  Leases on runs: which process of this machine resumes a run.

A lease is a file in the journal's folder `leases` that its holder keeps locked: the kernel releases the lock when the
process ends, however it ends.  Only resumed runs have a lease; for a new run, the lock of its lane does the same.
"""

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakSet

from playhead.journal.files import OwnFile, lock_file, make_private_folder, open_private, share_lock
from playhead.model.ids import WHOLE_ID

_FOLDER = "leases"
_JOURNAL = "journal"  # the file with this journal's name; files of leases have names of 32 hex digits
# How often the file may be deleted between opening and locking it before that is an error.
_ATTEMPTS = 100


class LocalLease:
    """The right to resume a run, which only one of the processes that share the journal has at a time."""

    def __init__(self, path: Path, lock: OwnFile):
        """`lock` is held; use `acquire_lease`."""
        self._path = path
        self._lock = lock
        _held.add(self)

    @property
    def is_held(self) -> bool:
        """Whether the lease is still held: another process may have taken it with `force`."""
        return self._lock.is_at(self._path)

    def release(self) -> None:
        """Releases the lease. Does nothing the second time, and in a forked child, whose parent has it."""
        if self.is_held:
            with suppress(OSError):  # Windows does not delete an open file
                self._path.unlink()
        self._lock.close()

    def forget_after_fork(self) -> None:
        """In a forked child: forgets the lease, which stays the parent's."""
        self._lock.close()


_held: WeakSet[LocalLease] = WeakSet()


def acquire_lease(journal_dir: Path, run_id: str, *, force: bool = False) -> LocalLease | None:
    """Takes the lease until `release` or the end of this process. None while another process has it.

    With `force` it is taken from the process that has it; there, `is_held` is False from then on. Raises OSError.
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
        lock.close()  # its holder released it and deleted the file before we had the lock
    raise OSError(f"{path} does not stay where it is")


def lease_holder(journal_dir: Path, run_id: str) -> str:
    """A text for people: the process that has the lease, and since when it has it."""
    try:
        return _path(journal_dir, run_id).read_text() or "another process"
    except OSError:
        return "another process"


def abandoned_runs(journal_dir: Path) -> list[str]:
    """Runs that a process of this machine was resuming when it died. Raises OSError."""
    try:
        names = os.listdir(journal_dir / _FOLDER)  # noqa: PTH208 - called by each process: mostly there is no such folder
    except FileNotFoundError:
        return []
    return [name for name in names if WHOLE_ID.fullmatch(name) and not _is_locked(journal_dir / _FOLDER / name)]


def _is_locked(path: Path) -> bool:
    lock = share_lock(path)
    if lock is None:
        return True  # or gone
    lock.close()
    return False


def journal_name(journal_dir: Path) -> str:
    """The id of this journal, which does not depend on its path. Raises OSError."""
    path = journal_dir / _FOLDER / _JOURNAL
    make_private_folder(path.parent)
    temporary_path = path.with_suffix(f".{os.urandom(8).hex()}")
    fd = open_private(temporary_path, os.O_WRONLY | os.O_EXCL)
    try:
        os.write(fd, os.urandom(8).hex().encode())
    finally:
        os.close(fd)
    try:
        os.link(temporary_path, path)  # atomic: readers see the whole file or none
    except FileExistsError:
        pass
    finally:
        temporary_path.unlink()
    return path.read_text()


def _path(journal_dir: Path, run_id: str) -> Path:
    return journal_dir / _FOLDER / run_id


def _in_child() -> None:
    for lease in tuple(_held):
        lease.forget_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
