"""The result of decoding, and checks that both of OTLP's encodings share.  Pure; used by [receive]'s `from_*`."""

from dataclasses import dataclass, field
from typing import Final

from playhead.lift import belongs_to_session
from playhead.model import names
from playhead.model.span import Attributes, LogEvent, Span
from playhead_collector.errors import Refused
from playhead_collector.settings import MIB

# OpenTelemetry's attribute names for the dropped counts, for formats without fields for them; `Span` has no fields
# either.
DROPPED_ATTRIBUTES: Final = "otel.dropped_attributes_count"
DROPPED_EVENTS: Final = "otel.dropped_events_count"
# Attribute with the event's name before log records had a field for it (OTLP 1.5).
EVENT_NAME: Final = "event.name"
# Attribute that holds a log record's body.
BODY: Final = "body"
# Deeper nesting is an error of the sender, and could exhaust the stack of code that walks the values.
MAX_DEPTH: Final = 64

# Memory in bytes of a span, an attribute, an event or a link besides its data, until it is stored.
ITEM_COST: Final = 400

NO_TRACE, NO_SPAN = bytes(16), bytes(8)
LAST_NS = 2**63 - 1  # in the year 2262; also the largest bigint of Postgres


class InvalidItem(ValueError):
    """A span or log record cannot be stored; the message says why."""


def checked_attributes(resource: Attributes | InvalidItem) -> Attributes:
    """A resource's attributes. Raises InvalidItem if they could not be read: items of this resource are rejected."""
    if isinstance(resource, InvalidItem):
        raise resource
    return resource


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """Bounds of a request. `items`: spans, records or metrics; `parts`: of one item, at any depth; `portion_cost`:
    bytes of memory after which a portion ends; `json_cost`: bytes that a whole request in JSON may take."""

    items: int = 100_000
    parts: int = 10_000
    portion_cost: int = 8 * MIB
    json_cost: int = 128 * MIB


def too_many(limits: DecodeLimits) -> Refused:
    """Returns the 413 for a request with more spans, records or metrics than `limits` allow."""
    message = f"more than {limits.items} spans or records in one request: send smaller batches, or raise "
    return Refused(413, "too_many_spans", message + "PLAYHEAD_MAX_SPANS_PER_REQUEST")


def too_many_parts(limits: DecodeLimits) -> str:
    """Returns the error message for an item with too many attributes, events, links and nested values."""
    return (
        f"more than {limits.parts} attributes, events, links and values: send fewer, or raise PLAYHEAD_MAX_SPAN_PARTS"
    )


@dataclass(slots=True)
class Decoded:
    """The content of a request. `ignored`: number of log records that belong to no run, which are not stored."""

    spans: list[Span] = field(default_factory=list[Span])
    logs: list[LogEvent] = field(default_factory=list[LogEvent])
    rejected: int = 0
    reason: str = ""
    ignored: int = 0

    def reject(self, error: Exception) -> None:
        """Counts a rejected item. The reason of the first one is reported to the sender."""
        self.rejected += 1
        self.reason = self.reason or str(error)

    def add_log(self, event: LogEvent) -> None:
        """Adds a log record if it has an event name and belongs to a run; otherwise counts it as ignored."""
        has_run = event.trace_id or names.RUN_ID in event.attributes
        if event.name and (has_run or belongs_to_session(event.name, event.attributes, event.scope)):
            self.logs.append(event)
        else:
            self.ignored += 1


def check_ids(trace_id: bytes, span_id: bytes, name: str) -> None:
    """Checks that a span has both ids. Raises InvalidItem."""
    if not trace_id and not span_id:
        raise InvalidItem(f"span {name[:100]!r} has no ids: log records belong to /v1/logs, metrics to /v1/metrics")
    if len(trace_id) != 16 or trace_id == NO_TRACE:
        raise InvalidItem(
            f"span {name[:100]!r} has trace id '{trace_id[:32].hex()}': it takes 16 bytes that are not all 0"
        )
    if len(span_id) != 8 or span_id == NO_SPAN:
        raise InvalidItem(
            f"span {name[:100]!r} has span id '{span_id[:32].hex()}': it takes 8 bytes that are not all 0"
        )


def optional_id(raw: bytes, size: int, label: str) -> str | None:
    """The id in hex; None when it is missing or all zeros. Raises InvalidItem for another size."""
    if not raw or raw == bytes(size):
        return None
    if len(raw) != size:
        raise InvalidItem(f"{label} '{raw[:32].hex()}' has {len(raw)} bytes: it takes {size}")
    return raw.hex()


def check_time(ns: int) -> int:
    """Checks a time in ns since 1970. Raises InvalidItem for times after 2262."""
    if not 0 <= ns <= LAST_NS:
        raise InvalidItem(f"time {ns} is not between 1970 and 2262: times are nanoseconds since 1970")
    return ns


def event_of(name: str, body: object, severity: int, attributes: Attributes, scope: str) -> str:
    """Returns the name of a log record's event. Adds the body and the severity to `attributes`: a body that is a map
    (the form of an event) as BODY, any other body as LOG_BODY."""
    if isinstance(body, dict):
        attributes.setdefault(BODY, body)
    elif body not in (None, ""):
        attributes.setdefault(names.LOG_BODY, body)
    if severity > 0 and scope != names.SCOPE:  # Playhead's own records are identified by their names
        attributes.setdefault(names.LOG_SEVERITY, severity)
    return name or str(attributes.pop(EVENT_NAME, ""))
