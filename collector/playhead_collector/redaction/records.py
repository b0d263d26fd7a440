"""Masks spans, log events and the events of runs. What connects records (ids, refs, numbers of calls) stays."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from playhead.model import names
from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead_collector.redaction.masking import Masker, free_name
from playhead_collector.redaction.rules import HOOK

# Without these, records could not be put together, or would be taken for others.
_STRUCTURAL: Final = frozenset({
    names.KIND, names.RUN_ID, names.RUN_ATTEMPT, names.RUN_RETENTION, names.RUN_ROOT, names.LINKED_RUNS,
    names.RECORDED_VALUES, names.FORK_OF, names.FORK_AT, names.FORK_ORDER, names.FORK_CUT, names.CALL_ORDER,
    names.CALL_ENDED_AFTER, names.CALL_END_ORDER, names.PROCESS_ID, names.PROCESS_AFTER, names.FLOW, names.CODE,
    names.OUTPUT_TYPE, names.INPUT_CUT, names.INPUT_DIGEST, names.OUTPUT_CUT, names.COMPARED_SETTINGS,
    names.REPLAYABLE, names.CACHE, names.IDEMPOTENT, names.OUTCOME, names.PREFERRED, names.SCORE_TYPE, names.SCORE_ID,
    names.EVALUATION_ON_SPAN, names.SCORED_SPAN, names.SPAN_PARENT, names.RESUMED_AFTER, names.RESUMED_WITHOUT,
    names.DIVERGENCE_HOW, names.WAIT_ID, names.PROMISE_KEY, names.CONTINUES, names.SESSION_RUN, names.SESSION_TRACE,
    names.LOG_PART, names.LOG_SEVERITY, names.LOG_REPETITION, names.LOG_DURATION, names.CONTENT_INLINE,
    names.OPERATION, names.PROVIDER, names.SYSTEM, names.REQUEST_MODEL, names.RESPONSE_MODEL, names.TOOL_CALL_ID,
    names.FINISH_REASONS, names.EVALUATION_VALUE, names.MESSAGE_PRESERVED, names.APPROVED, names.WAITED_MS,
})  # fmt: skip
# Names with these beginnings are of the conventions: a rule such as `*key` does not mean them.
_CONVENTIONS: Final = ("playhead.", "gen_ai.")


def mask_spans(masker: Masker, spans: Sequence[Span]) -> list[Span]:
    """Returns the spans as they may be stored; those in which no rule matches are the same objects."""
    resources = _once(lambda attributes: mask_attributes(masker, attributes))
    return [_span(masker, span, resources) for span in spans]


def mask_logs(masker: Masker, logs: Sequence[LogEvent]) -> list[LogEvent]:
    """Returns the log events as they may be stored; those in which no rule matches are the same objects."""
    resources = _once(lambda attributes: mask_attributes(masker, attributes))
    return [_log(masker, log, resources) for log in logs]


def mask_attributes(masker: Masker, attributes: Attributes) -> Attributes:
    """Returns attributes with masked values, without the hook; the same object if no rule matches."""
    masked: Attributes = {}
    for name, value in attributes.items():
        if name in _STRUCTURAL:
            masked[name] = value
            continue
        is_of_conventions = name.startswith(_CONVENTIONS)
        rule = masker.hides(name, exactly=is_of_conventions)
        new_name = name if is_of_conventions else free_name(masker.text(name), masked)
        masked[new_name] = masker.json(value, through_hook=False) if rule is None else masker.hidden(value, rule)
    return attributes if masked == attributes else masked


def _span(masker: Masker, span: Span, resources: Callable[[Attributes], Attributes]) -> Span:
    text = masker.text
    masked = replace(
        _through_hook(masker, span),
        scope=text(span.scope),
        resource=resources(span.resource),
        links=[_link(masker, link) for link in span.links],
    )
    masked.name, masked.status_message = text(masked.name), text(masked.status_message)
    masked.attributes = mask_attributes(masker, masked.attributes)
    masked.events = [
        SpanEvent(text(event.name), event.time_ns, mask_attributes(masker, event.attributes)) for event in masked.events
    ]
    if masked == span:
        return span
    masker.counts["spans"] += 1
    return masked


def _link(masker: Masker, link: Mapping[str, Any]) -> dict[str, Any]:
    attributes = link.get("attributes")
    if not isinstance(attributes, dict):
        return dict(link)
    return {**link, "attributes": mask_attributes(masker, cast(Attributes, attributes))}


def _log(masker: Masker, log: LogEvent, resources: Callable[[Attributes], Attributes]) -> LogEvent:
    said = {"name": log.name, "attributes": _said(log.attributes)}
    attributes = log.attributes
    if masker.rules.hook:
        returned = masker.hooked(said)
        attributes = _with_structure(log.attributes, returned)
    name = log.name if log.name.startswith(_CONVENTIONS) else masker.text(log.name)
    masked = replace(
        log, name=name, attributes=mask_attributes(masker, attributes), scope=masker.text(log.scope),
        resource=resources(log.resource),
    )  # fmt: skip
    if masked == log:
        return log
    masker.counts["logs"] += 1
    return masked


# --- events and states of runs, as they are stored: seqs of a sealed run never change ---------------------------------

_CONNECTING: Final = frozenset({
    "parent_run", "next_run", "continues", "call_id", "promise", "outcome", "status", "kind", "how", "source", "role",
    "process", "span", "id", "run", "of_run", "fork_of", "key",
})  # fmt: skip
_ACTOR, _DATA = 4, 6
_OWN_NAME: Final = re.compile(r"[a-z_]{1,40}")


def mask_events(masker: Masker, rows: Sequence[Any]) -> list[Any]:
    """Masks events as they are in a stored page: lists with their fields in order, or objects of kinds that this
    version does not know."""
    masked: list[Any] = []
    for row in rows:
        if not isinstance(row, list):
            masked.append(mask_texts(masker, row))
            continue
        fields = cast("list[Any]", row).copy()
        fields[_ACTOR] = mask_texts(masker, fields[_ACTOR])
        fields[_DATA] = mask_texts(masker, _hooked_texts(masker, fields[_DATA]))
        masked.append(fields)
    return masked


def mask_texts(masker: Masker, value: Any) -> Any:
    """Masks the texts of a value whose members have names of ours. Numbers stay: they are seqs, times and counts."""
    if isinstance(value, str):
        return masker.text(value)
    if isinstance(value, list):
        return [mask_texts(masker, item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {
            name if _OWN_NAME.fullmatch(name) else masker.text(name): (
                item if name in _CONNECTING and isinstance(item, str) else mask_texts(masker, item)
            )
            for name, item in items
        }
    return value


def _hooked_texts(masker: Masker, value: Any) -> Any:
    """Returns what the hook leaves of the texts of a value; a mask for each if it fails."""
    if not masker.rules.hook or not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    texts = {name: item for name, item in fields.items() if isinstance(item, str) and name not in _CONNECTING}
    returned = masker.hooked(texts)
    left = cast("dict[str, Any]", returned) if isinstance(returned, dict) else {}
    return {**fields, **{name: _text_in(left, name, masker) for name in texts}}


# --- the hook: it gets what a record says, and not what connects it with others ---------------------------------------


def _through_hook(masker: Masker, span: Span) -> Span:
    if not masker.rules.hook:
        return replace(span)
    said = {
        "name": span.name,
        "status_message": span.status_message,
        "attributes": _said(span.attributes),
        "events": [{"name": event.name, "attributes": _said(event.attributes)} for event in span.events],
    }
    returned = masker.hooked(said)
    fields = cast("dict[str, Any]", returned) if isinstance(returned, dict) else {}
    events = fields.get("events")
    returned_events = cast("list[Any]", events) if isinstance(events, list) else []
    if len(returned_events) != len(span.events):
        returned_events = masker.hidden(said["events"], HOOK)
    return replace(
        span,
        name=_text_in(fields, "name", masker),
        status_message="" if not span.status_message else _text_in(fields, "status_message", masker),
        attributes=_with_structure(span.attributes, fields),
        events=[
            SpanEvent(_text_in(new, "name", masker), old.time_ns, _with_structure(old.attributes, new))
            for old, new in zip(span.events, returned_events, strict=True)
        ],
    )


def _text_in(fields: Any, name: str, masker: Masker) -> str:
    value = cast("dict[str, Any]", fields).get(name) if isinstance(fields, dict) else None
    return value if isinstance(value, str) else masker.hidden("?", HOOK)


def _said(attributes: Attributes) -> Attributes:
    return {name: value for name, value in attributes.items() if name not in _STRUCTURAL}


def _with_structure(attributes: Attributes, returned: Any) -> Attributes:
    """Returns the attributes that a hook has returned, and of the others those that connect records."""
    said = cast("dict[str, Any]", returned).get("attributes") if isinstance(returned, dict) else None
    kept = {name: value for name, value in attributes.items() if name in _STRUCTURAL}
    return {**(cast(Attributes, said) if isinstance(said, dict) else {}), **kept}


def _once(masked: Callable[[Attributes], Attributes]) -> Callable[[Attributes], Attributes]:
    """Masks each object once: spans that were decoded together share their resource."""
    known: dict[int, tuple[Attributes, Attributes]] = {}

    def of(attributes: Attributes) -> Attributes:
        if id(attributes) not in known:
            known[id(attributes)] = attributes, masked(attributes)
        return known[id(attributes)][1]

    return of
