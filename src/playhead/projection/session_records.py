"""store → [projection]: makes spans for the calls of coding agents from the log records of their sessions.

| records | result |
|---|---|
| `prompt` | message_added of role user, unless the model calls have input messages; the input of the run |
| `sent` and `answered` of one request | one model call; several records may describe its end |
| `failed` | a model call that failed |
| `tool` | a tool call |

A record and a span with the same span id, response id or tool call id describe one call: the record adds the attributes
that the span does not have.  A request's records are matched by their ids, or without ids by their order.  In the run
of a session all calls are below one span of the agent, from the first record to the last.  Pure.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.span import STATUS_ERROR, Attributes, LogEvent, Span
from playhead.projection.attributes import number, text

_PROMPT, _SENT, _ANSWERED, _FAILED, _TOOL = "prompt", "sent", "answered", "failed", "tool"
_BODY: Final = "request_body_id"  # Claude Code's id that links a body with its request
_MILLISECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RecordedCalls:
    """The spans of a run with the calls that its records describe, and the remaining log events.

    `last_records`: by span id, the last record of each ended span that is made from records alone; for the span around
    a session, the last record or span.
    """

    spans: Sequence[Span]
    logs: Sequence[LogEvent]
    last_records: Mapping[str, LogEvent | Span] = field(default_factory=dict[str, "LogEvent | Span"])


def with_calls_of_records(run: str, spans: Sequence[Span], logs: Sequence[LogEvent]) -> RecordedCalls:
    """Makes spans for the calls in the records. `spans` and `logs` are not changed."""
    records = [log for log in logs if names.LOG_PART in log.attributes]
    of_session = any(names.SESSION_RUN in item.attributes for item in (*spans, *records))
    if not records and not of_session:
        return RecordedCalls(spans, logs)
    session = _SessionCalls(run, spans)
    for record in _each_once(records):
        session.add(record)
    calls, last_records = session.spans(), session.last_records()
    if of_session:
        last_records[_id(run)] = _last_of_session(spans, records)
        calls = [
            _root(run, calls, records),
            *(call if call.parent_id else replace(call, parent_id=_id(run)) for call in calls),
        ]
    has_contexts = any(names.INPUT_MESSAGES_REF in span.attributes for span in calls)
    rest = [log for log in logs if names.LOG_PART not in log.attributes or (_is_prompt(log) and not has_contexts)]
    return RecordedCalls(calls, rest, last_records)


@dataclass(slots=True)
class _DescribedCall:
    """One call, collected from its records. `span`: the span that also describes it.  `last`: the last record, other
    than of the request's beginning."""

    kind: str
    key: str
    span: Span | None = None
    last: LogEvent | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    failed: bool = False
    scope: str = ""
    resource: Attributes = field(default_factory=dict[str, Any])
    attributes: Attributes = field(default_factory=dict[str, Any])
    keys: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class _SessionCalls:
    """Collects the calls that records describe; records are added in order."""

    def __init__(self, run: str, spans: Sequence[Span]) -> None:
        self._run, self._spans = run, spans
        self._calls: dict[tuple[str, str], _DescribedCall] = {}
        self._open: dict[int, _DescribedCall] = {}  # requests without an answer, by identity
        self._bodies: dict[str, _DescribedCall] = {}
        self._prompt: Any = None
        self._tools: dict[str, list[Span]] = {}  # by the tool's name; the span that ended first is last
        for span in sorted(spans, key=_end, reverse=True):
            if span.attributes.get(names.KIND) == "tool":
                self._tools.setdefault(text(span.attributes, names.TOOL_NAME) or "", []).append(span)
        for span in spans:
            kind = span.attributes.get(names.KIND)
            if kind in ("llm", "tool"):
                call = _DescribedCall(str(kind), span.span_id, span)
                for key in (span.span_id, text(span.attributes, _ID[call.kind])):
                    if key is not None:
                        self._calls.setdefault((call.kind, key), call)

    def add(self, record: LogEvent) -> None:
        """Adds a record to the call that it describes."""
        part = record.attributes[names.LOG_PART]
        if part == _PROMPT:
            self._prompt = record.attributes.get(names.INPUT_REF)
        elif part == _TOOL:
            self._add_to(self._tool(record), record)
        elif part in (_SENT, _ANSWERED, _FAILED):
            call = self._request(record, part)
            if self._prompt is not None and part != _ANSWERED:
                call.attributes.setdefault(names.INPUT_REF, self._prompt)
                self._prompt = None
            self._add_to(call, record)
            call.failed = call.failed or part == _FAILED

    def spans(self) -> list[Span]:
        """All spans, including those made from records."""
        merged: dict[str, Span] = {span.span_id: span for span in self._spans}
        for call in {id(call): call for call in self._calls.values()}.values():
            if call.span is not None:
                attributes = {**call.attributes, **call.span.attributes}
                merged[call.span.span_id] = replace(call.span, attributes=attributes)
            else:
                made = self._made(call)
                merged[made.span_id] = made
        return [*merged.values()]

    def last_records(self) -> dict[str, LogEvent | Span]:
        """The last record of each ended call that no span describes, by the id of the span that is made from it."""
        made = {id(call): call for call in self._calls.values() if call.span is None}
        return {_id(self._run, call.kind, call.key): call.last for call in made.values() if call.last is not None}

    def _made(self, call: _DescribedCall) -> Span:
        end = call.end_ns if call.end_ns is not None else call.start_ns or 0
        start = min(end, call.start_ns if call.start_ns is not None else end)
        model = text(call.attributes, names.REQUEST_MODEL) or ""
        name = f"chat {model}" if call.kind == "llm" else text(call.attributes, names.TOOL_NAME) or "tool"
        attributes = {**call.attributes, names.KIND: call.kind}
        return Span(
            self._run, _id(self._run, call.kind, call.key), None, name, start, end, attributes,
            status=STATUS_ERROR if call.failed or names.ERROR_TYPE in attributes else 0,
            scope=call.scope, resource=call.resource,
        )  # fmt: skip

    def _tool(self, record: LogEvent) -> _DescribedCall:
        key = text(record.attributes, names.TOOL_CALL_ID)
        if key is None and (span := self._tool_span(record)) is not None:
            key = span.span_id
        key = key or _own_key(record)
        return self._calls.setdefault(("tool", key), _DescribedCall("tool", key))

    def _tool_span(self, record: LogEvent) -> Span | None:
        """The tool's span that a record without the call's id is about: the first that has ended and has no record."""
        ended = self._tools.get(text(record.attributes, names.TOOL_NAME) or "", [])
        return ended.pop() if ended and _end(ended[-1]) <= record.time_ns + _MILLISECOND else None

    def _request(self, record: LogEvent, part: str) -> _DescribedCall:
        """The model call that a record is about: by its ids, or else the oldest that has no answer."""
        response, body = text(record.attributes, names.RESPONSE_ID), text(record.attributes, _BODY)
        call = self._calls.get(("llm", response)) if response else None
        if call is None and record.span_id is not None:
            call = self._calls.get(("llm", record.span_id))
        if body is not None and (begun := self._bodies.get(body)) is not None and begun is not call:
            call = begun if call is None else self._join(call, begun)
        if call is None and part != _SENT and self._open and (not response or part == _FAILED):
            call = next(iter(self._open.values()))
        if call is None:
            key = response or body or _own_key(record)
            call = self._named(_DescribedCall("llm", key), key)
        if response:
            self._named(call, response)
        if body is not None:
            self._bodies[body] = call
        if part == _SENT and body is None:
            self._open[id(call)] = call
        elif part != _SENT:
            self._open.pop(id(call), None)
        return call

    def _named(self, call: _DescribedCall, key: str) -> _DescribedCall:
        if self._calls.get((call.kind, key)) is not call:
            self._calls[call.kind, key] = call
            call.keys.append((call.kind, key))
        return call

    def _join(self, call: _DescribedCall, begun: _DescribedCall) -> _DescribedCall:
        """Merges two calls whose later records show that they are the same call. Returns `call`."""
        call.attributes = {**begun.attributes, **call.attributes}
        call.last = call.last or begun.last
        if begun.start_ns is not None and call.start_ns is None:
            call.start_ns = begun.start_ns
        for key in begun.keys:
            self._calls[key] = call
        call.keys += begun.keys
        return call

    def _add_to(self, call: _DescribedCall, record: LogEvent) -> None:
        attributes, part = record.attributes, record.attributes[names.LOG_PART]
        elapsed = round((number(attributes, names.LOG_DURATION) or 0) * _MILLISECOND)
        if part == _SENT:
            call.start_ns = min(record.time_ns - elapsed, call.start_ns or record.time_ns)
        else:
            call.end_ns = max(record.time_ns, call.end_ns or 0)
            call.last = record  # they are added in order
            if elapsed:
                call.start_ns = min(record.time_ns - elapsed, call.start_ns or record.time_ns)
        for name, value in attributes.items():
            if name not in _NOT_OF_CALLS:
                call.attributes.setdefault(name, value)
        call.scope, call.resource = call.scope or record.scope, call.resource or record.resource


_ID: Final[Mapping[str, str]] = {"llm": names.RESPONSE_ID, "tool": names.TOOL_CALL_ID}
_NOT_OF_CALLS: Final = frozenset({names.LOG_PART, names.LOG_BODY, names.LOG_SEVERITY, names.LOG_DURATION})


def _root(run: str, spans: Sequence[Span], records: Sequence[LogEvent]) -> Span:
    """The agent's span around a session."""
    ordered = sorted(records, key=_order)
    prompt = next((log.attributes.get(names.INPUT_REF) for log in ordered if _is_prompt(log)), None)
    first: Span | LogEvent = ordered[0] if ordered else spans[0]
    attributes = {
        names.KIND: "agent",
        names.AGENT_NAME: text(first.resource, "service.name") or first.scope,
        names.CONVERSATION: text(first.attributes, names.CONVERSATION),
        names.USER: text(first.attributes, names.USER),
        names.INPUT_REF: prompt,
    }
    starts = [*(span.start_ns for span in spans), *(log.time_ns for log in ordered)]
    ends = [*(span.end_ns or span.start_ns for span in spans), *(log.time_ns for log in ordered)]
    values = {name: value for name, value in attributes.items() if value is not None}
    began = min(starts) - 1  # before the first prompt, which is at the same time
    return Span(run, _id(run), None, str(attributes[names.AGENT_NAME]), began, max(ends), values, scope=first.scope)


def _last_of_session(spans: Sequence[Span], records: Sequence[LogEvent]) -> LogEvent | Span:
    record, span = max(records, key=_order, default=None), max(spans, key=_end, default=None)
    if record is None or (span is not None and _end(span) > record.time_ns):
        return cast(Span, span)
    return record


def _end(span: Span) -> int:
    return span.end_ns if span.end_ns is not None else span.start_ns


def _is_prompt(log: LogEvent) -> bool:
    return log.attributes.get(names.LOG_PART) == _PROMPT and names.MESSAGE_REF in log.attributes


def _order(log: LogEvent) -> tuple[int, int, str, bytes]:
    """Sort key: by time; at equal times, requests before answers."""
    late = log.attributes[names.LOG_PART] not in (_PROMPT, _SENT)
    return log.time_ns, late, log.name, canonical_json(log.attributes)


def _each_once(records: Sequence[LogEvent]) -> list[LogEvent]:
    """The records in order, without those that were sent again."""
    keyed = {(_order(record), record.span_id): record for record in records}
    return sorted(keyed.values(), key=_order)


def _own_key(record: LogEvent) -> str:
    return f"{record.time_ns} {record.name} {record.span_id or ''}"


def _id(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
