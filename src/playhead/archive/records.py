"""Spans and log records on their way from a file to a collector: one each, with where it stands, and requests of many.

A record is kept in the form in which the file has it, JSON or protobuf, so that nothing of it is lost on the way.
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
from playhead.model.names import RUN_ID

T = TypeVar("T", bound=Message)
Signal = Literal["traces", "logs"]
JSON, PROTOBUF = "application/json", "application/x-protobuf"
Form = Literal["application/json", "application/x-protobuf"]

# Of each signal: the names of the lists of resources, of scopes and of records; a later name is an older one.
_LISTS: Final = {
    "traces": (("resourceSpans",), ("scopeSpans", "instrumentationLibrarySpans"), ("spans",)),
    "logs": (("resourceLogs",), ("scopeLogs", "instrumentationLibraryLogs"), ("logRecords", "logs")),
}
_SCOPES: Final = ("scope", "instrumentationLibrary")
METRICS: Final = "resourceMetrics"


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where something stands: a file, and the number of its line or of its record, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """Something in a file that is left out, and why."""

    where: FilePlace
    why: str


@dataclass(frozen=True, slots=True)
class OtlpRecord:
    """One span or log record with its resource and scope.  `size`: about how many bytes it takes in a request."""

    signal: Signal
    form: Form
    where: FilePlace
    size: int
    resource: Any
    scope: Any
    record: Any

    @property
    def run(self) -> str:
        """The run that it belongs to, as far as it can be told here; empty without one."""
        return _json_run(self.record) if self.form == JSON else _protobuf_run(self.record)


def json_records(request: Any, where: FilePlace, size: int) -> Iterator[OtlpRecord | UnreadableRecord]:
    """The records of an OTLP request in JSON, in either spelling of its names.  Metrics are none."""
    if not isinstance(request, dict):
        yield UnreadableRecord(where, "it is JSON, but no object: an OTLP request is one")
        return
    value = cast(dict[str, Any], request)
    found = False
    for signal in ("traces", "logs"):
        resources, scopes, records = _LISTS[signal]
        listed = list(_walk(value, resources, scopes, records))
        found = found or _get(value, *resources) is not None
        each_size = max(1, size // max(1, len(listed)))
        for each in listed:
            if isinstance(each, str):
                yield UnreadableRecord(where, each)
            else:
                yield OtlpRecord(signal, JSON, where, each_size, *each)
    if not found and _get(value, METRICS) is None:
        yield UnreadableRecord(where, "it is no OTLP request: it has neither resourceSpans nor resourceLogs")


def _walk(request: dict[str, Any], *path: Sequence[str]) -> Iterator[tuple[Any, Any, dict[str, Any]] | str]:
    """Resource, scope and record of each; a sentence for what cannot be read."""
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


def _objects(owner: dict[str, Any], spelt: Sequence[str]) -> Iterator[dict[str, Any] | str]:
    """The objects of a list, and a sentence for what is none."""
    value = _get(owner, *spelt)
    if value is not None and not isinstance(value, list):
        yield f"{spelt[0]} is {str(value)[:50]!r}, and no list"
        return
    for each in cast(list[Any], value or ()):
        if isinstance(each, dict):
            yield cast(dict[str, Any], each)
        else:
            yield f"among its {spelt[0]} is {str(each)[:50]!r}, which is no object"


def _get(owner: dict[str, Any], *spelt: str) -> Any:
    for name in spelt:
        for each in (name, _snake(name)):
            if owner.get(each) is not None:
                return owner[each]
    return None


def _snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def protobuf_records(data: bytes, where: FilePlace, hint: str = "") -> Iterator[OtlpRecord | UnreadableRecord]:
    """The records of an OTLP request in protobuf.  Which signal it is of, its first record tells, or `hint`, a name."""
    traces = _decoded(ExportTraceServiceRequest, data)
    if traces is not None and any(len(span.trace_id) == 16 for _, _, span in _spans_of(traces)):
        yield from _protobuf("traces", _spans_of(traces), where)
        return
    logs = _decoded(ExportLogsServiceRequest, data)
    if logs is not None and any(each.time_unix_nano or each.observed_time_unix_nano for _, _, each in _logs_of(logs)):
        yield from _protobuf("logs", _logs_of(logs), where)
    elif data and "metric" not in hint:
        yield UnreadableRecord(where, "it is no OTLP request in protobuf, or has neither spans nor log records")


def _decoded(kind: type[T], data: bytes) -> T | None:
    try:
        return kind.FromString(data)
    except DecodeError:
        return None


def _protobuf(signal: Signal, found: Iterable[tuple[Any, Any, Any]], where: FilePlace) -> Iterator[OtlpRecord]:
    for resource, scope, record in found:
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
    """The body of a request with these records, which are of one signal and of one form."""
    signal, form = records[0].signal, records[0].form
    return _json_request(signal, records) if form == JSON else _protobuf_request(signal, records)


def _by_origin(records: Iterable[OtlpRecord]) -> Iterator[list[OtlpRecord]]:
    for _, same in groupby(records, lambda each: (id(each.resource), id(each.scope))):
        yield list(same)


def _json_request(signal: Signal, records: Sequence[OtlpRecord]) -> bytes:
    (outer, *_), (inner, *_), (name, *_) = _LISTS[signal]
    listed: list[Any] = []
    for same in _by_origin(records):
        scope: dict[str, Any] = {"scope": same[0].scope or {}, name: [one.record for one in same]}
        listed.append({"resource": same[0].resource or {}, inner: [scope]})
    try:
        return orjson.dumps({outer: listed})
    except orjson.JSONEncodeError:  # half a character, or a number of more than 64 bits
        return canonical_json({outer: listed})


def _protobuf_request(signal: Signal, records: Sequence[OtlpRecord]) -> bytes:
    request: Any = ExportTraceServiceRequest() if signal == "traces" else ExportLogsServiceRequest()
    for same in _by_origin(records):
        outer = request.resource_spans.add() if signal == "traces" else request.resource_logs.add()
        outer.resource.CopyFrom(same[0].resource)
        inner = outer.scope_spans.add() if signal == "traces" else outer.scope_logs.add()
        inner.scope.CopyFrom(same[0].scope)
        (inner.spans if signal == "traces" else inner.log_records).extend(one.record for one in same)
    return request.SerializeToString()


# --- runs ------------------------------------------------------------------------------------------------------------


def _json_run(record: dict[str, Any]) -> str:
    for pair in _objects(record, ("attributes",)):
        if isinstance(pair, dict) and pair.get("key") == RUN_ID:
            value = pair.get("value")
            named = _get(cast(dict[str, Any], value), "stringValue") if isinstance(value, dict) else None
            return str(named or "")
    return str(_get(record, "traceId") or "").lower()


def _protobuf_run(record: Any) -> str:
    for pair in record.attributes:
        if pair.key == RUN_ID:
            return str(pair.value.string_value)
    return record.trace_id.hex()
