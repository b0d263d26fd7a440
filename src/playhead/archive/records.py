"""Spans and log records from a file on their way to a collector: single records with their position, and requests of
many.

A record stays in the form of its file, JSON or protobuf, so that nothing of it is lost.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, TypeVar, cast

import orjson
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead.model.canonical import canonical_json
from playhead.model.json_value import Json, JsonValue
from playhead.model.names import RUN_ID

T = TypeVar("T", bound=Message)
Signal = Literal["traces", "logs"]
JSON, PROTOBUF = "application/json", "application/x-protobuf"
Form = Literal["application/json", "application/x-protobuf"]

# By signal: names of the lists of resources, of scopes and of records. A second name is that of older versions.
_LISTS: Final = {
    "traces": (("resourceSpans",), ("scopeSpans", "instrumentationLibrarySpans"), ("spans",)),
    "logs": (("resourceLogs",), ("scopeLogs", "instrumentationLibraryLogs"), ("logRecords", "logs")),
}
_SCOPES: Final = ("scope", "instrumentationLibrary")
METRICS: Final = "resourceMetrics"


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A position: a file, and the number of a line or of a record in it, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """A part of a file that was left out, and why."""

    where: FilePlace
    why: str


@dataclass(frozen=True, slots=True)
class OtlpRecord:
    """One span or log record with its resource and scope. `size`: approximate number of bytes in a request."""

    signal: Signal
    form: Form
    where: FilePlace
    size: int
    resource: Any
    scope: Any
    record: Any

    @property
    def run(self) -> str:
        """The record's run id; without one, its trace id; empty if it has neither."""
        return _json_run(self.record) if self.form == JSON else _protobuf_run(self.record)


def json_records(request: JsonValue, where: FilePlace, size: int) -> Iterator[OtlpRecord | UnreadableRecord]:
    """Yields the records of an OTLP request in JSON, with names in camel case or snake case. Metrics are ignored."""
    if not isinstance(request, dict):
        yield UnreadableRecord(where, "it is JSON, but no object: an OTLP request is one")
        return
    is_request = False
    for signal in ("traces", "logs"):
        resources, scopes, records = _LISTS[signal]
        listed = list(_walk(request, resources, scopes, records))
        is_request = is_request or _get(request, *resources) is not None
        each_size = max(1, size // max(1, len(listed)))
        for item in listed:
            if isinstance(item, str):
                yield UnreadableRecord(where, item)
            else:
                yield OtlpRecord(signal, JSON, where, each_size, *item)
    if not is_request and _get(request, METRICS) is None:
        yield UnreadableRecord(where, "it is no OTLP request: it has neither resourceSpans nor resourceLogs")


def _walk(request: Json, *path: Sequence[str]) -> Iterator[tuple[Any, Any, Json] | str]:
    """Yields (resource, scope, record) for each record, and a sentence for each part that cannot be read."""
    of_resources, of_scopes, of_records = path
    for outer in _objects(request, of_resources):
        if isinstance(outer, str):
            yield outer
            continue
        resource = _get(outer, "resource")
        for inner in _objects(outer, of_scopes):
            if isinstance(inner, str):
                yield inner
                continue
            scope = _get(inner, *_SCOPES)
            for record in _objects(inner, of_records):
                yield record if isinstance(record, str) else (resource, scope, record)


def _objects(owner: Json, spelt: Sequence[str]) -> Iterator[Json | str]:
    """Yields the objects of a list, and a sentence for each item that is not an object."""
    value = _get(owner, *spelt)
    if value is not None and not isinstance(value, list):
        yield f"{spelt[0]} is {str(value)[:50]!r}, and no list"
        return
    for item in cast(list[JsonValue], value or ()):
        if isinstance(item, dict):
            yield item
        else:
            yield f"among its {spelt[0]} is {str(item)[:50]!r}, which is no object"


def _get(owner: Json, *spelt: str) -> Any:
    for name in spelt:
        for key in (name, _snake(name)):
            if owner.get(key) is not None:
                return owner[key]
    return None


def _snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def protobuf_records(data: bytes, where: FilePlace, hint: str = "") -> Iterator[OtlpRecord | UnreadableRecord]:
    """Yields the records of an OTLP request in protobuf. The signal is the one whose records have a valid trace id or a
    time. `hint`, a file name: with "metric" in it, a request without such records is not reported."""
    traces = _decoded(ExportTraceServiceRequest, data)
    if traces is not None and any(len(span.trace_id) == 16 for _, _, span in _spans_of(traces)):
        yield from _protobuf("traces", _spans_of(traces), where)
        return
    logs = _decoded(ExportLogsServiceRequest, data)
    if logs is not None and any(log.time_unix_nano or log.observed_time_unix_nano for _, _, log in _logs_of(logs)):
        yield from _protobuf("logs", _logs_of(logs), where)
    elif data and "metric" not in hint:
        yield UnreadableRecord(where, "it is no OTLP request in protobuf, or has neither spans nor log records")


def _decoded(kind: type[T], data: bytes) -> T | None:
    try:
        return kind.FromString(data)
    except DecodeError:
        return None


def _protobuf(signal: Signal, entries: Iterable[tuple[Any, Any, Any]], where: FilePlace) -> Iterator[OtlpRecord]:
    for resource, scope, record in entries:
        yield OtlpRecord(signal, PROTOBUF, where, record.ByteSize(), resource, scope, record)


def _spans_of(request: ExportTraceServiceRequest) -> Iterator[tuple[Any, Any, Any]]:
    for outer in request.resource_spans:
        resource = outer.resource
        for inner in outer.scope_spans:
            scope = inner.scope
            for span in inner.spans:
                yield resource, scope, span


def _logs_of(request: ExportLogsServiceRequest) -> Iterator[tuple[Any, Any, Any]]:
    for outer in request.resource_logs:
        resource = outer.resource
        for inner in outer.scope_logs:
            scope = inner.scope
            for record in inner.log_records:
                yield resource, scope, record


# --- requests --------------------------------------------------------------------------------------------------------


def request_of(records: Sequence[OtlpRecord]) -> bytes:
    """Returns the body of a request with these records, which have one signal and one form."""
    signal, form = records[0].signal, records[0].form
    return _json_request(signal, records) if form == JSON else _protobuf_request(signal, records)


def _by_origin(records: Iterable[OtlpRecord]) -> Iterator[list[OtlpRecord]]:
    for _, same in groupby(records, lambda record: (id(record.resource), id(record.scope))):
        yield list(same)


def _json_request(signal: Signal, records: Sequence[OtlpRecord]) -> bytes:
    (outer, *_), (inner, *_), (name, *_) = _LISTS[signal]
    listed: list[JsonValue] = []
    for same in _by_origin(records):
        scope: Json = {"scope": same[0].scope or {}, name: [record.record for record in same]}
        listed.append({"resource": same[0].resource or {}, inner: [scope]})
    try:
        return orjson.dumps({outer: listed})
    except orjson.JSONEncodeError:  # a lone surrogate, or a number of more than 64 bits
        return canonical_json({outer: listed})


def _protobuf_request(signal: Signal, records: Sequence[OtlpRecord]) -> bytes:
    request: Any = ExportTraceServiceRequest() if signal == "traces" else ExportLogsServiceRequest()
    for same in _by_origin(records):
        outer = request.resource_spans.add() if signal == "traces" else request.resource_logs.add()
        outer.resource.CopyFrom(same[0].resource)
        inner = outer.scope_spans.add() if signal == "traces" else outer.scope_logs.add()
        inner.scope.CopyFrom(same[0].scope)
        (inner.spans if signal == "traces" else inner.log_records).extend(record.record for record in same)
    return request.SerializeToString()


# --- runs ------------------------------------------------------------------------------------------------------------


def _json_run(record: Json) -> str:
    for pair in _objects(record, ("attributes",)):
        if isinstance(pair, dict) and pair.get("key") == RUN_ID:
            value = pair.get("value")
            named = _get(value, "stringValue") if isinstance(value, dict) else None
            return str(named or "")
    return str(_get(record, "traceId") or "").lower()


def _protobuf_run(record: Any) -> str:
    for pair in record.attributes:
        if pair.key == RUN_ID:
            return str(pair.value.string_value)
    return record.trace_id.hex()
