"""spans → [otlp] → endpoint. Writes spans and log events as OTLP protobuf, and reads the answers. Pure.

Requests are written as bytes, field by field, and not with protobuf's message classes: this takes less than half the
time, and it is most of the cost of sending a span. A field is a tag (the field's number in OTLP's `.proto` files and
the kind of its value), then the length of a text or a message, then the value.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from struct import Struct
from struct import error as StructError  # noqa: N812 - an exception's name
from typing import TYPE_CHECKING, Any, TypeVar

from playhead.model.json_value import JsonMapping, JsonValue, object_at
from playhead.model.span import LogEvent, Span, SpanEvent

if TYPE_CHECKING:
    from google.protobuf.message import Message

T = TypeVar("T", Span, LogEvent)
A = TypeVar("A", bound="Message")

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_MIN_INT, _MAX_INT = -(2**63), 2**63 - 1
_MIN_ENUM, _MAX_ENUM = -(2**31), 2**31 - 1
_BITS_64 = 2**64 - 1
_ONE_TIME, _TWO_TIMES = Struct("<cQ"), Struct("<cQcQ")
_ONE_DOUBLE = Struct("<cd")


def _tag(field: int, kind: int) -> bytes:
    """Returns the tag of a field with a number below 16: one byte."""
    return bytes((field << 3 | kind,))


# Export...ServiceRequest, Resource..., Scope..., Resource and InstrumentationScope: the same for spans and log events
_REQUEST_RESOURCES, _RESOURCE, _SCOPES, _SCOPE, _RECORDS = (_tag(field, _LENGTH) for field in (1, 1, 2, 1, 2))
_RESOURCE_ATTRIBUTES, _SCOPE_NAME = _tag(1, _LENGTH), _tag(1, _LENGTH)
# Span
_TRACE_ID, _SPAN_ID, _PARENT_ID, _NAME = (_tag(field, _LENGTH) for field in (1, 2, 4, 5))
_KIND, _START, _END = _tag(6, _VARINT), _tag(7, _FIXED64), _tag(8, _FIXED64)
_ATTRIBUTES, _EVENTS, _LINKS, _STATUS = (_tag(field, _LENGTH) for field in (9, 11, 13, 15))
# Span.Event, Span.Link and Status
_EVENT_TIME, _EVENT_NAME, _EVENT_ATTRIBUTES = _tag(1, _FIXED64), _tag(2, _LENGTH), _tag(3, _LENGTH)
_LINK_ATTRIBUTES = _tag(4, _LENGTH)
_STATUS_MESSAGE, _STATUS_CODE = _tag(2, _LENGTH), _tag(3, _VARINT)
# LogRecord
_LOG_TIME = _tag(1, _FIXED64)
_LOG_ATTRIBUTES, _LOG_TRACE_ID, _LOG_SPAN_ID, _LOG_NAME = (_tag(field, _LENGTH) for field in (6, 9, 10, 12))
# KeyValue; AnyValue; ArrayValue and KeyValueList
_KEY, _VALUE = _tag(1, _LENGTH), _tag(2, _LENGTH)
_STRING, _BOOL, _INT, _DOUBLE = _tag(1, _LENGTH), _tag(2, _VARINT), _tag(3, _VARINT), _tag(4, _FIXED64)
_ARRAY, _MAP, _ITEMS = _tag(5, _LENGTH), _tag(6, _LENGTH), _tag(1, _LENGTH)


def traces_request(spans: Sequence[Span]) -> bytes:
    """Returns the body of POST /v1/traces. Raises ValueError or TypeError for a span that OTLP cannot express."""
    attributes = _Attributes(_ATTRIBUTES)
    return b"".join(_by_origin(spans, lambda span: _span(span, attributes)))


def logs_request(logs: Sequence[LogEvent]) -> bytes:
    """Returns the body of POST /v1/logs. Raises like `traces_request`."""
    attributes = _Attributes(_LOG_ATTRIBUTES)
    return b"".join(_by_origin(logs, lambda log: _log(log, attributes)))


def rejected_spans(answer: bytes) -> tuple[int, str]:
    """Returns (number of refused spans, reason) from an answer. A reason with the number 0 is only a warning."""
    if not answer:
        return 0, ""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - see `_read`
        ExportTraceServiceResponse,
    )

    partial = _read(ExportTraceServiceResponse, answer).partial_success
    return partial.rejected_spans, partial.error_message


def rejected_logs(answer: bytes) -> tuple[int, str]:
    """Returns (number of refused log events, reason) from an answer; see `rejected_spans`."""
    if not answer:
        return 0, ""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (  # noqa: PLC0415 - see `_read`
        ExportLogsServiceResponse,
    )

    partial = _read(ExportLogsServiceResponse, answer).partial_success
    return partial.rejected_log_records, partial.error_message


def status_message(answer: bytes) -> str:
    """Returns the message of the `google.rpc.Status` in the answer to a failed request; empty if the answer is not
    one."""
    if not answer:
        return ""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - see `_read`
        ExportTracePartialSuccess,
    )

    # A Status begins with the same fields as a partial success, a number and a text: no other package is needed.
    return _read(ExportTracePartialSuccess, answer).error_message


def _read(kind: type[A], answer: bytes) -> A:
    """Parses an answer; returns an empty message if it cannot be parsed. Protobuf is imported late because most answers
    are empty."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - see the docstring

    try:
        return kind.FromString(answer)
    except DecodeError:  # some receivers answer a protobuf request in JSON
        return kind()


# --- requests ---------------------------------------------------------------------------------------------------------


def _by_origin(records: Sequence[T], encode: Callable[[T], bytes]) -> Iterator[bytes]:
    """Yields the parts of a request: one per sequence of records with the same resource and scope."""
    # Records of one lane share the resource's dictionary, not only its value.
    for _, same in groupby(records, lambda record: (id(record.resource), record.scope)):
        first, *others = same
        resource = _Attributes(_RESOURCE_ATTRIBUTES).encode(first.resource)
        scope = [_field(_SCOPE, _text(_SCOPE_NAME, first.scope))]
        scope += (_field(_RECORDS, encode(record)) for record in (first, *others))
        body = b"".join(((_field(_RESOURCE, resource) if resource else b""), _field(_SCOPES, b"".join(scope))))
        yield _field(_REQUEST_RESOURCES, body)


def _span(span: Span, attributes: "_Attributes") -> bytes:
    parts = [
        _field(_TRACE_ID, bytes.fromhex(span.trace_id)),
        _field(_SPAN_ID, bytes.fromhex(span.span_id)),
        _field(_PARENT_ID, bytes.fromhex(span.parent_id)) if span.parent_id else b"",
        _text(_NAME, span.name),
        _enum(_KIND, span.kind),
        _fixed(_TWO_TIMES, _START, span.start_ns, _END, span.end_ns or 0),
        attributes.encode(span.attributes),
    ]
    if span.events:
        parts += (_field(_EVENTS, _event(event)) for event in span.events)
    if span.links:
        parts += (_field(_LINKS, _link(link)) for link in span.links)
    if span.status:
        parts.append(_field(_STATUS, _text(_STATUS_MESSAGE, span.status_message) + _enum(_STATUS_CODE, span.status)))
    return b"".join(parts)


def _event(event: SpanEvent) -> bytes:
    time = _fixed(_ONE_TIME, _EVENT_TIME, event.time_ns)
    return time + _text(_EVENT_NAME, event.name) + _Attributes(_EVENT_ATTRIBUTES).encode(event.attributes)


def _link(link: JsonMapping) -> bytes:
    trace, span = str(link["trace_id"]), str(link["span_id"])
    ids = _field(_TRACE_ID, bytes.fromhex(trace)) + _field(_SPAN_ID, bytes.fromhex(span))
    return ids + _Attributes(_LINK_ATTRIBUTES).encode(object_at(link, "attributes"))


def _log(log: LogEvent, attributes: "_Attributes") -> bytes:
    parts = (
        _fixed(_ONE_TIME, _LOG_TIME, log.time_ns),
        attributes.encode(log.attributes),
        _field(_LOG_TRACE_ID, bytes.fromhex(log.trace_id)) if log.trace_id else b"",
        _field(_LOG_SPAN_ID, bytes.fromhex(log.span_id)) if log.span_id else b"",
        _text(_LOG_NAME, log.name),
    )
    return b"".join(parts)


# --- attributes -------------------------------------------------------------------------------------------------------


class _Heads(dict[tuple[str, int], bytes]):
    """Caches (key, length of the value) → the bytes of an attribute before its value.

    Used for one request, whose records have the same keys, and values of the same lengths.
    """

    def __init__(self, tag: bytes, of_value: bytes):
        """`tag`: tag of the field that holds the attributes; `of_value`: tag of the value, a text or an integer."""
        super().__init__()
        self._tag = tag
        self._of_value = of_value

    def __missing__(self, place: tuple[str, int]) -> bytes:
        key, size = place
        in_value = self._of_value + _number(size) if self._of_value == _STRING else self._of_value
        in_attribute = _text(_KEY, key) + _VALUE + _number(len(in_value) + size) + in_value
        head = self[place] = self._tag + _number(len(in_attribute) + size) + in_attribute
        return head


class _Attributes:
    """Writes attributes as fields of the message that they belong to."""

    def __init__(self, tag: bytes):
        """`tag`: tag of the field that holds the attributes."""
        self._tag = tag
        self._texts, self._integers = _Heads(tag, _STRING), _Heads(tag, _INT)

    def encode(self, attributes: JsonMapping) -> bytes:
        """Returns the bytes of the attributes; those with value None are left out."""
        texts, integers = self._texts, self._integers
        parts: list[bytes] = []
        for key, value in attributes.items():
            if type(value) is str:
                text = value.encode()
                parts += (texts[key, len(text)], text)
            elif type(value) is int and 0 <= value <= _MAX_INT:
                number = _number(value)
                parts += (integers[key, len(number)], number)
            elif value is not None:
                parts.append(_field(self._tag, _text(_KEY, key) + _field(_VALUE, _any_value(value))))
        return b"".join(parts)


def _any_value(value: JsonValue) -> bytes:
    match value:
        case str():
            return _field(_STRING, value.encode())
        case bool():
            return _BOOL + _number(value)
        case int():
            # OTLP's integers have 64 bits: a larger one is sent as text, so that its value stays exact.
            if _MIN_INT <= value <= _MAX_INT:
                return _INT + _number(value & _BITS_64)
            return _field(_STRING, str(value).encode())
        case float():
            return _ONE_DOUBLE.pack(_DOUBLE, value)
        case list():
            items = (_field(_ITEMS, _any_value(item)) for item in value)
            return _field(_ARRAY, b"".join(items))
        case dict():
            return _field(_MAP, _Attributes(_ITEMS).encode(value))
        case None:
            return b""
        case _:
            raise TypeError(f"OTLP has no value for {type(value).__name__}")


# --- fields -----------------------------------------------------------------------------------------------------------


def _field(tag: bytes, value: bytes) -> bytes:
    """Returns a field with a text in UTF-8, an id, or a message."""
    return tag + _number(len(value)) + value


def _text(tag: bytes, text: str) -> bytes:
    """Returns a field with a text; nothing for an empty text, as protobuf does. Raises TypeError for another type, and
    ValueError for a lone surrogate."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a file may have another type
        raise TypeError(f"OTLP takes a text, not {type(text).__name__}")
    return _field(tag, text.encode()) if text else b""


def _enum(tag: bytes, value: int) -> bytes:
    """Returns a field with a 32-bit number; nothing for 0, as protobuf does. Raises ValueError for a larger number."""
    if not _MIN_ENUM <= value <= _MAX_ENUM:
        raise ValueError(f"OTLP has no number {value} here")
    return tag + _number(value & _BITS_64) if value else b""


def _fixed(fields: Struct, *values: Any) -> bytes:
    """Returns fields with 64-bit numbers. `values`: a tag and a number for each. Raises ValueError."""
    try:
        return fields.pack(*values)
    except StructError as error:
        raise ValueError(f"OTLP has no such time: {error}") from None


_ONE_BYTE = [bytes((value,)) for value in range(128)]


def _number(value: int) -> bytes:
    """Returns a number below 2**64 as a varint: seven bits per byte, the lowest first."""
    if value < 128:
        return _ONE_BYTE[value]
    if value < 2**14:
        return bytes((value & 127 | 128, value >> 7))
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    digits.append(value)
    return bytes(digits)
