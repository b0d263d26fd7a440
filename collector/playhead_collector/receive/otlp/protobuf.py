"""OTLP/protobuf → `Span` and `LogEvent`.  Pure; the hot path of [receive].

The envelope is walked as bytes, and spans are parsed one at a time, so that memory is bounded by the portions, and an
unreadable span is rejected alone. A parsed message takes up to a hundred times its encoded size, so a request is not
parsed as a whole. Walking costs 0.3 us per field and creates no objects.

The C parser of `protobuf` takes 1 us per span; most time goes into each access from Python to one of its objects. So
each field is read once, and the most common types of a value are tried first.

A span is large nearly always because of text in its attributes. Their number must be known before they are parsed; but
counting them takes longer than reading them. So attributes of large messages are counted and read in one pass over the
bytes: 0.6 us for each text. All other values and fields are left to `protobuf`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead_collector.errors import Refused
from playhead_collector.receive.otlp.decoded import (
    DROPPED_ATTRIBUTES,
    DROPPED_EVENTS,
    ITEM_COST,
    LAST_NS,
    MAX_DEPTH,
    NO_SPAN,
    NO_TRACE,
    Decoded,
    DecodeLimits,
    InvalidItem,
    check_ids,
    check_time,
    checked_attributes,
    event_of,
    optional_id,
    too_many,
    too_many_parts,
)

# --- the wire format -------------------------------------------------------------------------------------------------

# Field numbers of nested messages, by the name of the outer message, as in `opentelemetry/proto`.
Nested = Mapping[str, Mapping[int, str]]
_NESTED_VALUES: Final = {
    "KeyValue": {2: "AnyValue"},
    "AnyValue": {5: "ArrayValue", 6: "KeyValueList"},
    "ArrayValue": {1: "AnyValue"},
    "KeyValueList": {1: "KeyValue"},
}
NESTED: Final[Nested] = {
    "Span": {9: "KeyValue", 11: "Event", 13: "Link"},
    "Event": {3: "KeyValue"},
    "Link": {4: "KeyValue"},
    "LogRecord": {5: "AnyValue", 6: "KeyValue"},
    "Resource": {1: "KeyValue"},
    "InstrumentationScope": {3: "KeyValue"},
    **_NESTED_VALUES,
}
# Maximum of numeric fields in one message. OTLP has fewer than twenty in a span, and none in the messages around spans.
_MAX_NUMBERS: Final = 1_000
_LENGTH_DELIMITED, _VARINT, _FIXED64, _FIXED32 = 2, 0, 1, 5


class Malformed(ValueError):
    """These bytes are not in protobuf's wire format."""


def chunks(data: bytes, offset: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yields (field number, start, end) of each length-delimited field between two offsets. Raises Malformed."""
    numbers = 0
    try:
        while offset < end:
            key = data[offset]
            offset += 1
            if key > 127:
                key, offset = varint(data, offset - 1)
            kind = key & 7
            if kind == _LENGTH_DELIMITED:
                size = data[offset]
                offset += 1
                if size > 127:
                    size, offset = varint(data, offset - 1)
                stop = offset + size
                if stop > end:
                    raise Malformed("a field ends after its message")
                yield key >> 3, offset, stop
                offset = stop
                continue
            numbers += 1
            if numbers > _MAX_NUMBERS:
                raise Malformed(f"a message has more than {_MAX_NUMBERS} numbers")
            offset = _after_number(data, offset, kind)
    except IndexError:
        raise Malformed("it ends too early") from None
    if offset != end:
        raise Malformed("a field ends after its message")


def field(data: bytes, offset: int, end: int, number: int) -> bytes:
    """Returns the bytes of a message field; several occurrences are joined, as protobuf specifies. Raises Malformed."""
    return b"".join(
        [data[start:stop] for field_number, start, stop in chunks(data, offset, end) if field_number == number]
    )


def count_parts(data: bytes, message: str, most: int) -> int:
    """Returns the number of messages inside this one, at any depth. A result above `most` means only "more". Raises
    Malformed."""
    count = 0
    waiting = [(message, 0, len(data))]
    while waiting:
        name, offset, end = waiting.pop()
        inner = NESTED[name]
        for number, start, stop in chunks(data, offset, end):
            if (kind := inner.get(number)) is not None:
                count += 1
                if count > most:
                    return count
                if stop > start and kind in NESTED:
                    waiting.append((kind, start, stop))
    return count


def after_field(data: bytes, offset: int, end: int) -> int:
    """Returns the offset of the field after the one at `offset`. Raises Malformed, and IndexError when the data end
    inside the field."""
    key, offset = varint(data, offset)
    kind = key & 7
    if kind == _LENGTH_DELIMITED:
        size, offset = varint(data, offset)
        offset += size
    else:
        offset = _after_number(data, offset, kind)
    if offset > end:
        raise Malformed("a field ends after its message")
    return offset


def varint(data: bytes, offset: int) -> tuple[int, int]:
    """Returns the number at an offset, and the offset after it. Raises Malformed, and IndexError when the data end
    inside it."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7
        if shift > 63:
            raise Malformed("a number has more than 64 bits")


def _after_number(data: bytes, offset: int, kind: int) -> int:
    if kind == _VARINT:
        return varint(data, offset)[1]
    if kind not in {_FIXED64, _FIXED32}:
        raise Malformed(f"wire type {kind} is not used here")
    return offset + (8 if kind == _FIXED64 else 4)


# --- attributes of large messages ------------------------------------------------------------------------------------

# A KeyValue has field 1, the key, and field 2, an AnyValue, whose field 1 is a text. All are length-delimited.
_KEY_TAG, _VALUE_TAG, _TEXT_TAG = 0x0A, 0x12, 0x0A
# Names and sizes repeat with every span: so many are cached, of at most 127 bytes each.
_REMEMBERED: Final = 4_096
# Maximum of fields of a span or record that are not attributes, besides events and links: OTLP has fewer than twenty.
_MAX_FIELDS: Final = 1_000


class TooManyParts(ValueError):
    """The message has more parts than are allowed."""


def take_attributes(
    data: bytes, number: int, most_parts: int, value_of: Callable[[KeyValue], Any]
) -> tuple[Attributes, bytes, int]:
    """Returns the attributes of a message (its field `number`), the message without them, and the number of parts in
    the attributes at any depth. `value_of` reads values that are not texts.

    Raises Malformed, DecodeError, and TooManyParts above `most_parts`.
    """
    attributes: Attributes = {}
    others: list[bytes] = []
    tag, parts, fields = number << 3 | 2, 0, most_parts + _MAX_FIELDS
    offset = stop = 0
    end = len(data)
    try:
        while offset < end:
            if data[offset] != tag:
                offset, fields = after_field(data, offset, end), fields - 1
                if fields < 0:
                    raise TooManyParts
                continue
            others.append(data[stop:offset])
            size, offset = data[offset + 1], offset + 2
            if size > 127:
                size, offset = varint(data, offset - 1)
            stop = offset + size
            if stop > end:
                raise Malformed("a field ends after its message")
            value = offset + 2 + data[offset + 1]
            header = _text_header(stop - value)
            if header and data[offset] == _KEY_TAG and data[offset + 1] < 128 and data.startswith(header, value):
                parts += 2
                attributes[_attribute_name(data[offset + 2 : value])] = data[value + len(header) : stop].decode()
            else:
                parts += _take_other_attribute(data[offset:stop], attributes, most_parts - parts, value_of)
            if parts > most_parts:
                raise TooManyParts
            offset = stop
    except IndexError:
        raise Malformed("it ends too early") from None
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None
    return attributes, b"".join([*others, data[stop:]]), parts


def _take_other_attribute(
    data: bytes, attributes: Attributes, most_parts: int, value_of: Callable[[KeyValue], Any]
) -> int:
    """Adds an attribute of any kind; returns its number of parts."""
    parts = 1 + count_parts(data, "KeyValue", most_parts)
    if parts <= most_parts:
        pair = KeyValue.FromString(data)
        attributes[pair.key] = value_of(pair)
    return parts


@lru_cache(_REMEMBERED)
def _attribute_name(data: bytes) -> str:
    return data.decode()


@lru_cache(_REMEMBERED)
def _text_header(size: int) -> bytes:
    """Returns the bytes before a text in the AnyValue of a KeyValue, if header and text together take `size` bytes;
    empty if no text fits. Assumes that lengths are encoded in as few bytes as possible."""
    for lengths in range(2, 11):
        inner = lengths // 2
        text = size - lengths - 2
        header = b"%c%b%c%b" % (_VALUE_TAG, _varint_bytes(text + inner + 1), _TEXT_TAG, _varint_bytes(text))
        if text >= 0 and len(header) == lengths + 2:
            return header
    return b""


def _varint_bytes(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(max(number, 0))
    return bytes(out)


# --- requests --------------------------------------------------------------------------------------------------------

# In all three kinds of request, field 1 holds a resource's entry. In it, field 1 is the resource and field 2 a scope's
# entry. In that, field 1 is the scope and field 2 a span, record or metric.
_FIRST, _INNER = 1, 2
# Numbers of the fields that hold attributes.
_SPAN_ATTRIBUTES, _LOG_ATTRIBUTES = 9, 6
_IN_WORDS = {"Span": "a span", "LogRecord": "a log record"}
# A smaller message cannot have too many parts, and is parsed without a check.
_LOOK_INTO_BYTES = 4_096
# A scope has a name, a version and at most a few attributes.
_MAX_SCOPE_BYTES = 65_536
_UNREADABLE = "it is damaged, or an attribute is nested more than 32 levels deep: send it flatter, or as JSON text"

_Add = Callable[[Decoded, bytes, str, Attributes], int]


def traces(body: bytes, limits: DecodeLimits) -> Iterator[Decoded]:
    """The spans of an ExportTraceServiceRequest, by portions. Raises Refused when the body is not one."""
    return _portions(body, limits, partial(_add_span, limits))


def logs(body: bytes, limits: DecodeLimits) -> Iterator[Decoded]:
    """The log events of an ExportLogsServiceRequest, by portions. Raises Refused when the body is not one."""
    return _portions(body, limits, partial(_add_log, limits))


def count(body: bytes, limits: DecodeLimits) -> int:
    """Returns the number of spans, records or metrics in a request. Raises Refused: 400 when the body is not OTLP, 413
    for too many."""
    items = envelopes = 0
    # A span with its own scope and resource takes seven fields and counts 3 (itself and two envelopes). A request with
    # more fields is not OTLP.
    fields = 3 * limits.items + 10
    try:
        for number, offset, end in chunks(body, 0, len(body)):
            envelopes, fields = envelopes + 1, fields - 1
            for inner, scope_at, scope_end in chunks(body, offset, end) if number == _FIRST else ():
                envelopes, fields = envelopes + 1, fields - 1
                for innermost, _, _ in chunks(body, scope_at, scope_end) if inner == _INNER else ():
                    items, fields = items + (innermost == _INNER), fields - 1
                    if items + envelopes > limits.items or fields < 0:
                        raise too_many(limits)
                if items + envelopes > limits.items:
                    raise too_many(limits)
            if items + envelopes > limits.items:
                raise too_many(limits)
    except Malformed as error:
        raise _not_otlp(str(error)) from error
    return items


def _portions(body: bytes, limits: DecodeLimits, add: _Add) -> Iterator[Decoded]:
    decoded, cost, unreadable, items = Decoded(), 0, 0, 0
    try:
        for item, scope, resource in _items(body, limits):
            items += 1
            if cost >= limits.portion_cost:
                yield decoded
                decoded, cost = Decoded(), 0
            try:
                cost += add(decoded, item, scope, checked_attributes(resource))
            except InvalidItem as error:
                decoded.reject(error)
                unreadable += isinstance(error, _Unreadable)
            except (DecodeError, Malformed):
                decoded.reject(InvalidItem(_UNREADABLE))
                unreadable += 1
    except (DecodeError, Malformed) as error:
        raise _not_otlp(str(error)) from error
    if items and unreadable == items:  # then the body is probably not OTLP
        raise _not_otlp(_UNREADABLE)
    del body  # freed while the last portion waits for the database
    yield decoded


def _items(body: bytes, limits: DecodeLimits) -> Iterator[tuple[bytes, str, Attributes | InvalidItem]]:
    """Each span or record with its scope's name and its resource's attributes. Raises Malformed, DecodeError."""
    for number, offset, end in chunks(body, 0, len(body)):
        if number != _FIRST:
            continue
        resource = _resource(field(body, offset, end, _FIRST), limits)
        for inner, scope_at, scope_end in chunks(body, offset, end):
            if inner == _INNER:
                scope = _scope(field(body, scope_at, scope_end, _FIRST))
                for innermost, start, stop in chunks(body, scope_at, scope_end):
                    if innermost == _INNER:
                        yield body[start:stop], scope, resource


def _resource(data: bytes, limits: DecodeLimits) -> Attributes | InvalidItem:
    """The resource's attributes, or the error because of which only this resource's items are rejected."""
    try:
        if len(data) > _LOOK_INTO_BYTES and count_parts(data, "Resource", limits.parts) > limits.parts:
            return InvalidItem(f"its resource has {too_many_parts(limits)}")
        return _attributes(Resource.FromString(data).attributes)
    except (DecodeError, Malformed):
        return _Unreadable(_UNREADABLE)
    except InvalidItem as error:
        return error


def _scope(data: bytes) -> str:
    """A scope's name; empty for a scope with so many attributes that it is not parsed."""
    return InstrumentationScope.FromString(data).name if len(data) <= _MAX_SCOPE_BYTES else ""


class _Unreadable(InvalidItem):
    """The item is not protobuf, or nested too deep."""


def _not_otlp(why: str) -> Refused:
    return Refused(400, "bad_protobuf", f"the body is not OTLP in protobuf ({why}): see what is sent to which path")


# --- spans and records -----------------------------------------------------------------------------------------------


def _add_span(limits: DecodeLimits, decoded: Decoded, data: bytes, scope: str, resource: Attributes) -> int:
    """Adds a span; returns its cost in bytes of memory. Raises InvalidItem, DecodeError, Malformed."""
    if len(data) > _LOOK_INTO_BYTES:
        attributes, rest = _large_message_attributes(data, "Span", _SPAN_ATTRIBUTES, limits)
    else:
        attributes, rest = {}, data
    span = trace_pb2.Span.FromString(rest)
    parts = len(attributes) + len(span.attributes) + len(span.events) + len(span.links)
    decoded.spans.append(_span(span, attributes, scope, resource))
    return len(data) + (parts + 4) * ITEM_COST


def _add_log(limits: DecodeLimits, decoded: Decoded, data: bytes, scope: str, resource: Attributes) -> int:
    """Adds a log record; returns its cost in bytes of memory. Raises InvalidItem, DecodeError, Malformed."""
    if len(data) > _LOOK_INTO_BYTES:
        attributes, rest = _large_message_attributes(data, "LogRecord", _LOG_ATTRIBUTES, limits)
    else:
        attributes, rest = {}, data
    record = LogRecord.FromString(rest)
    parts = len(attributes) + len(record.attributes)
    decoded.add_log(_log(record, attributes, scope, resource))
    return len(data) + (parts + 4) * ITEM_COST


def _large_message_attributes(data: bytes, message: str, number: int, limits: DecodeLimits) -> tuple[Attributes, bytes]:
    """Returns a large message's attributes, and the message without them. Raises InvalidItem, DecodeError,
    Malformed."""
    try:
        attributes, rest, parts = take_attributes(data, number, limits.parts, _pair_value)
    except TooManyParts:
        raise InvalidItem(f"{_IN_WORDS[message]} has {too_many_parts(limits)}") from None
    if len(rest) > _LOOK_INTO_BYTES and parts + count_parts(rest, message, limits.parts - parts) > limits.parts:
        raise InvalidItem(f"{_IN_WORDS[message]} has {too_many_parts(limits)}")
    return attributes, rest


def _span(span: trace_pb2.Span, attributes: Attributes, scope: str, resource: Attributes) -> Span:
    """Returns the `Span`. `attributes` are those that were taken out before the rest was parsed."""
    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
    if len(trace_id) != 16 or len(span_id) != 8 or trace_id == NO_TRACE or span_id == NO_SPAN:
        check_ids(trace_id, span_id, span.name)
    start_ns, end_ns = span.start_time_unix_nano, span.end_time_unix_nano
    if start_ns > LAST_NS or end_ns > LAST_NS:
        check_time(max(start_ns, end_ns))
    attributes |= _attributes(span.attributes)
    if dropped := span.dropped_attributes_count:
        attributes[DROPPED_ATTRIBUTES] = dropped
    if dropped := span.dropped_events_count:
        attributes[DROPPED_EVENTS] = dropped
    status = span.status
    return Span(
        trace_id.hex(),
        span_id.hex(),
        optional_id(parent_id, 8, "parent span id") if parent_id else None,
        span.name,
        start_ns,
        end_ns or None,
        attributes,
        span.kind or 1,
        status.code,
        status.message,
        [SpanEvent(e.name, check_time(e.time_unix_nano), _attributes(e.attributes)) for e in span.events],
        [_link(link) for link in span.links],
        scope,
        resource,
    )


def _link(link: trace_pb2.Span.Link) -> dict[str, Any]:
    # A link without ids is useless, but no reason to reject the span.
    return {
        "trace_id": link.trace_id.hex(),
        "span_id": link.span_id.hex(),
        "attributes": _attributes(link.attributes),
    }


def _log(record: LogRecord, attributes: Attributes, scope: str, resource: Attributes) -> LogEvent:
    attributes |= _attributes(record.attributes)
    body = _value(record.body) if record.HasField("body") else None
    return LogEvent(
        event_of(record.event_name, body, record.severity_number, attributes, scope),
        check_time(record.time_unix_nano or record.observed_time_unix_nano),
        optional_id(record.trace_id, 16, "trace id"),
        optional_id(record.span_id, 8, "span id"),
        attributes,
        scope,
        resource,
    )


def _attributes(pairs: Iterable[KeyValue], depth: int = 0) -> Attributes:
    # Nearly every value is a text or a number other than 0, which are quick to check.
    return {pair.key: (value := pair.value).string_value or value.int_value or _value(value, depth) for pair in pairs}


def _pair_value(pair: KeyValue) -> Any:
    return _value(pair.value)


def _value(value: AnyValue, depth: int = 0) -> Any:
    match kind := value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            _check_depth(depth)
            return [_value(item, depth + 1) for item in value.array_value.values]
        case "kvlist_value":
            _check_depth(depth)
            return _attributes(value.kvlist_value.values, depth + 1)
        case _:
            # The kinds are not listed by name, so that kinds that a later OTLP adds are accepted as well.
            return getattr(value, kind)


def _check_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise InvalidItem(f"an attribute is nested more than {MAX_DEPTH} levels deep: send it flatter, or as JSON text")
