"""What the error of a model call means, whichever client raised it.

ModelFailure                  a model call failed
├─ RateLimited                too many requests or tokens; `retry_after_s` says how long to wait, where it is known
├─ Overloaded                 the provider cannot answer now: overloaded, unavailable, no connection, no answer in time
└─ ContextTooLong             the request has more tokens than the model's window
"""

import re
import time

from playhead.errors import PlayheadError
from playhead.wire.delays import retry_after_s

_TOO_LONG = re.compile(
    r"context[_ ]length[_ ]exceeded|maximum context length|prompt is too long|input is too long|context window"
    r"|exceeds? the (?:maximum|available) (?:number of tokens|context)|too many (?:input )?tokens"
    r"|string_above_max_length|request_too_large",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate[_ -]?limit|resource[_ ]exhausted|too many requests|throttl", re.IGNORECASE)
_LOAD = re.compile(
    r"overloaded|unavailable|time[d]?[ -]?out|deadline[_ ]exceeded|connection error|internal server error",
    re.IGNORECASE,
)
_LONGEST = 4_000
_RATE_STATUS = 429
_LOAD_STATUSES = frozenset({408, 500, 502, 503, 504, 529})
_LONGEST_WAIT_S = 3_600.0


class ModelFailure(PlayheadError):
    """A model call failed. `retry_after_s`: seconds to wait as the provider said; None: it said nothing."""

    def __init__(self, message: str = "", retry_after_s: float | None = None):
        super().__init__(message)
        self.retry_after_s = retry_after_s


class RateLimited(ModelFailure):
    """Too many requests or tokens in a time."""


class Overloaded(ModelFailure):
    """The provider cannot answer now: it is overloaded or unavailable, or gave no answer in time."""


class ContextTooLong(ModelFailure):
    """The request has more tokens than the model's window."""


def failure_of(error: BaseException) -> ModelFailure | None:
    """Returns what an error of a model call means; None: it is none of ours (a wrong key, a wrong argument, ...).

    Goes by status and code where the error has them, else by its class and its text: errors that a resumed run raises
    again may have no more.
    """
    if isinstance(error, ModelFailure):
        return error
    if says_too_long(error):
        return ContextTooLong(_text(error))
    status = _status(error)
    if status == _RATE_STATUS:
        return RateLimited(_text(error), _retry_after_s(error))
    if status in _LOAD_STATUSES:
        return Overloaded(_text(error), _retry_after_s(error))
    if status is not None:
        return None
    kind = f"{type(error).__module__}.{type(error).__name__}: {_text(error)}"[:_LONGEST]
    if _RATE.search(kind) or "RateLimit" in kind:
        return RateLimited(_text(error), _retry_after_s(error))
    if isinstance(error, TimeoutError | ConnectionError) or _LOAD.search(kind) or "ConnectionError" in kind:
        return Overloaded(_text(error))
    return None


def says_too_long(error: BaseException) -> bool:
    """Whether the error of a model call says that the context is too long. (Limits of tokens in a time do not.)"""
    if isinstance(error, ContextTooLong):
        return True
    code = getattr(error, "code", None)
    text = f"{code if isinstance(code, str) else ''} {error}"[:_LONGEST]
    return _TOO_LONG.search(text) is not None and _status(error) != _RATE_STATUS and _RATE.search(text) is None


def _text(error: BaseException) -> str:
    return str(error)[:_LONGEST]


def _status(error: BaseException) -> int | None:
    """Returns the HTTP status: `status_code` of most clients, `code` of google-genai."""
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _retry_after_s(error: BaseException) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    return retry_after_s(value, time.time(), _LONGEST_WAIT_S) if isinstance(value, str) else None
