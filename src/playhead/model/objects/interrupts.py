"""Recognises exceptions that only happened to arrive while our code ran, and that the program has to get.

Recording calls code of the program: `__repr__`, properties, hooks. What this code raises must not leave recording, not
even `SystemExit`. But some exceptions can arrive at any moment, also in recording, and have to reach the program:
Ctrl-C, and what a signal handler raises to end the program or a piece of work (`sys.exit` on SIGTERM, a time limit by
SIGALRM, Celery's soft time limit). The traceback of the latter has a frame of the handler. Besides, our own code ends
the program in two places, by a `ProgramEnd` and by a SystemExit with an `ExitSentence`.
"""

import functools
import signal
from types import CodeType
from typing import Any

# Computed here, because it needs many frames, and `reraise_if_for_program` is called where few are left.
_SIGNALS = tuple(signal.valid_signals())


class ProgramEnd(SystemExit):
    """Base class of our exceptions that end a program which must not go on, in recording too."""


class ExitSentence(str):
    """The argument of a plain SystemExit by which our own code ends a program that must not go on, in recording too.

    For a thread of the program: Python ends a thread silently for SystemExit itself, and prints the traceback of any
    subclass.
    """

    __slots__ = ()


def is_meant_for_program(error: BaseException) -> bool:
    """Whether the exception is Ctrl-C, ends the program by our own code, or was raised by a signal handler of this
    process, directly or in a function that the handler called."""
    if issubclass(type(error), (KeyboardInterrupt, ProgramEnd)):
        return True
    if type(error) is SystemExit and type(error.code) is ExitSentence:
        return True
    if issubclass(type(error), RecursionError):
        return False  # not of a handler: the end of the stack was reached here by chance
    trace = error.__traceback__
    handlers = _installed_handlers() if trace is not None else frozenset[CodeType]()
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False


def reraise_if_for_program(error: BaseException) -> None:
    """Raises the exception again if it is meant for the program. Call it first in an `except` for code that recording
    calls."""
    if is_meant_for_program(error):
        raise error


def _installed_handlers() -> frozenset[CodeType]:
    """Returns the code objects of this process's signal handlers."""
    codes = (_code_of(signal.getsignal(number)) for number in _SIGNALS)
    return frozenset(code for code in codes if code is not None)


def _code_of(handler: object) -> CodeType | None:
    """Returns the code of a function, a method, a partial of one, or an object with `__call__`; None for a handler
    without code of Python, such as `signal.SIG_DFL`, and for one that cannot be read."""
    try:
        while isinstance(handler, functools.partial):
            handler = handler.func
        if not callable(handler):
            return None
        code: Any = getattr(handler, "__code__", None) or getattr(handler.__call__, "__code__", None)
    except Exception:  # noqa: BLE001 - an object of the program, whose attributes may raise anything
        return None
    return code if isinstance(code, CodeType) else None
