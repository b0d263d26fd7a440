"""Marks on open files: whether a descriptor still stands for the file that was opened, in a quarter of the time that
`fstat` takes.

On Linux, an open file has a number of the signal that announces input on it, if the program asks for such signals.
This one number the C library keeps for itself (glibc to change user ids in all threads, musl to cancel them), so no
program can ask for it.  It stays with the open file: a descriptor that was closed and that stands for another file by
now does not have it.  Nothing is ever sent, since nobody asks for signals about our files.
"""

import sys

from playhead.journal.files import OwnFile

_MARK = 33
# By descriptor, the last file of ours that was marked: another file of ours may have got a descriptor that was closed.
_marked: dict[int, OwnFile] = {}

if sys.platform == "linux":
    from fcntl import F_GETSIG, F_SETSIG, fcntl

    def mark(file: OwnFile) -> bool:
        """Marks an open file.  False where the system has no marks.  Raises nothing."""
        try:
            fcntl(file.fd, F_SETSIG, _MARK)
            is_marked = fcntl(file.fd, F_GETSIG) == _MARK
        except OSError:  # a system that is Linux in part only
            return False
        if is_marked:
            _marked[file.fd] = file
        return is_marked

    def has_mark(file: OwnFile) -> bool:
        """Whether the descriptor still stands for this file, which was marked.  Raises OSError if it is closed."""
        return fcntl(file.fd, F_GETSIG) == _MARK and _marked.get(file.fd) is file

else:

    def mark(file: OwnFile) -> bool:
        """Returns False: this system has no marks."""
        return False

    def has_mark(file: OwnFile) -> bool:
        """Returns False: no file is marked."""
        return False


def forget_mark(file: OwnFile) -> None:
    """To be called when the file is closed."""
    if _marked.get(file.fd) is file:
        del _marked[file.fd]
