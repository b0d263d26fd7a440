"""receive → [lift] → store.  Takes content out of spans and log events, whatever their dialect, and leaves refs.

    found            what was taken out: contents, threads, and what could not be read
    dialects         which attributes of which sender hold content; each dialect is one file
    message_events   conversations whose messages come one by one, as events of spans or as log records
    natives          messages, requests and answers as providers and frameworks write them
    stamps           the refs that are left in place of content
    indexed          attributes whose names describe a structure
    attribute_names  other people's attribute names → ours, and the span's kind
    handoffs         spans that pass the run on to another agent
    records          log records of coding agents: which part of a session each is
    unknown          what looks like content in spans that no dialect understood, so that they leak no payload
    sent_on          spans forwarded by another Playhead: restores the refs from their inline content
    oversize         values that no dialect knows and that are too long for a span

Pure, and never raises: values that cannot be read are kept as text and marked.  Several dialects on one span are normal
(an instrumentation that writes its own and OpenTelemetry's), so each takes what it knows, in the order of DIALECTS.
"""

import dataclasses
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from playhead.lift.attribute_names import add_project, normalise
from playhead.lift.dialects import BY_KIND, DIALECTS, SpanDialect
from playhead.lift.dialects.coding_agents import take_event, without_commands
from playhead.lift.dialects.conventions.otel_genai import hoist
from playhead.lift.dialects.frameworks.crewai import name_without_content
from playhead.lift.found import UNPARSED, LiftedContent, SharedMessages
from playhead.lift.handoffs import note_handoff
from playhead.lift.message_events import MessageEvents, is_answer, is_message
from playhead.lift.oversize import is_oversize, move, move_oversize, shorten
from playhead.lift.records import belongs_to_session, in_session, read_record
from playhead.lift.sent_on import refs_again, was_sent_on, with_refs_again
from playhead.lift.unknown import INLINE_CHARACTERS, move_content_like, scope_name
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import is_ref
from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead.wire.pack import ThreadExtension

__all__ = [
    "DIALECTS",
    "UNPARSED",
    "Lifted",
    "LiftedLog",
    "SharedMessages",
    "SpanDialect",
    "belongs_to_session",
    "lift",
    "lift_log",
    "lift_logs",
    "scope_name",
]

_STATUS_MESSAGE = "playhead.status_message"
_BODY = "body"  # of a log record, when it is a map


@dataclass(frozen=True, slots=True)
class Lifted:
    """A span that carries refs only, and the contents and threads of these refs.

    `is_understood`: False when no dialect knew the attributes and some of them looked like content.
    """

    span: Span
    contents: list[Content]
    threads: list[ThreadExtension]
    is_understood: bool = True


@dataclass(frozen=True, slots=True)
class LiftedLog:
    """A log event that has refs only, and the contents and threads of these refs; `is_understood` as in `Lifted`."""

    log: LogEvent
    contents: list[Content]
    threads: list[ThreadExtension]
    is_understood: bool = True


def lift(
    span: Span,
    inline_characters: int = INLINE_CHARACTERS,
    found: LiftedContent | None = None,
    shared: SharedMessages | None = None,
) -> Lifted:
    """Returns a copy of the span without payload, its kind and attribute names normalised.  Never raises.

    `inline_characters`: in a span that no dialect understands, longer texts become content.  `found`: an empty
    collection for the content; None: a new one.  `shared`: one for all spans that are lifted together, to save time.
    """
    if was_sent_on(span):
        found = found or LiftedContent(shared)
        span = with_refs_again(span, found)
    own = span.scope == names.SCOPE and names.KIND in span.attributes
    if own and not span.events and not span.links and not _is_oversize(span):
        return Lifted(span, found.contents, found.threads) if found is not None else Lifted(span, [], [])
    found = found or LiftedContent(shared)
    span = in_session(span)
    kind = _kind(span.attributes)
    messages = MessageEvents()
    of_events = [messages.take(event, found) for event in span.events]
    known = messages.any or _has_refs(span.attributes) or span.scope == names.SCOPE
    taken, is_understood = _taken_together((span.attributes, *of_events), kind, found, inline_characters, known=known)
    for event, each in zip(span.events, taken[1:], strict=True):
        take_event(event.name, each, found, taken[0])
    attributes, *of_events = [move_oversize(each, found) for each in taken]
    events = _events(span.events, of_events, attributes)
    messages.stamp(attributes, found, kind)
    found.mark(attributes)
    normalise(attributes, kind)
    if span.parent_id is None:
        add_project(attributes, span.resource)
    note_handoff(span.name, span.attributes, attributes)
    message = _status_message(span, attributes, found)
    lifted = dataclasses.replace(
        span,
        name=name_without_content(span.name, span.attributes),
        attributes=attributes,
        status_message=message,
        events=events,
        links=[_lift_link(link, found) for link in span.links],
        resource=move_oversize(without_commands(span.resource, found), found),
    )
    return Lifted(lifted, found.contents, found.threads, is_understood)


def lift_logs(logs: Iterable[LogEvent], inline_characters: int = INLINE_CHARACTERS) -> list[LiftedLog]:
    """Returns copies of the log events without payload, their attribute names normalised.  Never raises.

    Log events that are single messages of one span are joined to a thread, by time; the last of them gets its ref
    (`lift_log` does not join).  Each also gets the refs of its own messages: other batches may have more messages of
    the span, and the projector joins all of them.
    """
    lifted: dict[int, LiftedLog] = {}
    conversations: dict[tuple[str | None, str], list[tuple[int, LogEvent]]] = {}
    for at, log in enumerate(logs):
        if log.span_id is None or not is_message(log.name):
            lifted[at] = lift_log(log, inline_characters)
        else:
            conversations.setdefault((log.trace_id, log.span_id), []).append((at, log))
    for records in conversations.values():
        records.sort(key=lambda record: record[1].time_ns)
        of_span = _lift_conversation([log for _, log in records], inline_characters)
        lifted.update(zip((at for at, _ in records), of_span, strict=True))
    return [lifted[at] for at in range(len(lifted))]


def _lift_conversation(logs: Sequence[LogEvent], inline_characters: int) -> list[LiftedLog]:
    """Lifts the message events of one span together. `logs`: at least one."""
    messages, found = MessageEvents(), LiftedContent()
    lifted: list[LiftedLog] = []
    times: Counter[tuple[int, str, str]] = Counter()
    for log in logs:
        found = LiftedContent()
        one = _lift_log(log, inline_characters, messages, found)
        equal = (log.time_ns, log.name, repr(one.log.attributes))
        if times[equal]:  # else the two were taken for one that was sent again
            one.log.attributes[names.LOG_REPETITION] = times[equal]
        times[equal] += 1
        lifted.append(one)
    messages.stamp(lifted[-1].log.attributes, found)
    lifted[-1].contents[:], lifted[-1].threads[:] = found.contents, found.threads
    return lifted


def lift_log(
    log: LogEvent, inline_characters: int = INLINE_CHARACTERS, found: LiftedContent | None = None
) -> LiftedLog:
    """Returns a copy of the log event without payload, its attribute names normalised.  Never raises.

    For the arguments see `lift`.
    """
    return _lift_log(log, inline_characters, MessageEvents(), found or LiftedContent())


def _lift_log(log: LogEvent, inline_characters: int, messages: MessageEvents, found: LiftedContent) -> LiftedLog:
    if names.CONTENT_INLINE in log.attributes:
        log = dataclasses.replace(log, attributes=refs_again(log.attributes, found))
    own = log.scope == names.SCOPE and log.name.startswith(names.SCOPE)
    if own and not any(map(is_oversize, log.attributes.values())):
        return LiftedLog(log, found.contents, found.threads)
    log = read_record(log, found)
    kind = _kind(log.attributes)
    attributes = messages.take(SpanEvent(log.name, log.time_ns, log.attributes), found)
    taken, known = _taken(attributes, kind, found)
    moved = taken
    if log.scope != names.SCOPE and not known and not messages.any and not _has_refs(log.attributes):
        # A log record's body is content, whatever its length.
        moved = move(taken, [key for key in (names.LOG_BODY, _BODY) if key in taken], found)
        taken = moved
        moved = move_content_like(taken, found, inline_characters)
    attributes = dict(move_oversize(moved, found))
    found.mark(attributes)
    normalise(attributes, kind)
    if is_message(log.name) and messages.latest:
        name = names.LOG_OUTPUT_MESSAGES if is_answer(log.name) else names.LOG_INPUT_MESSAGES
        attributes[name] = [found.message(message) for message in messages.latest]
    lifted = dataclasses.replace(
        log, attributes=attributes, resource=move_oversize(without_commands(log.resource, found), found)
    )
    return LiftedLog(lifted, found.contents, found.threads, moved is taken)


def _status_message(span: Span, attributes: Attributes, found: LiftedContent) -> str:
    """The status message of a span. A long one is shortened, and its whole text stored behind a ref."""
    message = span.status_message
    if not is_oversize(message):
        return message
    attributes[_STATUS_MESSAGE + names.REF_SUFFIX] = found.content(message)
    return shorten(message)


def _is_oversize(span: Span) -> bool:
    return (
        any(map(is_oversize, span.attributes.values()))
        or any(map(is_oversize, span.resource.values()))
        or is_oversize(span.status_message)
    )


def _kind(attributes: Attributes) -> str | None:
    for dialect in BY_KIND:
        kind = dialect.kind(attributes)
        if kind is not None:
            return kind
    return None


def _has_refs(attributes: Attributes) -> bool:
    """Whether these attributes hold refs, as those that were lifted before do."""
    refs = [key for key in attributes if key.endswith(names.REF_SUFFIX)]
    return any(is_ref(attributes[key]) for key in refs)


def _taken_together(
    given: Sequence[Attributes], kind: str | None, found: LiftedContent, inline_characters: int, *, known: bool
) -> tuple[list[Attributes], bool]:
    """Returns the attributes of a span and of its events without content, and whether they were understood.

    `known`: they are understood already. Otherwise, if no dialect knows any of them, values that look like content are
    moved."""
    taken: list[Attributes] = []
    for each in given:
        attributes, spoken = _taken(each, kind, found)
        taken.append(attributes)
        known = known or spoken
    if known:
        return taken, True
    moved = [move_content_like(each, found, inline_characters) for each in taken]
    return moved, all(map(operator.is_, moved, taken))


def _taken(attributes: Attributes, kind: str | None, found: LiftedContent) -> tuple[Attributes, bool]:
    """Returns the attributes without the content that dialects know, and whether any dialect recognised them."""
    attributes = dict(attributes)
    begin = {key.partition(".")[0] for key in attributes}
    spoken = False
    for dialect in DIALECTS:
        if not dialect.PREFIXES.isdisjoint(begin) and dialect.speaks(attributes):
            before = dict(attributes)
            try:
                dialect.take(attributes, kind, found)
                # A dialect that matched only an empty value does not count: the value is gone when lifted again.
                spoken = spoken or _has_refs(attributes) or dialect.speaks(attributes)
            except Exception:  # noqa: BLE001 - a mistake of ours in one dialect must not cost anybody a span
                attributes = before
    return attributes, spoken


def _events(events: Sequence[SpanEvent], lifted: Sequence[Attributes], onto: Attributes) -> list[SpanEvent]:
    """Returns the events with their lifted attributes, and copies attributes about the span to `onto`."""
    found = [SpanEvent(event.name, event.time_ns, each) for event, each in zip(events, lifted, strict=True)]
    for event in found:
        hoist(event, onto)
    return found


def _lift_link(link: dict[str, Any], found: LiftedContent) -> dict[str, Any]:
    attributes = link.get("attributes")
    if not isinstance(attributes, dict):
        return link
    return {**link, "attributes": move_oversize(cast(Attributes, attributes), found)}
