"""Which exceptions only happened to arrive while our code ran, and are the program's to see.

Recording calls code of the program: `__repr__`, properties, hooks.  What that raises must not leave recording, be it
`SystemExit`.  But Ctrl-C, a signal handler that ends the program or a time limit (`sys.exit` on SIGTERM, SIGALRM), and
what another thread or a greenlet hub throws in, can arrive at any moment, also in here; they go on to the program.  The
traceback tells them apart: a handler's frame has the frame that it interrupted among its arguments, and what was thrown
in has no frame of the program's above ours.  Ctrl-C itself has no handler's frame; a `KeyboardInterrupt` that called
code raises by a statement is told apart by that statement.
"""

import dis
import inspect
import signal
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any, cast

# Where waiting for something of ours may end by an exception that is meant for the program.
_OURS = frozenset({"playhead", "threading", "gevent", "greenlet", "eventlet"})
# What ours calls, and what raises no such thing by itself: `traceback`, which reads files, for example.
_CALLED_BY_US = _OURS | sys.stdlib_module_names | {"opentelemetry", "wrapt", "httpx", "httpcore", "anyio", "h11"}

# Found out now: that takes many frames, and `let_through` is called where few are left.
_SIGNALS = tuple(signal.valid_signals())


def is_from_outside(error: BaseException) -> bool:
    """Whether it was delivered to the program, and not raised by code that recording has called."""
    if issubclass(type(error), KeyboardInterrupt):
        return True
    has_handler, innermost = _frames_of(error)
    if has_handler:
        return True
    if issubclass(type(error), Exception) or innermost is None:
        return False  # ours, or of code that we called
    return _is_of(innermost.tb_frame, _OURS) or _is_called_by_us(error)


def _frames_of(error: BaseException) -> tuple[bool, TracebackType | None]:
    """Whether a signal's handler has raised it, and the innermost frame."""
    trace, above = error.__traceback__, None
    while trace is not None:
        if above is not None and _is_handler(trace.tb_frame, above.tb_frame):
            return True, trace
        above, trace = trace, trace.tb_next
    return False, above


def _is_called_by_us(error: BaseException) -> bool:
    """Whether no code of the program's is on the way to where it was raised."""
    trace = error.__traceback__
    while trace is not None and _is_of(trace.tb_frame, _CALLED_BY_US):
        trace = trace.tb_next
    return trace is None


def _is_of(frame: FrameType, packages: frozenset[str]) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in packages


def let_through(error: BaseException) -> None:
    """Raises it if it is from outside.  Call it first in an `except` that is meant for what recording has called."""
    if isinstance(error, RecursionError):
        return  # no handler raises that: it is raised where the stack ends, which is in here by chance
    if is_from_outside(error) and not _is_raised_by_called_code(error):
        raise error


def _is_raised_by_called_code(error: BaseException) -> bool:
    """Whether it is a `KeyboardInterrupt` that a `raise` of called code has made.  Ctrl-C comes at any other
    instruction, or out of a signal's handler."""
    if not issubclass(type(error), KeyboardInterrupt):
        return False
    has_handler, innermost = _frames_of(error)
    if has_handler or innermost is None:
        return False
    return innermost.tb_frame.f_code.co_code[innermost.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _is_handler(frame: FrameType, above: FrameType) -> bool:
    code = frame.f_code
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    for name in arguments:
        value: Any = frame.f_locals.get(name)
        if value is above or (type(value) is tuple and any(one is above for one in cast("tuple[Any, ...]", value))):
            return True
    return code in _installed()


def _installed() -> set[CodeType]:
    """The code of the signal handlers of this process."""
    found: set[CodeType] = set()
    for number in _SIGNALS:
        handler: Any = signal.getsignal(number)
        if callable(handler):
            function = getattr(handler, "func", handler)  # a partial's
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if isinstance(code, CodeType):
                found.add(code)
    return found
