"""receive → [lift] → store.  Moves content out of spans and log events of any dialect, and leaves refs in its place.

    extraction         collects the content, and sets the refs in its place
    dialects           which attributes of which sender hold content; one file per dialect
    message_events     conversations that were recorded one message at a time, as events of spans or as log records
    provider_messages  one message in the form of a provider or framework
    provider_bodies    requests and answers in these forms
    indexed            attributes whose names describe a structure
    attribute_names    attribute names of others → our names, and the span's kind
    session_logs       log records of coding agents: which part of a session each is
    forwarded_spans    spans forwarded by another Playhead: restores the refs from their inline content
    oversize           values that no dialect knows and that are too long for a span
    unknown_content    what looks like content in spans that no dialect understood, so that they leak no payload
    handoffs           spans that hand a run over from one agent to another

This file lifts one span or log record with all of these.

Pure, and never raises: values that cannot be read are kept as text and marked. One span often has attributes of several
dialects (an instrumentation writes its own and OpenTelemetry's), so each dialect takes what it knows, in the order of
DIALECTS.
"""

import dataclasses
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from playhead.lift.attribute_names import add_project, use_current_names
from playhead.lift.dialects import BY_KIND, DIALECTS, SpanDialect, langfuse
from playhead.lift.dialects.coding_agents import extract_event, without_commands
from playhead.lift.dialects.crewai import name_without_content
from playhead.lift.dialects.otel_genai import hoist
from playhead.lift.extraction import UNPARSED, ExtractedContent, SharedThreads
from playhead.lift.forwarded_spans import restore_attribute_refs, restore_refs, was_forwarded
from playhead.lift.handoffs import note_handoff
from playhead.lift.message_events import MessageEvents, is_answer, is_message
from playhead.lift.oversize import excerpt, is_oversize, move_long_values, move_values
from playhead.lift.session_logs import belongs_to_session, in_session, read_record
from playhead.lift.unknown_content import move_unknown_content
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.json_value import Json
from playhead.model.ref import is_ref
from playhead.model.span import STATUS_ERROR, STATUS_UNSET, Attributes, LogEvent, Span, SpanEvent
from playhead.wire.pack import ThreadExtension

__all__ = [
    "DIALECTS",
    "UNPARSED",
    "Lifted",
    "LiftedLog",
    "SharedThreads",
    "SpanDialect",
    "belongs_to_session",
    "lift",
    "lift_log",
    "lift_logs",
    "scope_name",
]


# Longer than names, ids and most URLs; shorter than what people and models write to each other.
INLINE_CHARACTERS: Final = 1024


# What others say of a request is not the body that was sent: it lacks parts, or has them under other names.
_NOT_SENT: Final = {"sent": False}
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
    extracted: ExtractedContent | None = None,
    shared: SharedThreads | None = None,
) -> Lifted:
    """Returns a copy of the span without payload, its kind and attribute names normalised.  Never raises.

    `inline_characters`: in a span that no dialect understands, longer texts become content.  `extracted`: an empty
    collection for the content; None: a new one.  `shared`: one for all spans that are lifted together, to save time.
    """
    if was_forwarded(span):
        extracted = extracted or ExtractedContent(shared)
        span = restore_refs(span, extracted)
    is_ours = span.scope == names.SCOPE and names.KIND in span.attributes
    if is_ours and not span.events and not span.links and not _has_oversize_value(span):
        return Lifted(span, extracted.contents, extracted.threads) if extracted is not None else Lifted(span, [], [])
    extracted = extracted or ExtractedContent(shared)
    span = _with_status(in_session(span))
    kind = _kind_of(span.attributes)
    messages = MessageEvents()
    of_events = [messages.extract(event, extracted) for event in span.events]
    is_known = messages.any or _has_refs(span.attributes) or span.scope == names.SCOPE
    remaining, is_understood = _extract_together(
        (span.attributes, *of_events), kind, extracted, inline_characters, known=is_known
    )
    for event, mapping in zip(span.events, remaining[1:], strict=True):
        extract_event(event.name, mapping, extracted, remaining[0])
    attributes, *of_events = [move_long_values(mapping, extracted) for mapping in remaining]
    events = _lifted_events(span.events, of_events, attributes)
    messages.set_refs(attributes, extracted, kind)
    extracted.mark_unparsed_keys(attributes)
    use_current_names(attributes, kind)
    if names.REQUEST_REF in attributes and names.REQUEST_REF not in span.attributes:
        attributes.setdefault(names.EXACT_REF, extracted.content(_NOT_SENT))
    if span.parent_id is None:
        add_project(attributes, span.resource)
    note_handoff(span.name, span.attributes, attributes)
    message = _status_message(span, attributes, extracted)
    lifted = dataclasses.replace(
        span,
        name=name_without_content(span.name, span.attributes),
        attributes=attributes,
        status_message=message,
        events=events,
        links=[_lift_link(link, extracted) for link in span.links],
        resource=move_long_values(without_commands(span.resource, extracted), extracted),
    )
    return Lifted(lifted, extracted.contents, extracted.threads, is_understood)


def lift_logs(logs: Iterable[LogEvent], inline_characters: int = INLINE_CHARACTERS) -> list[LiftedLog]:
    """Returns copies of the log events without payload, their attribute names normalised.  Never raises.

    Log events that are single messages of one span are joined to a thread, by time; the last of them gets its ref
    (`lift_log` does not join).  Each also gets the refs of its own messages: other batches may have more messages of
    the span, and the projector joins all of them.
    """
    lifted: dict[int, LiftedLog] = {}
    conversations: dict[tuple[str | None, str], list[tuple[int, LogEvent]]] = {}
    for index, log in enumerate(logs):
        if log.span_id is None or not is_message(log.name):
            lifted[index] = lift_log(log, inline_characters)
        else:
            conversations.setdefault((log.trace_id, log.span_id), []).append((index, log))
    for records in conversations.values():
        records.sort(key=lambda record: record[1].time_ns)
        of_span = _lift_conversation([log for _, log in records], inline_characters)
        lifted.update(zip((index for index, _ in records), of_span, strict=True))
    return [lifted[index] for index in range(len(lifted))]


def _lift_conversation(logs: Sequence[LogEvent], inline_characters: int) -> list[LiftedLog]:
    """Lifts the message events of one span together. `logs`: at least one."""
    messages, contents = MessageEvents(), ExtractedContent()
    lifted: list[LiftedLog] = []
    times: Counter[tuple[int, str, str]] = Counter()
    for log in logs:
        contents = ExtractedContent()
        lifted_log = _lift_log(log, inline_characters, messages, contents)
        equal = (log.time_ns, log.name, repr(lifted_log.log.attributes))
        if times[equal]:  # otherwise the second would look like a repeated delivery of the first
            lifted_log.log.attributes[names.LOG_REPETITION] = times[equal]
        times[equal] += 1
        lifted.append(lifted_log)
    messages.set_refs(lifted[-1].log.attributes, contents)
    lifted[-1].contents[:], lifted[-1].threads[:] = contents.contents, contents.threads
    return lifted


def lift_log(
    log: LogEvent, inline_characters: int = INLINE_CHARACTERS, extracted: ExtractedContent | None = None
) -> LiftedLog:
    """Returns a copy of the log event without payload, its attribute names normalised.  Never raises.

    For the arguments see `lift`.
    """
    return _lift_log(log, inline_characters, MessageEvents(), extracted or ExtractedContent())


def _lift_log(log: LogEvent, inline_characters: int, messages: MessageEvents, contents: ExtractedContent) -> LiftedLog:
    if names.CONTENT_INLINE in log.attributes:
        log = dataclasses.replace(log, attributes=restore_attribute_refs(log.attributes, contents))
    is_ours = log.scope == names.SCOPE and log.name.startswith(names.SCOPE)
    if is_ours and not any(map(is_oversize, log.attributes.values())):
        return LiftedLog(log, contents.contents, contents.threads)
    log = read_record(log, contents)
    kind = _kind_of(log.attributes)
    attributes = messages.extract(SpanEvent(log.name, log.time_ns, log.attributes), contents)
    remaining, is_known = _extract(attributes, kind, contents)
    moved = remaining
    if log.scope != names.SCOPE and not is_known and not messages.any and not _has_refs(log.attributes):
        # A log record's body is content, whatever its length.
        moved = move_values(remaining, [key for key in (names.LOG_BODY, _BODY) if key in remaining], contents)
        remaining = moved
        moved = move_unknown_content(remaining, contents, inline_characters)
    attributes = dict(move_long_values(moved, contents))
    contents.mark_unparsed_keys(attributes)
    use_current_names(attributes, kind)
    if is_message(log.name) and messages.latest:
        name = names.LOG_OUTPUT_MESSAGES if is_answer(log.name) else names.LOG_INPUT_MESSAGES
        attributes[name] = [contents.message(message) for message in messages.latest]
    lifted = dataclasses.replace(
        log, attributes=attributes, resource=move_long_values(without_commands(log.resource, contents), contents)
    )
    return LiftedLog(lifted, contents.contents, contents.threads, moved is remaining)


def _with_status(span: Span) -> Span:
    """Returns the span with the status that an attribute tells, if its own is unset."""
    message = langfuse.error_message(span.attributes) if span.status == STATUS_UNSET else None
    if message is None:
        return span
    return dataclasses.replace(span, status=STATUS_ERROR, status_message=span.status_message or message)


def _status_message(span: Span, attributes: Attributes, contents: ExtractedContent) -> str:
    """The status message of a span. A long one is shortened, and its whole text stored behind a ref."""
    message = span.status_message
    if not is_oversize(message):
        return message
    attributes[_STATUS_MESSAGE + names.REF_SUFFIX] = contents.content(message)
    return excerpt(message)


def _has_oversize_value(span: Span) -> bool:
    return (
        any(map(is_oversize, span.attributes.values()))
        or any(map(is_oversize, span.resource.values()))
        or is_oversize(span.status_message)
    )


def _kind_of(attributes: Attributes) -> str | None:
    for dialect in BY_KIND:
        kind = dialect.kind(attributes)
        if kind is not None:
            return kind
    return None


def _has_refs(attributes: Attributes) -> bool:
    """Whether these attributes hold refs, like those of a span that was lifted before."""
    refs = [key for key in attributes if key.endswith(names.REF_SUFFIX)]
    return any(is_ref(attributes[key]) for key in refs)


def _extract_together(
    mappings: Sequence[Attributes], kind: str | None, contents: ExtractedContent, inline_characters: int, *, known: bool
) -> tuple[list[Attributes], bool]:
    """Returns the attributes of a span and of its events without content, and whether they were understood.

    `known`: they count as understood already. If they do not, and no dialect knows any of them, values that look like
    content are moved."""
    remaining: list[Attributes] = []
    for mapping in mappings:
        attributes, spoken = _extract(mapping, kind, contents)
        remaining.append(attributes)
        known = known or spoken
    if known:
        return remaining, True
    moved = [move_unknown_content(mapping, contents, inline_characters) for mapping in remaining]
    return moved, all(map(operator.is_, moved, remaining))


def _extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> tuple[Attributes, bool]:
    """Returns the attributes without the content that dialects know, and whether any dialect recognised them."""
    attributes = dict(attributes)
    begin = {key.partition(".")[0] for key in attributes}
    spoken = False
    for dialect in DIALECTS:
        if not dialect.PREFIXES.isdisjoint(begin) and dialect.matches(attributes):
            before = dict(attributes)
            try:
                dialect.extract(attributes, kind, contents)
                # A dialect that matched only an empty value does not count: the value is gone when lifted again.
                spoken = spoken or _has_refs(attributes) or dialect.matches(attributes)
            except Exception:  # noqa: BLE001 - a mistake of ours in one dialect must not cost anybody a span
                attributes = before
    return attributes, spoken


def _lifted_events(events: Sequence[SpanEvent], lifted: Sequence[Attributes], onto: Attributes) -> list[SpanEvent]:
    """Returns the events with their lifted attributes, and copies attributes about the span to `onto`."""
    lifted_events = [
        SpanEvent(event.name, event.time_ns, attributes) for event, attributes in zip(events, lifted, strict=True)
    ]
    for event in lifted_events:
        hoist(event, onto)
    return lifted_events


def _lift_link(link: Json, contents: ExtractedContent) -> Json:
    attributes = link.get("attributes")
    if not isinstance(attributes, dict):
        return link
    return {**link, "attributes": move_long_values(cast(Attributes, attributes), contents)}


def scope_name(scope: str) -> str:
    """The name of a scope for display: at most 100 characters of valid Unicode."""
    return scope[:100].encode("utf-8", "replace").decode() or "(no name)"
