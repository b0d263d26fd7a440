"""What goes over the pipes of a worker process: frames, the process's settings, and errors.

A frame has a JSON object, and bytes that are passed on without parsing:

    length of the object, length of the bytes (4 bytes each, big-endian) | object | bytes

The settings go over stdin, because other users can read arguments and environments. An error becomes JSON, and the same
error is raised in the process that asked the question.
"""

import json
import struct
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from playhead.model.models import ModelFacts
from playhead_collector.errors import (
    CannotDecrypt,
    CollectorError,
    ContentCorrupt,
    ContentMissing,
    EncryptionMissing,
    ObjectStoreUnavailable,
    Refused,
    StoreUnavailable,
    WrongEncryptionKey,
)
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.read.prices import Prices
from playhead_collector.store.operator_key import KeySource
from playhead_collector.store.postgres.connection import DatabaseTimeouts

# --- frames ----------------------------------------------------------------------------------------------------------

LENGTHS = struct.Struct("!II")


def encode(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Returns the bytes of a message."""
    head_bytes = json.dumps(head).encode("ascii")  # options may hold lone surrogates, which UTF-8 cannot encode
    return b"".join((LENGTHS.pack(len(head_bytes), len(body)), head_bytes, body))


def head_of(data: bytes) -> dict[str, Any]:
    """Parses the JSON object of a message."""
    return cast(dict[str, Any], json.loads(data))


def read(exactly: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes]:
    """Reads the next message. `exactly(n)` returns the next n bytes; its errors pass through."""
    head, body = LENGTHS.unpack(exactly(LENGTHS.size))
    return head_of(exactly(head)), exactly(body)


# --- settings --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Settings of a worker process. `dsn` may contain a password, and `operator_key` is one; `seconds` and
    `memory_bytes` limit one question."""

    dsn: str = field(repr=False)
    timeouts: DatabaseTimeouts
    given: AnalysisSettings
    seconds: float
    memory_bytes: int
    answer_bytes: int
    log_format: str = "text"
    log_level: str = "info"
    object_store: str | None = None
    object_store_seconds: float = 10.0
    operator_key: KeySource = KeySource()

    def to_json(self) -> dict[str, Any]:
        """Returns the settings as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Setup":
        """Returns the settings in a JSON object of `to_json`."""
        analysis: dict[str, Any] = dict(fields["given"])
        prices: dict[str, Any] = dict(analysis["prices"])
        prices["models"] = {name: ModelFacts(**line) for name, line in prices["models"].items()}
        analysis["prices"] = Prices(**prices)
        values: dict[str, Any] = {
            **fields,
            "given": AnalysisSettings(**analysis),
            "timeouts": DatabaseTimeouts(**fields["timeouts"]),
            "operator_key": KeySource(**fields["operator_key"]),
        }
        return cls(**values)


# --- errors ----------------------------------------------------------------------------------------------------------

_ERRORS_BY_NAME: Mapping[str, type[CollectorError]] = {
    kind.__name__: kind
    for kind in (
        StoreUnavailable,
        ObjectStoreUnavailable,
        ContentMissing,
        ContentCorrupt,
        CannotDecrypt,
        EncryptionMissing,
        WrongEncryptionKey,
    )
}


class AnalysisFailed(Exception):
    """A bug in an analysis. The message is the worker's traceback, for the log."""


def to_json(error: BaseException) -> dict[str, Any]:
    """Returns the error as JSON; an unknown error becomes `bug`, with its traceback."""
    if isinstance(error, Refused):
        fields = {"status": error.status, "code": error.code, "headers": dict(error.headers)}
        return {"kind": "Refused", "message": str(error), **fields}
    if type(error).__name__ in _ERRORS_BY_NAME:
        return {"kind": type(error).__name__, "message": str(error)}
    return {"kind": "bug", "message": "".join(traceback.format_exception(error)).encode("utf-8", "replace").decode()}


def from_json(fields: Mapping[str, Any]) -> Exception:
    """Returns the error to raise; AnalysisFailed for `bug`."""
    if fields["kind"] == "Refused":
        return Refused(fields["status"], fields["code"], fields["message"], fields["headers"])
    return _ERRORS_BY_NAME.get(fields["kind"], AnalysisFailed)(fields["message"])


def took_too_long(seconds: float) -> Refused:
    """The error for a question without an answer after `seconds`."""
    return Refused(
        503,
        "took_too_long",
        f"the question took too long: it was given up after {seconds:g} s; ask for less (a smaller limit, one decision "
        "or call instead of all), or raise PLAYHEAD_ANALYSIS_SECONDS",
    )


def too_large(limit: int, purpose: str) -> Refused:
    """The error for a question, or an answer, that needs more than `limit` bytes."""
    return Refused(
        503,
        "took_too_much",
        f"the question needs more than {limit >> 20} MiB for {purpose}: ask for less (a smaller limit, hydrate=false)",
    )


def queue_is_full(retry_seconds: int) -> Refused:
    """The error when the queue is full, or no process becomes free in time."""
    return Refused(
        503,
        "too_many_questions",
        "other questions are being answered: ask again later, or raise PLAYHEAD_ANALYSIS_PROCESSES",
        {"Retry-After": str(retry_seconds)},
    )


def ended(code: int | None) -> Refused:
    """The error when a worker process ended during a question. `code` is its exit code; negative: the signal."""
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
    return Refused(
        503,
        "analysis_ended",
        f"the process that worked on the question {how}: ask once more; if it happens again, ask for less, and see "
        "the collector's log and the machine's memory",
        {"Retry-After": "1"},
    )


def not_started(why: str) -> Refused:
    """The error when a worker process cannot be started."""
    return Refused(
        503,
        "analysis_not_started",
        f"no process for analysis can be started ({why}): see the collector's log",
        {"Retry-After": "5"},
    )
