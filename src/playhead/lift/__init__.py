"""receive → [lift] → store.  Takes content out of spans and log events, whatever their dialect, and leaves refs.

    found            what was taken out: contents, threads, and what could not be read
    otel_genai       content under OpenTelemetry's GenAI names; each dialect is one file, listed in DIALECTS
    attribute_names  older attribute names → today's, and the span's kind
    unknown          what looks like content in spans that no dialect understood, so that they leak no payload
    oversize         what no dialect knows and is too long for any span

Pure, and never raises: what cannot be read is kept as text and marked.  Several dialects on one span are normal (an
instrumentation that writes its own and OpenTelemetry's), so each takes what it knows, in the order of DIALECTS.
"""

import dataclasses
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from playhead.lift import otel_genai
from playhead.lift.attribute_names import normalise
from playhead.lift.found import UNPARSED, LiftedContent
from playhead.lift.oversize import is_oversize, move, move_oversize, shorten
from playhead.lift.unknown import INLINE_CHARACTERS, move_content_like, scope_name
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead.wire.pack import ThreadExtension

__all__ = ["DIALECTS", "UNPARSED", "Lifted", "LiftedLog", "SpanDialect", "lift", "lift_log", "scope_name"]


class SpanDialect(Protocol):
    """What every module in DIALECTS has."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """What the dialect is called."""
        ...

    def take(self, attributes: Attributes, found: LiftedContent, /) -> None:
        """Moves the content it knows out of the attributes, which are changed in place; leaves refs."""
        ...

    def knows(self, attributes: Attributes, /) -> bool:
        """Whether these attributes, taken already, name content of its own: then it understood what they are about."""
        ...

    def hoist(self, event: SpanEvent, onto: Attributes, /) -> None:
        """Copies to the span what one of its events, taken already, says about the span."""
        ...


DIALECTS: Final[tuple[SpanDialect, ...]] = (otel_genai,)

_STATUS_MESSAGE = "playhead.status_message"
_BODY = "body"  # of a log record, when it is a map


@dataclass(frozen=True, slots=True)
class Lifted:
    """A span that carries refs only, and what they name.

    `is_understood`: False when there was what looks like content, and no dialect knew what it is.
    """

    span: Span
    contents: list[Content]
    threads: list[ThreadExtension]
    is_understood: bool = True


@dataclass(frozen=True, slots=True)
class LiftedLog:
    """A log event that carries refs only, and what they name; `is_understood` as for spans."""

    log: LogEvent
    contents: list[Content]
    threads: list[ThreadExtension]
    is_understood: bool = True


def lift(span: Span, inline_characters: int = INLINE_CHARACTERS, found: LiftedContent | None = None) -> Lifted:
    """The span payload-free, its kind and names normalised.  The span given stays as it is.  Never raises.

    `inline_characters`: of a span that no dialect understands, longer texts become content.  `found`: an empty one that
    takes the content instead of a new one.
    """
    own = span.scope == names.SCOPE and names.KIND in span.attributes
    if own and not span.events and not span.links and not _is_oversize(span):
        return Lifted(span, [], [])
    found = found or LiftedContent()
    taken = [_taken(each, found) for each in (span.attributes, *(event.attributes for event in span.events))]
    is_understood = True
    if span.scope != names.SCOPE and not any(map(_is_known, taken)):
        moved = [move_content_like(each, found, inline_characters) for each in taken]
        is_understood = all(map(operator.is_, moved, taken))
        taken = moved
    attributes, *of_events = [move_oversize(each, found) for each in taken]
    events = _events(span.events, of_events, attributes)
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
    return Lifted(lifted, found.contents, found.threads, is_understood)


def lift_log(
    log: LogEvent, inline_characters: int = INLINE_CHARACTERS, found: LiftedContent | None = None
) -> LiftedLog:
    """The log event payload-free, its names normalised.  The event given stays as it is.  Never raises.

    Arguments as of `lift`.
    """
    own = log.scope == names.SCOPE and log.name.startswith(names.SCOPE)
    if own and not any(map(is_oversize, log.attributes.values())):
        return LiftedLog(log, [], [])
    found = found or LiftedContent()
    taken = moved = _taken(log.attributes, found)
    if log.scope != names.SCOPE and not _is_known(taken):
        # What a log record says is content, whatever its length.
        moved = move(taken, [key for key in (names.LOG_BODY, _BODY) if key in taken], found)
        taken = moved
        moved = move_content_like(taken, found, inline_characters)
    attributes = dict(move_oversize(moved, found))
    found.mark(attributes)
    normalise(attributes)
    lifted = dataclasses.replace(log, attributes=attributes, resource=move_oversize(log.resource, found))
    return LiftedLog(lifted, found.contents, found.threads, moved is taken)


def _is_oversize(span: Span) -> bool:
    return (
        any(map(is_oversize, span.attributes.values()))
        or any(map(is_oversize, span.resource.values()))
        or is_oversize(span.status_message)
    )


def _taken(attributes: Attributes, found: LiftedContent) -> Attributes:
    attributes = dict(attributes)
    for dialect in DIALECTS:
        dialect.take(attributes, found)
    return attributes


def _is_known(taken: Attributes) -> bool:
    return any(dialect.knows(taken) for dialect in DIALECTS)


def _events(events: Sequence[SpanEvent], lifted: Sequence[Attributes], onto: Attributes) -> list[SpanEvent]:
    """The events with their attributes lifted; what they say about their span is copied onto it."""
    found = [SpanEvent(event.name, event.time_ns, each) for event, each in zip(events, lifted, strict=True)]
    for event in found:
        for dialect in DIALECTS:
            dialect.hoist(event, onto)
    return found


def _lift_link(link: dict[str, Any], found: LiftedContent) -> dict[str, Any]:
    attributes = link.get("attributes")
    if not isinstance(attributes, dict):
        return link
    return {**link, "attributes": move_oversize(cast(Attributes, attributes), found)}
