"""receive → [lift] → store.  Takes content out of spans and log events, whatever their dialect, and leaves refs.

    found         what was taken out: contents, threads, and what could not be read
    otel_genai    content under OpenTelemetry's GenAI names; later dialects are one file each, listed in DIALECTS
    normal        one name per idea: older attribute names, and the span's kind
    oversize      what no dialect knows and is too long for a span, so that unknown vocabularies leak no payload

Pure, and never raises: what cannot be read is kept as text and marked.  Several dialects on one span are normal (an
instrumentation that writes its own and OpenTelemetry's), so each takes what it knows, in the order of DIALECTS.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.pack import ThreadExtension
from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead_collector.lift import otel_genai
from playhead_collector.lift.found import UNPARSED, Found
from playhead_collector.lift.normal import normalise
from playhead_collector.lift.oversize import is_oversize, move_oversize, shorten

__all__ = ["DIALECTS", "UNPARSED", "Lifted", "LiftedLog", "SpanDialect", "lift", "lift_log"]


class SpanDialect(Protocol):
    """What every module in DIALECTS has."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """What the dialect is called."""
        ...

    def take(self, attributes: Attributes, found: Found, /) -> None:
        """Moves the content it knows out of the attributes, which are changed in place; leaves refs."""
        ...

    def hoist(self, event: SpanEvent, onto: Attributes, /) -> None:
        """Copies to the span what one of its events, taken already, says about the span."""
        ...


DIALECTS: Final[tuple[SpanDialect, ...]] = (otel_genai,)

_STATUS_MESSAGE = "playhead.status_message"


@dataclass(frozen=True, slots=True)
class Lifted:
    """A span that carries refs only, and what they name."""

    span: Span
    contents: list[Content]
    threads: list[ThreadExtension]


@dataclass(frozen=True, slots=True)
class LiftedLog:
    """A log event that carries refs only, and what they name."""

    log: LogEvent
    contents: list[Content]
    threads: list[ThreadExtension]


def lift(span: Span) -> Lifted:
    """The span payload-free, its kind and names normalised.  The span given stays as it is.  Never raises."""
    own = span.scope == names.SCOPE and names.KIND in span.attributes
    if own and not span.events and not span.links and not _is_oversize(span):
        return Lifted(span, [], [])
    found = Found()
    attributes = _taken(span.attributes, found)
    events = [_lift_event(event, attributes, found) for event in span.events]
    found.mark(attributes)
    normalise(attributes)
    message = span.status_message
    if is_oversize(message):
        message = shorten(message)
        attributes[_STATUS_MESSAGE + names.REF_SUFFIX] = found.content(span.status_message)
    lifted = dataclasses.replace(
        span,
        attributes=attributes,
        status_message=message,
        events=events,
        links=[_lift_link(link, found) for link in span.links],
        resource=move_oversize(span.resource, found),
    )
    return Lifted(lifted, found.contents, found.threads)


def lift_log(log: LogEvent) -> LiftedLog:
    """The log event payload-free, its names normalised.  The event given stays as it is.  Never raises."""
    own = log.scope == names.SCOPE and log.name.startswith(names.SCOPE)
    if own and not any(map(is_oversize, log.attributes.values())):
        return LiftedLog(log, [], [])
    found = Found()
    attributes = _taken(log.attributes, found)
    found.mark(attributes)
    normalise(attributes)
    lifted = dataclasses.replace(log, attributes=attributes, resource=move_oversize(log.resource, found))
    return LiftedLog(lifted, found.contents, found.threads)


def _is_oversize(span: Span) -> bool:
    return (
        any(map(is_oversize, span.attributes.values()))
        or any(map(is_oversize, span.resource.values()))
        or is_oversize(span.status_message)
    )


def _taken(attributes: Attributes, found: Found) -> Attributes:
    attributes = dict(attributes)
    for dialect in DIALECTS:
        dialect.take(attributes, found)
    return move_oversize(attributes, found)


def _lift_event(event: SpanEvent, onto: Attributes, found: Found) -> SpanEvent:
    lifted = SpanEvent(event.name, event.time_ns, _taken(event.attributes, found))
    for dialect in DIALECTS:
        dialect.hoist(lifted, onto)
    return lifted


def _lift_link(link: dict[str, Any], found: Found) -> dict[str, Any]:
    attributes = link.get("attributes")
    if not isinstance(attributes, dict):
        return link
    return {**link, "attributes": move_oversize(cast(Attributes, attributes), found)}
