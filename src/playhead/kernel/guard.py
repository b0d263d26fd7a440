"""The guard: observing must not break the observed program.

Errors inside Playhead are logged once per cause and not raised; the user's results, exceptions and timing are
unchanged. The same holds for exceptions that the user's code raises when recording calls it (`__repr__`, a property,
a hook), `SystemExit` included. Exceptions that are meant for the program are raised (`reraise_if_for_program`).
"""

import logging
import os
import sys
import threading

from playhead.model.objects.interrupts import reraise_if_for_program

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


def log_internal_error(doing: str, error: BaseException) -> None:
    """Logs an internal error, once per source line and error type. Call it from an `except`; never raises."""
    try:
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
