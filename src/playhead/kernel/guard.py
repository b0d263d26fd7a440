"""The guard: observing must not break the observed program.

Code that runs in the user's program stands in a block of `guarded`. Errors inside it are logged once per cause and not
raised; the user's results, exceptions and timing are unchanged. The same holds for exceptions that the user's code
raises when recording calls it (`__repr__`, a property, a hook), `SystemExit` included. Exceptions that are meant for
the program leave the block (`is_meant_for_program`).
"""

import logging
import os
import sys
import threading
from types import TracebackType
from typing import Self

from playhead.model.objects.interrupts import is_meant_for_program, reraise_if_for_program

log = logging.getLogger("playhead")

# Bounded: a cause that varies with the data must not become a leak.
_MAX_CAUSES = 1_000
_STACK = "stack"
_logged_causes: set[tuple[str, str, int]] = set()
# Re-entrant: the garbage collector may end a dropped call while this thread is in here.
_mutex = threading.RLock()


def _in_child() -> None:
    global _mutex  # noqa: PLW0603 - the thread that held it at the fork is not here
    _mutex = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class guarded:  # noqa: N801 - a block, like `contextlib.suppress`
    """Block that swallows and logs every error but those that must reach the program.

    `doing` completes the sentence "could not ...". It may hold `%s` and `%r` for the values in `about`; they are put in
    only if there is an error. `log=False`: errors are not logged. A result for the case of an error stands after the
    block::

        with guarded("record the output of %r", span.name):
            return recorder.payload(output, span.frames)
        return None

    After the block, `raised` is the class of the error that was swallowed, or None. (The error itself would keep the
    values of the block alive.)
    """

    # A class and no generator: entering and leaving takes a third of the time, in each observed call.
    __slots__ = ("_about", "_doing", "_log", "raised")

    def __init__(self, doing: str, *about: object, log: bool = True) -> None:
        self._doing = doing
        self._about = about
        self._log = log
        self.raised: type[BaseException] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            return False
        try:
            if is_meant_for_program(error):
                return False
            self.raised = kind
            if self._log:
                log_internal_error(self._doing, error, *self._about)
        except RecursionError:  # too little stack left to look at the error, so it is one of these
            pass
        return True


def log_internal_error(doing: str, error: BaseException, *about: object) -> None:
    """Logs an internal error, once per source line and error type. Never raises. `about`: values for the `%s` and `%r`
    in `doing`."""
    try:
        if about:
            doing = doing % about  # here, since a `repr` may raise
        if sys.is_finalizing():  # modules are gone, ours too: such an error cannot be fixed
            return
        if isinstance(error, RecursionError):  # may occur at any line, with a traceback as long as the stack
            warn_once(_STACK, "calls near the end of Python's stack are not recorded, or not whole (RecursionError)")
            return
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        cause = (doing, type(error).__name__, trace.tb_lineno if trace else 0)
        with _mutex:
            if cause in _logged_causes or len(_logged_causes) >= _MAX_CAUSES:
                return
            _logged_causes.add(cause)
        log.warning("could not %s; your program is unaffected", doing, exc_info=error)
    except BaseException as raised:  # noqa: BLE001 - the user's log handler, for example
        reraise_if_for_program(raised)
        return


def warn_once(cause: str, message: str) -> None:
    """Logs one warning per cause and process. Never raises."""
    try:
        if sys.is_finalizing():  # nobody reads it, and a thread that was stopped may hold the lock
            return
        with _mutex:
            if (cause, "", 0) in _logged_causes or len(_logged_causes) >= _MAX_CAUSES:
                return
            _logged_causes.add((cause, "", 0))
        log.warning("%s", message)
    except RecursionError:  # too little stack left to log: warn the next time
        _logged_causes.discard((cause, "", 0))
    except BaseException as raised:  # noqa: BLE001 - the user's log handler, for example
        reraise_if_for_program(raised)
        return


def reset_logged_causes() -> None:
    """Forgets the logged causes, so that each is logged again; for tests."""
    with _mutex:
        _logged_causes.clear()
