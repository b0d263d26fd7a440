"""Recognises exceptions that only happened to arrive while our code ran, and that the program has to get.

Recording calls code of the program: `__repr__`, properties, hooks. What this code raises must not leave recording, not
even `SystemExit`. But some exceptions can arrive at any moment, also in recording, and have to reach the program:
Ctrl-C, those of a signal handler that ends the program or a time limit (`sys.exit` on SIGTERM, SIGALRM), and those that
another thread or a greenlet hub throws in. The traceback tells them apart. A handler's frame has the interrupted frame
among its arguments. An exception that was thrown in has no frame of the program called from ours. Ctrl-C has no
handler's frame; a `KeyboardInterrupt` that called code raises is recognised by its `raise` statement.
"""

import dis
import inspect
import signal
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any, cast

# Packages in which our code may wait when an exception for the program arrives.
_OUR_PACKAGES = frozenset({"playhead", "threading", "gevent", "greenlet", "eventlet"})
# Packages that our code calls, and that raise no such exception themselves: `traceback`, for example, which reads
# files.
_CALLED_BY_US = (
    _OUR_PACKAGES | sys.stdlib_module_names | {"opentelemetry", "wrapt", "httpx", "httpcore", "anyio", "h11"}
)

# Computed here, because it needs many frames, and `reraise_if_for_program` is called where few are left.
_SIGNALS = tuple(signal.valid_signals())


def is_meant_for_program(error: BaseException) -> bool:
    """Whether an exception was delivered to the program, and not raised by code that recording called."""
    if issubclass(type(error), KeyboardInterrupt):
        return True
    has_handler, innermost = _frames_of(error)
    if has_handler:
        return True
    if issubclass(type(error), Exception) or innermost is None:
        return False  # raised by our code, or by code that we called
    return _is_in_package(innermost.tb_frame, _OUR_PACKAGES) or _is_called_by_us(error)


def _frames_of(error: BaseException) -> tuple[bool, TracebackType | None]:
    """Returns whether a signal handler raised the exception, and the innermost frame found (None: there is no
    traceback)."""
    trace, above = error.__traceback__, None
    while trace is not None:
        if above is not None and _is_signal_handler(trace.tb_frame, above.tb_frame):
            return True, trace
        above, trace = trace, trace.tb_next
    return False, above


def _is_called_by_us(error: BaseException) -> bool:
    """Whether the traceback has only frames of our code and of packages that it calls, none of the program."""
    trace = error.__traceback__
    while trace is not None and _is_in_package(trace.tb_frame, _CALLED_BY_US):
        trace = trace.tb_next
    return trace is None


def _is_in_package(frame: FrameType, packages: frozenset[str]) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in packages


def reraise_if_for_program(error: BaseException) -> None:
    """Raises the exception again if it must reach the program. Call it first in an `except` for code that recording
    calls."""
    if must_reach_program(error):
        raise error


def must_reach_program(error: BaseException) -> bool:
    """Whether code that guards against errors of what it calls must let the exception through."""
    if isinstance(error, RecursionError):
        return False  # not of a handler: the end of the stack was reached here by chance
    return is_meant_for_program(error) and not _is_raised_by_called_code(error)


def _is_raised_by_called_code(error: BaseException) -> bool:
    """Whether it is a `KeyboardInterrupt` from a `raise` statement of called code. Ctrl-C arrives at any other
    instruction, or comes from a signal handler."""
    if not issubclass(type(error), KeyboardInterrupt):
        return False
    has_handler, innermost = _frames_of(error)
    if has_handler or innermost is None:
        return False
    return innermost.tb_frame.f_code.co_code[innermost.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _is_signal_handler(frame: FrameType, above: FrameType) -> bool:
    code = frame.f_code
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
    for name in arguments:
        value: Any = frame.f_locals.get(name)
        if value is above or (type(value) is tuple and any(item is above for item in cast("tuple[Any, ...]", value))):
            return True
    return code in _installed_handlers()


def _installed_handlers() -> set[CodeType]:
    """Returns the code objects of this process's signal handlers."""
    codes: set[CodeType] = set()
    for number in _SIGNALS:
        handler: Any = signal.getsignal(number)
        if callable(handler):
            function = getattr(handler, "func", handler)  # of a partial
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if isinstance(code, CodeType):
                codes.add(code)
    return codes
