"""What decoding gives, and what both of OTLP's encodings check alike.  Pure; used by [receive]'s `from_*`."""

from dataclasses import dataclass, field
from typing import Final

from playhead.model import names
from playhead.model.span import Attributes, LogEvent, Span
from playhead_collector.errors import Refused
from playhead_collector.settings import MIB

# OpenTelemetry's names for counts that other formats than OTLP have no field for; `Span` has none either.
DROPPED_ATTRIBUTES: Final = "otel.dropped_attributes_count"
DROPPED_EVENTS: Final = "otel.dropped_events_count"
# Where an event's name was before log records had a field for it (OTLP 1.5).
EVENT_NAME: Final = "event.name"
# What a log record's body is called among its attributes.
BODY: Final = "body"
# Values nest deeper only by accident, and everything that walks them would have to be prepared for it.
MAX_DEPTH: Final = 64

# What a span, an attribute, an event or a link takes in memory besides its bytes, while it is on its way to the store.
ITEM_COST: Final = 400

NO_TRACE, NO_SPAN = bytes(16), bytes(8)
LAST_NS = 2**63 - 1  # in the year 2262, and where Postgres's integers end


class Unusable(ValueError):
    """One span or log record that cannot be kept; the message says why."""


def usable(resource: Attributes | Unusable) -> Attributes:
    """A resource's attributes. Raises Unusable where they could not be read: that costs what has them."""
    if isinstance(resource, Unusable):
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
    """413 for a request with more spans, records or metrics than `limits`."""
    message = f"more than {limits.items} spans or records in one request: send smaller batches, or raise "
    return Refused(413, "too_many_spans", message + "PLAYHEAD_MAX_SPANS_PER_REQUEST")


def too_many_parts(limits: DecodeLimits) -> str:
    """What to say of an item with too many attributes, events, links and values within them."""
    return (
        f"more than {limits.parts} attributes, events, links and values: send fewer, or raise PLAYHEAD_MAX_SPAN_PARTS"
    )


@dataclass(slots=True)
class Decoded:
    """What a request held. `ignored`: log records that are no events of any run; they are accepted and not kept."""

    spans: list[Span] = field(default_factory=list[Span])
    logs: list[LogEvent] = field(default_factory=list[LogEvent])
    rejected: int = 0
    reason: str = ""
    ignored: int = 0

    def reject(self, error: Exception) -> None:
        """One item is left out; the first reason is the one that is told."""
        self.rejected += 1
        self.reason = self.reason or str(error)

    def add_log(self, event: LogEvent) -> None:
        """Keeps a record that says what happened, in which run."""
        if event.name and (event.trace_id or names.RUN_ID in event.attributes):
            self.logs.append(event)
        else:
            self.ignored += 1


def check_ids(trace_id: bytes, span_id: bytes, name: str) -> None:
    """A span needs both of its ids. Raises Unusable."""
    if not trace_id and not span_id:
        raise Unusable(f"span {name[:100]!r} has no ids: log records belong to /v1/logs, metrics to /v1/metrics")
    if len(trace_id) != 16 or trace_id == NO_TRACE:
        raise Unusable(
            f"span {name[:100]!r} has trace id '{trace_id[:32].hex()}': it takes 16 bytes that are not all 0"
        )
    if len(span_id) != 8 or span_id == NO_SPAN:
        raise Unusable(f"span {name[:100]!r} has span id '{span_id[:32].hex()}': it takes 8 bytes that are not all 0")


def optional_id(raw: bytes, size: int, what: str) -> str | None:
    """Hex of an id that may be left out, or be all zeros. Raises Unusable for any other size."""
    if not raw or raw == bytes(size):
        return None
    if len(raw) != size:
        raise Unusable(f"{what} '{raw[:32].hex()}' has {len(raw)} bytes: it takes {size}")
    return raw.hex()


def check_time(ns: int) -> int:
    """Nanoseconds since 1970. Raises Unusable after 2262."""
    if not 0 <= ns <= LAST_NS:
        raise Unusable(f"time {ns} is not between 1970 and 2262: times are nanoseconds since 1970")
    return ns


def event_of(name: str, body: object, severity: int, attributes: Attributes, scope: str) -> str:
    """The name of a log record's event.  Its body and its severity go to the attributes; a body that is a map, which is
    the form of an event, under a name that dialects know."""
    if isinstance(body, dict):
        attributes.setdefault(BODY, body)
    elif body not in (None, ""):
        attributes.setdefault(names.LOG_BODY, body)
    if severity > 0 and scope != names.SCOPE:  # ours say by their names what they are
        attributes.setdefault(names.LOG_SEVERITY, severity)
    return name or str(attributes.pop(EVENT_NAME, ""))
