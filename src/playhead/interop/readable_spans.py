"""A span or log record of OpenTelemetry's SDK → the same with refs instead of content.

Each span is lifted once, whoever asks: several exporters and processors get the same object.  The span given is never
changed, since other processors of the program hold it, too, and may be sending it in another thread.
"""

import copy
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, Status, StatusCode

from playhead.api import runtime
from playhead.api.forks import fork_safe_lock
from playhead.api.guard import swallowed
from playhead.api.ports import Recorder
from playhead.interop.recorded_content import RecordedContent, without_unrecorded
from playhead.lift import lift, lift_log
from playhead.model import names
from playhead.model.objects.interrupts import let_through
from playhead.model.span import Attributes, LogEvent, Span, SpanEvent

# Lifting gives these today's names.  A backend that knows the older ones gets both.
_RENAMED: Final = frozenset({
    names.SYSTEM, names.CACHE_CREATION_TOKENS, "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens",
})  # fmt: skip
_RAISED = ("exception.message", "exception.stacktrace")
_FAILED = "playhead.lift.failed"  # the type of what was raised
_ABOUT_CALLS = (names.OPERATION, names.PROVIDER, names.SYSTEM, names.REQUEST_MODEL, names.RESPONSE_MODEL, names.RUN_ID)


@dataclass(frozen=True, slots=True)
class RefSpan:
    """A span as it leaves the process.  `changed`: with refs, None when it needs no change.  `recorded`: as our journal
    takes it, None when it is not to be recorded.  `has_content`: content was in it, or looked as if it were.

    It does not refer to the span that it was made of, whose life is the key's in `_lifted`.
    """

    changed: ReadableSpan | None
    recorded: Span | None
    has_content: bool = False


_lifted: "WeakKeyDictionary[ReadableSpan, RefSpan]" = WeakKeyDictionary()
_mutex = fork_safe_lock()


def with_refs(span: ReadableSpan) -> RefSpan:
    """The span with refs.  Its contents are in the journal when this returns.  Never raises."""
    try:
        with _mutex:
            known = _lifted.get(span)
        if known is None:
            known = _with_refs(span)
            with _mutex:
                _lifted[span] = known
        return known
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("take the content out of a span", error)
        return RefSpan(_bare(span, _safe(span.attributes, error)), None)


def log_with_refs(log: Any) -> Any:
    """A log record of the SDK (`ReadableLogRecord`, or `LogData` before 1.37) with refs.  Never raises."""
    try:
        return _log_with_refs(log)
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("take the content out of a log record", error)
        return _changed_log(log, _safe(getattr(log.log_record, "attributes", None), error), None)


def _with_refs(span: ReadableSpan) -> RefSpan:
    scope = span.instrumentation_scope.name if span.instrumentation_scope is not None else ""
    if scope == names.SCOPE and names.KIND in (span.attributes or {}):
        return RefSpan(None, None)  # ours has refs already, and is in the journal
    to = runtime.current.recorder or runtime.recorder()
    if to is None:  # nothing keeps the content, and it was not to be sent
        return RefSpan(_bare(span, _safe(span.attributes)), None)
    given = _as_given(span, scope, to)
    found = RecordedContent(to)
    lifted = lift(given, found=found)
    found.keep()
    recorded = replace(
        lifted.span,
        attributes=without_unrecorded(lifted.span.attributes),
        events=[replace(event, attributes=without_unrecorded(event.attributes)) for event in lifted.span.events],
        links=[{**link, "attributes": without_unrecorded(link.get("attributes") or {})} for link in lifted.span.links],
        resource=without_unrecorded(lifted.span.resource),
    )
    has_content = not (found.is_empty and lifted.is_understood)
    return RefSpan(_changed(span, given, recorded), recorded, has_content)


def _as_given(span: ReadableSpan, scope: str, to: Recorder) -> Span:
    """The span as lift takes it.  Texts of exceptions are shown as the redaction hooks leave them."""
    context, parent = span.context, span.parent
    return Span(
        f"{context.trace_id:032x}" if context is not None else "0" * 32,
        f"{context.span_id:016x}" if context is not None else "0" * 16,
        f"{parent.span_id:016x}" if parent is not None else None,
        span.name,
        span.start_time or 0,
        span.end_time,
        _plain(span.attributes),
        kind=span.kind.value + 1,
        status=span.status.status_code.value,
        status_message=to.text(span.status.description or ""),
        events=[SpanEvent(event.name, event.timestamp, _of_event(event, to)) for event in span.events],
        links=[_link(link) for link in span.links],
        scope=scope,
        resource=_plain(span.resource.attributes),
    )


def _of_event(event: Event, to: Recorder) -> Attributes:
    attributes = _plain(event.attributes)
    for name in _RAISED:
        if isinstance(said := attributes.get(name), str):
            attributes[name] = to.text(said)
    return attributes


def _link(link: Link) -> dict[str, Any]:
    ids = {"trace_id": f"{link.context.trace_id:032x}", "span_id": f"{link.context.span_id:016x}"}
    return {**ids, "attributes": _plain(link.attributes)}


def _changed(span: ReadableSpan, given: Span, lifted: Span) -> ReadableSpan | None:
    attributes = _as_they_were(span.attributes, given.attributes, lifted.attributes)
    is_same = attributes == dict(span.attributes or {}) and given.status_message == (span.status.description or "")
    if is_same and lifted.status_message == given.status_message and _same_inside(span, lifted):
        return None
    events = [
        Event(event.name, _as_they_were(event.attributes, _plain(event.attributes), new.attributes), event.timestamp)
        for event, new in zip(span.events, lifted.events, strict=True)
    ]
    links = [
        Link(link.context, _as_they_were(link.attributes, _plain(link.attributes), new.get("attributes") or {}))
        for link, new in zip(span.links, lifted.links, strict=True)
    ]
    code = span.status.status_code
    message = lifted.status_message or None
    return _ChangedSpan(span, attributes, events, links, Status(code, message if code is StatusCode.ERROR else None))


def _same_inside(span: ReadableSpan, lifted: Span) -> bool:
    events, links = zip(span.events, lifted.events, strict=True), zip(span.links, lifted.links, strict=True)
    return all(_plain(event.attributes) == new.attributes for event, new in events) and all(
        _plain(link.attributes) == new.get("attributes") for link, new in links
    )


def _as_they_were(original: Mapping[str, Any] | None, given: Attributes, lifted: Attributes) -> dict[str, Any]:
    """The lifted attributes, those that lifting did not touch in their own types; older names stay beside today's."""
    originals = dict(original or {})
    kept = {
        key: value
        for key, value in originals.items()
        if key in lifted or key in _RENAMED or isinstance(value, bool | int | float)
    }
    changed = {key: value for key, value in lifted.items() if key not in given or given[key] != value}
    return {**kept, **{key: str(value) if isinstance(value, str) else value for key, value in changed.items()}}


def _plain(attributes: Mapping[str, Any] | None) -> Attributes:
    return {str(key): _plain_value(value) for key, value in (attributes or {}).items()}


def _plain_value(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return _plain(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence):
        return [_plain_value(item) for item in cast("Sequence[Any]", value)]
    return str(value)


def _safe(attributes: Mapping[str, Any] | None, error: BaseException | None = None) -> dict[str, Any]:
    """Returns the attributes that cannot hold content: numbers, and those that identify the call."""
    kept = {
        key: value
        for key, value in (attributes or {}).items()
        if isinstance(value, bool | int | float) or (key in _ABOUT_CALLS and isinstance(value, str))
    }
    return kept if error is None else {**kept, _FAILED: type(error).__name__}


class _ChangedSpan(ReadableSpan):
    """A span with other attributes, events, links and status; it counts what the original has dropped."""

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


def _bare(span: ReadableSpan, attributes: Mapping[str, Any]) -> ReadableSpan:
    """The span with these attributes, and without whatever else may hold content."""
    links = [Link(link.context) for link in span.links]
    return _ChangedSpan(span, attributes, (), links, Status(span.status.status_code))


def _log_with_refs(log: Any) -> Any:
    record = log.log_record
    scope = log.instrumentation_scope.name if log.instrumentation_scope is not None else ""
    to = runtime.current.recorder or runtime.recorder()
    if to is None:
        return _changed_log(log, _safe(record.attributes), None)
    body = _plain_value(record.body)
    attributes = _plain(record.attributes)
    for name in _RAISED:
        if isinstance(said := attributes.get(name), str):
            attributes[name] = to.text(said)
    if body is not None and record.event_name:  # of an ordinary log line, the text is no content of a model's
        attributes[names.LOG_BODY] = body
    found = RecordedContent(to)
    given = LogEvent(record.event_name or "", record.timestamp or 0, None, None, attributes, scope=scope)
    lifted = lift_log(given, found=found).log
    found.keep()
    originals: dict[str, Any] = {**(record.attributes or {}), names.LOG_BODY: body}
    kept = _as_they_were(originals, attributes, without_unrecorded(lifted.attributes))
    if names.LOG_BODY not in attributes:
        kept.pop(names.LOG_BODY, None)
        return _changed_log(log, kept, record.body)
    return _changed_log(log, kept, kept.pop(names.LOG_BODY, None))


def _changed_log(log: Any, attributes: Mapping[str, Any], body: Any) -> Any:
    record = copy.copy(log.log_record)
    record.attributes, record.body = dict(attributes), body
    changed = copy.copy(log)
    object.__setattr__(changed, "log_record", record)  # frozen: nobody else has this copy
    return changed
