"""Errors of a worker process, as JSON, and back: each is raised where the question was asked, as what it was."""

import traceback
from collections.abc import Mapping
from typing import Any

from playhead_collector.errors import CollectorError, ContentCorrupt, ContentMissing, Refused, StoreUnavailable

_BY_NAME: Mapping[str, type[CollectorError]] = {
    kind.__name__: kind for kind in (StoreUnavailable, ContentMissing, ContentCorrupt)
}


class AnalysisFailed(Exception):
    """A bug in an analysis: the worker's traceback, for the log."""


def to_json(error: BaseException) -> dict[str, Any]:
    """What to send."""
    if isinstance(error, Refused):
        said = {"status": error.status, "code": error.code, "headers": dict(error.headers)}
        return {"kind": "Refused", "message": str(error), **said}
    if type(error).__name__ in _BY_NAME:
        return {"kind": type(error).__name__, "message": str(error)}
    return {"kind": "bug", "message": "".join(traceback.format_exception(error)).encode("utf-8", "replace").decode()}


def from_json(said: Mapping[str, Any]) -> Exception:
    """What to raise."""
    if said["kind"] == "Refused":
        return Refused(said["status"], said["code"], said["message"], said["headers"])
    return _BY_NAME.get(said["kind"], AnalysisFailed)(said["message"])


def took_too_long(seconds: float) -> Refused:
    """A question that was still being answered when its time was over."""
    return Refused(
        503,
        "took_too_long",
        f"the question took too long: it was given up after {seconds:g} s; ask for less (a smaller limit, one decision "
        "or call instead of all), or raise PLAYHEAD_ANALYSIS_SECONDS",
    )


def too_large(limit: int, what: str) -> Refused:
    """A question, or an answer, that is larger than what one may take."""
    return Refused(
        503,
        "took_too_much",
        f"the question needs more than {limit >> 20} MiB for {what}: ask for less (a smaller limit, hydrate=false)",
    )


def queue_is_full(retry_seconds: int) -> Refused:
    """A question for which there is no room, or no time in which it could begin."""
    return Refused(
        503,
        "too_many_questions",
        "other questions are being answered: ask again later, or raise PLAYHEAD_ANALYSIS_PROCESSES",
        {"Retry-After": str(retry_seconds)},
    )


def ended(code: int | None) -> Refused:
    """A worker process that ended amid a question."""
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
    return Refused(
        503,
        "analysis_ended",
        f"the process that worked on the question {how}: ask once more; if it happens again, ask for less, and see "
        "the collector's log and the machine's memory",
        {"Retry-After": "1"},
    )


def not_started(why: str) -> Refused:
    """A worker process that cannot be started."""
    return Refused(
        503,
        "analysis_not_started",
        f"no process for analysis can be started ({why}): see the collector's log",
        {"Retry-After": "5"},
    )
