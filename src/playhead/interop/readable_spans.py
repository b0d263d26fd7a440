"""Copies a span or log record of OpenTelemetry's SDK, with refs instead of content.

Each span is lifted once: several exporters and processors get the same copy.  The original is never changed, since
other processors of the program also hold it, and may be sending it in another thread.

The content is recorded like that of our own spans: redacted, limited in size, each content once, and not at all if the
settings switch it off (`RecordedContent`).
"""

import copy
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, Status, StatusCode

from playhead.calls import runtime
from playhead.calls.recorder import Recorder
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import guarded
from playhead.lift import lift, lift_log
from playhead.lift.extraction import ExtractedContent
from playhead.model import names
from playhead.model.message import Message, without_reasoning
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, LogEvent, Span, SpanEvent

# --- content ----------------------------------------------------------------------------------------------------------


# Placeholder for the ref of content that is not recorded. `without_unrecorded` removes it.
_UNRECORDED = ContentRef("unrecorded")


class RecordedContent(ExtractedContent):
    """Passes contents to the recorder as a dialect finds them.  `keep` writes them to the journal."""

    def __init__(self, recorder: Recorder):
        super().__init__()
        self._to = recorder
        self._frames = recorder.frames()
        self._frames.new = {}
        self.is_empty = True
        """Whether no content was found."""

    def content(self, value: Any) -> ContentRef:
        self.is_empty = False
        return self._to.payload(value, self._frames, unbounded=True) or _UNRECORDED

    def message(self, message: Message) -> ContentRef:
        messages = [message] if self._to.reasoning else without_reasoning([message])
        return self.content(messages[0]) if messages else _UNRECORDED

    def reasoning(self, value: Any) -> ContentRef:
        self.is_empty = False
        return self.content(value) if self._to.reasoning else _UNRECORDED

    def thread(self, messages: Iterable[Message]) -> ContentRef | None:
        self.is_empty = False
        to_record = messages if self._to.reasoning else without_reasoning(messages)
        redacted = [self._to.message(message) for message in to_record]
        return (self._to.message_thread_ref(redacted, self._frames) or _UNRECORDED) if redacted else None

    def keep(self) -> None:
        """Writes the contents found since the last call to the journal."""
        self._to.journal_contents(self._frames)


def without_unrecorded(attributes: Mapping[str, Any]) -> Attributes:
    """Returns the attributes without placeholders for contents that are not recorded."""
    return {key: value for key, value in attributes.items() if not _is_unrecorded(value)}


def _is_unrecorded(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_unrecorded, cast("list[Any]", value)))
    return value is _UNRECORDED


def is_recorded(ref: ContentRef) -> bool:
    """Whether this is the ref of recorded content, and not the placeholder."""
    return ref is not _UNRECORDED


# --- spans ------------------------------------------------------------------------------------------------------------


# Older attribute names, which lifting replaces by the current ones.  A span keeps both, for backends that know only the
# older ones.
_OLDER_NAMES: Final = frozenset({
    names.SYSTEM, names.CACHE_CREATION_TOKENS, "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens",
})  # fmt: skip
_EXCEPTION_TEXTS = ("exception.message", "exception.stacktrace")
_LIFT_FAILED = "playhead.lift.failed"  # class name of the error that lifting raised
_CALL_NAMES = (names.OPERATION, names.PROVIDER, names.SYSTEM, names.REQUEST_MODEL, names.RESPONSE_MODEL, names.RUN_ID)


@dataclass(frozen=True, slots=True)
class RefSpan:
    """Result of lifting a span.  `changed`: the copy with refs; None: the span needs no change.  `recorded`: the span
    for our journal; None: it is not recorded.  `has_content`: whether it had content, or attributes that may be
    content.

    It holds no reference to the original span, which is a weak key in `_lifted`.
    """

    changed: ReadableSpan | None
    recorded: Span | None
    has_content: bool = False


_lifted: "WeakKeyDictionary[ReadableSpan, RefSpan]" = WeakKeyDictionary()
_mutex = ForkSafeLock()


def with_refs(span: ReadableSpan) -> RefSpan:
    """Returns the span with refs.  Its contents are in the journal when this returns.  Never raises: after an error,
    returns the span without content."""
    with guarded("take the content out of a span") as block:
        with _mutex:
            ref_span = _lifted.get(span)
        if ref_span is None:
            ref_span = _with_refs(span)
            with _mutex:
                _lifted[span] = ref_span
        return ref_span
    return RefSpan(_span_without_content(span, _safe_attributes(span.attributes, block.raised)), None)


def _with_refs(span: ReadableSpan) -> RefSpan:
    scope = span.instrumentation_scope.name if span.instrumentation_scope is not None else ""
    if scope == names.SCOPE and names.KIND in (span.attributes or {}):
        return RefSpan(None, None)  # our own span has refs already, and is in the journal
    to = runtime.current.recorder or runtime.recorder()
    if to is None:  # nothing is recorded, and the content must not be sent
        return RefSpan(_span_without_content(span, _safe_attributes(span.attributes)), None)
    plain_span = _plain_span(span, scope, to)
    contents = RecordedContent(to)
    lifted = lift(plain_span, extracted=contents)
    contents.keep()
    recorded = replace(
        lifted.span,
        attributes=without_unrecorded(lifted.span.attributes),
        events=[replace(event, attributes=without_unrecorded(event.attributes)) for event in lifted.span.events],
        links=[{**link, "attributes": without_unrecorded(link.get("attributes") or {})} for link in lifted.span.links],
        resource=without_unrecorded(lifted.span.resource),
    )
    has_content = not (contents.is_empty and lifted.is_understood)
    return RefSpan(_changed_span(span, plain_span, recorded), recorded, has_content)


def _plain_span(span: ReadableSpan, scope: str, to: Recorder) -> Span:
    """Converts the span to the form that `lift` takes.  Texts of exceptions and the status message pass the redaction
    hooks."""
    context, parent = span.context, span.parent
    return Span(
        f"{context.trace_id:032x}" if context is not None else "0" * 32,
        f"{context.span_id:016x}" if context is not None else "0" * 16,
        f"{parent.span_id:016x}" if parent is not None else None,
        span.name,
        span.start_time or 0,
        span.end_time,
        _plain_attributes(span.attributes),
        kind=span.kind.value + 1,
        status=span.status.status_code.value,
        status_message=to.text(span.status.description or ""),
        events=[SpanEvent(event.name, event.timestamp, _plain_event_attributes(event, to)) for event in span.events],
        links=[_plain_link(link) for link in span.links],
        scope=scope,
        resource=_plain_attributes(span.resource.attributes),
    )


def _plain_event_attributes(event: Event, to: Recorder) -> Attributes:
    attributes = _plain_attributes(event.attributes)
    for name in _EXCEPTION_TEXTS:
        if isinstance(text := attributes.get(name), str):
            attributes[name] = to.text(text)
    return attributes


def _plain_link(link: Link) -> dict[str, Any]:
    ids = {"trace_id": f"{link.context.trace_id:032x}", "span_id": f"{link.context.span_id:016x}"}
    return {**ids, "attributes": _plain_attributes(link.attributes)}


def _changed_span(span: ReadableSpan, plain: Span, lifted: Span) -> ReadableSpan | None:
    attributes = _with_original_types(span.attributes, plain.attributes, lifted.attributes)
    is_same = attributes == dict(span.attributes or {}) and plain.status_message == (span.status.description or "")
    if is_same and lifted.status_message == plain.status_message and _has_same_events_and_links(span, lifted):
        return None
    events = [
        Event(
            event.name,
            _with_original_types(event.attributes, _plain_attributes(event.attributes), new.attributes),
            event.timestamp,
        )
        for event, new in zip(span.events, lifted.events, strict=True)
    ]
    links = [
        Link(
            link.context,
            _with_original_types(link.attributes, _plain_attributes(link.attributes), new.get("attributes") or {}),
        )
        for link, new in zip(span.links, lifted.links, strict=True)
    ]
    code = span.status.status_code
    message = lifted.status_message or None
    return _ChangedSpan(span, attributes, events, links, Status(code, message if code is StatusCode.ERROR else None))


def _has_same_events_and_links(span: ReadableSpan, lifted: Span) -> bool:
    events, links = zip(span.events, lifted.events, strict=True), zip(span.links, lifted.links, strict=True)
    return all(_plain_attributes(event.attributes) == new.attributes for event, new in events) and all(
        _plain_attributes(link.attributes) == new.get("attributes") for link, new in links
    )


def _with_original_types(original: Mapping[str, Any] | None, plain: Attributes, lifted: Attributes) -> dict[str, Any]:
    """Returns the lifted attributes. Those that lifting did not change keep their original types. Numbers, and older
    names beside the current ones, stay even if lifting removed them. `plain`: the attributes before lifting."""
    originals = dict(original or {})
    unchanged = {
        key: value
        for key, value in originals.items()
        if key in lifted or key in _OLDER_NAMES or isinstance(value, bool | int | float)
    }
    changed = {key: value for key, value in lifted.items() if key not in plain or plain[key] != value}
    return {**unchanged, **{key: str(value) if isinstance(value, str) else value for key, value in changed.items()}}


def _plain_attributes(attributes: Mapping[str, Any] | None) -> Attributes:
    return {str(key): _plain_value(value) for key, value in (attributes or {}).items()}


def _plain_value(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return _plain_attributes(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence):
        return [_plain_value(item) for item in cast("Sequence[Any]", value)]
    return str(value)


def _safe_attributes(attributes: Mapping[str, Any] | None, raised: type[BaseException] | None = None) -> dict[str, Any]:
    """Returns the attributes that cannot hold content: numbers, and those that identify the call. `raised`: the class
    of an error, whose name is added."""
    safe = {
        key: value
        for key, value in (attributes or {}).items()
        if isinstance(value, bool | int | float) or (key in _CALL_NAMES and isinstance(value, str))
    }
    return safe if raised is None else {**safe, _LIFT_FAILED: raised.__name__}


class _ChangedSpan(ReadableSpan):
    """A copy of a span with other attributes, events, links and status. The counts of dropped attributes, events and
    links are the original's."""

    def __init__(
        self,
        of: ReadableSpan,
        attributes: Mapping[str, Any],
        events: Sequence[Event],
        links: Sequence[Link],
        status: Status,
    ):
        super().__init__(
            of.name,
            of.context,
            of.parent,
            of.resource,
            attributes,
            events,
            links,
            of.kind,
            status=status,
            start_time=of.start_time,
            end_time=of.end_time,
            instrumentation_scope=of.instrumentation_scope,
        )
        self._dropped = of.dropped_attributes, of.dropped_events, of.dropped_links

    @property
    def dropped_attributes(self) -> int:
        return self._dropped[0]

    @property
    def dropped_events(self) -> int:
        return self._dropped[1]

    @property
    def dropped_links(self) -> int:
        return self._dropped[2]


def _span_without_content(span: ReadableSpan, attributes: Mapping[str, Any]) -> ReadableSpan:
    """Returns the span with these attributes, and without events, attributes of links and status message, which may
    hold content."""
    links = [Link(link.context) for link in span.links]
    return _ChangedSpan(span, attributes, (), links, Status(span.status.status_code))


# --- log records ------------------------------------------------------------------------------------------------------


def log_with_refs(log: Any) -> Any:
    """Returns a log record of the SDK (`ReadableLogRecord`, or `LogData` before 1.37) with refs.  Never raises: after
    an error, returns the record without content."""
    with guarded("take the content out of a log record") as block:
        return _log_with_refs(log)
    return _changed_log(log, _safe_attributes(getattr(log.log_record, "attributes", None), block.raised), None)


def _log_with_refs(log: Any) -> Any:
    record = log.log_record
    scope = log.instrumentation_scope.name if log.instrumentation_scope is not None else ""
    to = runtime.current.recorder or runtime.recorder()
    if to is None:
        return _changed_log(log, _safe_attributes(record.attributes), None)
    body = _plain_value(record.body)
    attributes = _plain_attributes(record.attributes)
    for name in _EXCEPTION_TEXTS:
        if isinstance(text := attributes.get(name), str):
            attributes[name] = to.text(text)
    if body is not None and record.event_name:  # the text of an ordinary log line is no content of a model call
        attributes[names.LOG_BODY] = body
    contents = RecordedContent(to)
    plain_log = LogEvent(record.event_name or "", record.timestamp or 0, None, None, attributes, scope=scope)
    lifted = lift_log(plain_log, extracted=contents).log
    contents.keep()
    originals: dict[str, Any] = {**(record.attributes or {}), names.LOG_BODY: body}
    new_attributes = _with_original_types(originals, attributes, without_unrecorded(lifted.attributes))
    if names.LOG_BODY not in attributes:
        new_attributes.pop(names.LOG_BODY, None)
        return _changed_log(log, new_attributes, record.body)
    return _changed_log(log, new_attributes, new_attributes.pop(names.LOG_BODY, None))


def _changed_log(log: Any, attributes: Mapping[str, Any], body: Any) -> Any:
    record = copy.copy(log.log_record)
    record.attributes, record.body = dict(attributes), body
    changed = copy.copy(log)
    object.__setattr__(changed, "log_record", record)  # the class is frozen, but nobody else has this copy
    return changed
