"""OTLP/JSON → `Span` and `LogEvent`.  Pure.

Does not use protobuf's JSON reader, because OTLP's JSON differs from protobuf's: ids are hex. Accepts what the
specification requires (unknown fields, integers as text or as numbers, `NaN` as text), and common deviations: field
names in snake_case, names of enums instead of numbers.

Values and fields that cannot be read raise InvalidItem, with the value in the message.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, cast

import orjson

from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead_collector.errors import Refused
from playhead_collector.receive.otlp.decoded import (
    DROPPED_ATTRIBUTES,
    DROPPED_EVENTS,
    MAX_DEPTH,
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

Object = dict[str, Any]

_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_ENUM_NUMBERS = {f"SPAN_KIND_{name}": n for n, name in enumerate(_KINDS)} | {
    f"STATUS_CODE_{name}": n for n, name in enumerate(("UNSET", "OK", "ERROR"))
}


# --- values ----------------------------------------------------------------------------------------------------------


def attributes_of(owner: Object, field: str = "attributes", depth: int = 0) -> Attributes:
    """Returns a list of key-value pairs as a mapping."""
    return {text(pair, "key"): plain(get(pair, "value"), depth) for pair in objects(owner, field)}


def plain(value: object, depth: int = 0) -> Any:
    """Returns the Python value of an AnyValue; None for an unknown kind."""
    if value is None:
        return None
    if depth > MAX_DEPTH:
        raise InvalidItem(f"an attribute is nested more than {MAX_DEPTH} levels deep: send it flatter, or as JSON text")
    if not isinstance(value, dict):
        raise InvalidItem(f"an attribute's value is {_shown(value)} and not an object such as {{'stringValue': ...}}")
    for name, item in cast(Object, value).items():
        if item is not None and (read := _VALUE_READERS.get(_camel(name))):
            return read(item, depth)
    return None


def _string(value: object, _: int) -> str:
    if isinstance(value, str):
        return value
    raise InvalidItem(f"a stringValue is {_shown(value)}, not text")


def _boolean(value: object, _: int) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidItem(f"a boolValue is {_shown(value)}, not true or false")


def _double(value: Any, _: int) -> float:
    try:
        return float(value)  # also accepts 'NaN', 'Infinity' and '-Infinity'
    except (TypeError, ValueError, OverflowError):
        raise InvalidItem(f"a doubleValue is {_shown(value)}, not a number") from None


def _bytes(value: Any, _: int) -> bytes:
    try:
        standard = value.translate(str.maketrans("-_", "+/"))  # protobuf's JSON allows both alphabets, padded or not
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (AttributeError, TypeError, ValueError, binascii.Error):
        raise InvalidItem(f"a bytesValue is {_shown(value)}, not base64") from None


def _array(value: object, depth: int) -> list[Any]:
    return [plain(item, depth + 1) for item in list_of(as_object(value), "values")]


def _map(value: object, depth: int) -> Attributes:
    return attributes_of(as_object(value), "values", depth + 1)


def integer(value: Any, _: int = 0) -> int:
    """Returns an integer that was sent as a number or as text; 0 when it is missing."""
    if value is None:
        return 0
    try:
        number = int(value) if isinstance(value, str | int) else round(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidItem(f"{_shown(value)} is not an integer") from None
    if number != value and not isinstance(value, str):
        raise InvalidItem(f"{_shown(value)} is not an integer")
    if not -(2**63) <= number < 2**64:
        raise InvalidItem(f"{_shown(value)} has more than 64 bits")
    return number


_VALUE_READERS: dict[str, Callable[[Any, int], Any]] = {
    "stringValue": _string,
    "intValue": integer,
    "boolValue": _boolean,
    "doubleValue": _double,
    "bytesValue": _bytes,
    "arrayValue": _array,
    "kvlistValue": _map,
}


# --- fields ----------------------------------------------------------------------------------------------------------


def get(owner: Object, name: str) -> Any:
    """Returns a field, by its name in camelCase or in snake_case; None when it is missing."""
    value = owner.get(name)
    return owner.get(_snake(name)) if value is None else value


def list_of(owner: Object, name: str) -> list[Any]:
    """Returns a repeated field; empty when it is missing."""
    value = get(owner, name)
    if value is None:
        return []
    if isinstance(value, list):
        return cast(list[Any], value)
    raise InvalidItem(f"{name} is {_shown(value)}, not a list")


def objects(owner: Object, name: str) -> list[Object]:
    """Returns a repeated field of messages."""
    return [as_object(item, name) for item in list_of(owner, name)]


def object_of(owner: Object, name: str) -> Object:
    """Returns a field that is a message; empty when it is missing."""
    value = get(owner, name)
    return {} if value is None else as_object(value, name)


def as_object(value: object, name: str = "it") -> Object:
    """Returns the value, checked to be a message (a JSON object)."""
    if isinstance(value, dict):
        return cast(Object, value)
    raise InvalidItem(f"{name} is {_shown(value)}, not an object")


def text(owner: Object, name: str) -> str:
    """Returns a text field; empty when it is missing."""
    value = get(owner, name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise InvalidItem(f"{name} is {_shown(value)}, not text")


def hex_of(owner: Object, name: str) -> bytes:
    """Returns the bytes of an id; empty when it is missing."""
    digits = text(owner, name)
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise InvalidItem(f"{name} is {_shown(digits)}: ids are hex digits in OTLP's JSON") from None


def time_ns(owner: Object, name: str) -> int:
    """Returns a field that is a time, in ns since 1970."""
    return check_time(integer(get(owner, name)))


def enum(value: object) -> int:
    """Returns the number of an enum value, which may be sent as its name."""
    return _ENUM_NUMBERS[value] if isinstance(value, str) and value in _ENUM_NUMBERS else integer(value)


@cache  # called with a few dozen names of fields
def _snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _shown(value: object) -> str:
    return repr(value)[:100]


# --- requests --------------------------------------------------------------------------------------------------------

# Memory in bytes of each kind of value besides its data, by the character that each of them has.
_COSTS: Final = {b"{": 250, b"[": 100, b",": 16}
# Memory in bytes of a span until it is stored.
_SPAN_COST: Final = 4_000
_HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def cost(body: bytes, limits: DecodeLimits) -> int:
    """Returns an upper bound of the memory in bytes to decode the body. Raises Refused (413) when it is too large."""
    most_taken = len(body) + sum(body.count(mark) * size for mark, size in _COSTS.items())
    if most_taken > limits.json_cost:
        raise Refused(413, "too_many_values", "the JSON has too many values in it: send smaller batches, or protobuf")
    return most_taken


def traces(body: bytes, limits: DecodeLimits) -> Iterator[Decoded]:
    """The spans of an ExportTraceServiceRequest, by portions. Raises Refused when the body is not one."""
    return _portions(_listed_items(body, limits, "resourceSpans", "scopeSpans", "spans"), limits, _add_span)


def logs(body: bytes, limits: DecodeLimits) -> Iterator[Decoded]:
    """The log events of an ExportLogsServiceRequest, by portions. Raises Refused when the body is not one."""
    return _portions(_listed_items(body, limits, "resourceLogs", "scopeLogs", "logRecords"), limits, _add_log)


def metrics(body: bytes, limits: DecodeLimits) -> Iterator[Decoded]:
    """Yields the number of metrics in an ExportMetricsServiceRequest. Raises Refused when the body is not one."""
    yield Decoded(ignored=len(_listed_items(body, limits, "resourceMetrics", "scopeMetrics", "metrics")))


READERS: Final[Mapping[str, Callable[[bytes, DecodeLimits], Iterator[Decoded]]]] = {
    "traces": traces,
    "logs": logs,
    "metrics": metrics,
}
_ListedItem = tuple[Object, str, Attributes | InvalidItem]


def _portions(
    items: list[_ListedItem], limits: DecodeLimits, add: Callable[[Decoded, _ListedItem], None]
) -> Iterator[Decoded]:
    # The JSON objects are in memory already; portions bound the memory of the spans made of them.
    size = max(1, limits.portion_cost // _SPAN_COST)
    for start in range(0, len(items) or 1, size):
        decoded = Decoded()
        for place in range(start, min(start + size, len(items))):
            try:
                _check_parts(items[place][0], limits)
                add(decoded, items[place])
            except InvalidItem as error:
                decoded.reject(error)
        yield decoded


def _add_span(decoded: Decoded, item: _ListedItem) -> None:
    span, scope, resource = item
    decoded.spans.append(_span(span, scope, checked_attributes(resource)))


def _add_log(decoded: Decoded, item: _ListedItem) -> None:
    record, scope, resource = item
    decoded.add_log(_log(record, scope, checked_attributes(resource)))


def _check_parts(item: Object, limits: DecodeLimits) -> None:
    if sum(len(list_of(item, name)) for name in ("attributes", "events", "links")) > limits.parts:
        raise InvalidItem(f"a span or record has {too_many_parts(limits)}")


# --- the envelope ----------------------------------------------------------------------------------------------------


def _listed_items(body: bytes, limits: DecodeLimits, *path: str) -> list[_ListedItem]:
    items: list[_ListedItem] = []
    for item in _items(_parse(body), *path):
        items.append(item)
        if len(items) > limits.items:
            raise too_many(limits)
    return items


def _parse(body: bytes) -> Object:
    try:
        value = _loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "bad_json", f"the body is not JSON ({error}): see what is sent here") from error
    if not isinstance(value, dict):
        raise Refused(400, "bad_json", "the body is JSON, but no object: an OTLP request is one")
    return cast(Object, value)


def _loads(body: bytes) -> Any:
    if not body:
        return {}  # like an empty protobuf message: a valid request without items
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        if not _HALF_CHARACTER.search(body):
            raise
        # JavaScript may send half of a surrogate pair; only the standard library's parser accepts that.
        whole = json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
        return orjson.loads(whole)


def _resource(of_resource: Object) -> Attributes | InvalidItem:
    """The resource's attributes, or the error because of which only this resource's items are rejected."""
    try:
        return attributes_of(object_of(of_resource, "resource"))
    except InvalidItem as error:
        return error


def _items(request: Object, *path: str) -> Iterator[_ListedItem]:
    """Each span, record or metric with its scope's name and its resource's attributes. Raises Refused."""
    of_resources, of_scopes, items = path
    try:
        for of_resource in objects(request, of_resources):
            resource = _resource(of_resource)
            for of_scope in objects(of_resource, of_scopes):
                scope = text(object_of(of_scope, "scope"), "name")
                for item in objects(of_scope, items):
                    yield item, scope, resource
    except InvalidItem as error:
        raise Refused(400, "bad_otlp", f"the body is JSON, but not OTLP ({error}): see what is sent here") from error


# --- spans and records -----------------------------------------------------------------------------------------------


def _span(span: Object, scope: str, resource: Attributes) -> Span:
    trace_id, span_id, name = hex_of(span, "traceId"), hex_of(span, "spanId"), text(span, "name")
    check_ids(trace_id, span_id, name)
    attributes = attributes_of(span)
    for field, attribute in (("droppedAttributesCount", DROPPED_ATTRIBUTES), ("droppedEventsCount", DROPPED_EVENTS)):
        if dropped := integer(get(span, field)):
            attributes[attribute] = dropped
    status = object_of(span, "status")
    return Span(
        trace_id.hex(),
        span_id.hex(),
        optional_id(hex_of(span, "parentSpanId"), 8, "parent span id"),
        name,
        time_ns(span, "startTimeUnixNano"),
        time_ns(span, "endTimeUnixNano") or None,
        attributes,
        enum(get(span, "kind")) or 1,
        enum(get(status, "code")),
        text(status, "message"),
        [SpanEvent(text(e, "name"), time_ns(e, "timeUnixNano"), attributes_of(e)) for e in objects(span, "events")],
        [_link(link) for link in objects(span, "links")],
        scope,
        resource,
    )


def _link(link: Object) -> Object:
    return {
        "trace_id": hex_of(link, "traceId").hex(),
        "span_id": hex_of(link, "spanId").hex(),
        "attributes": attributes_of(link),
    }


def _severity(value: object) -> int:
    """Returns the severity number, 1 to 24. Returns 0 if it is missing, or a name, which OTLP/JSON does not allow."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _log(record: Object, scope: str, resource: Attributes) -> LogEvent:
    attributes = attributes_of(record)
    severity = _severity(get(record, "severityNumber"))
    return LogEvent(
        event_of(text(record, "eventName"), plain(get(record, "body")), severity, attributes, scope),
        time_ns(record, "timeUnixNano") or time_ns(record, "observedTimeUnixNano"),
        optional_id(hex_of(record, "traceId"), 16, "trace id"),
        optional_id(hex_of(record, "spanId"), 8, "span id"),
        attributes,
        scope,
        resource,
    )
