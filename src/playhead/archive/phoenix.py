"""Phoenix's exports: rows of spans, as `spans.get_spans()` or a data frame of `get_spans_dataframe()` has them.

A row of a data frame has a column for each attribute (`attributes.llm.model_name`), whose lists and objects are nested
values, and whose numbers may all be floats.  What comes out is what OpenInference's instrumentations send.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from playhead.archive.rows import as_text, first_of, flattened, is_absent, json_in, span_id, time_ns, trace_id
from playhead.model.span import STATUS_ERROR, STATUS_OK, STATUS_UNSET, Attributes, Span, SpanEvent

# An export does not say which instrumentation has made a span. Nearly all are OpenInference's; those of Anthropic's
# own client, which often stand beside them, have a name that only they have.
SCOPE: Final = "openinference.instrumentation"
_ANTHROPIC_SCOPE: Final = "com.anthropic.sdk.python"
_ANTHROPIC_REQUEST: Final = "anthropic.request.id"
_COLUMN: Final = "attributes."
_KIND: Final = "openinference.span.kind"
_STATUS: Final = {"OK": STATUS_OK, "ERROR": STATUS_ERROR}
_METADATA: Final = "metadata"
# What Phoenix reads as JSON when it takes a span; instrumentations send each as a text.
_TEXTS: Final = (_METADATA, "llm.invocation_parameters", "llm.prompt_template.variables", "tool.parameters")
# Lists that a data frame's file may have as JSON.
_LISTS: Final = (
    "llm.input_messages", "llm.output_messages", "llm.tools", "retrieval.documents", "reranker.input_documents",
    "reranker.output_documents", "embedding.embeddings",
)  # fmt: skip
_COUNTS: Final = "llm.token_count."


def span_of_row(row: Mapping[str, Any]) -> Span:
    """The span of a row.  Raises ValueError, which says what is missing."""
    context = cast(Mapping[str, Any], row.get("context") or {})
    trace = trace_id(first_of(row, "context.trace_id") or context.get("trace_id"))
    span = span_id(first_of(row, "context.span_id") or context.get("span_id"), trace)
    parent = first_of(row, "parent_id")
    start_ns = time_ns(row.get("start_time"))
    if start_ns is None:
        raise ValueError("it has no start_time")
    attributes = _attributes(row)
    kind = first_of(row, "span_kind")
    if isinstance(kind, str) and kind != "UNKNOWN":
        attributes.setdefault(_KIND, kind)
    return Span(
        trace,
        span,
        None if parent is None or parent == "" else span_id(parent, trace),
        str(first_of(row, "name") or ""),
        start_ns,
        time_ns(row.get("end_time")),
        attributes,
        status=_STATUS.get(str(row.get("status_code")), STATUS_UNSET),
        status_message=str(first_of(row, "status_message") or ""),
        events=_events(row.get("events")),
        scope=_ANTHROPIC_SCOPE if _ANTHROPIC_REQUEST in attributes else SCOPE,
    )


def _attributes(row: Mapping[str, Any]) -> Attributes:
    given = row.get("attributes")
    nested = dict(cast(Mapping[str, Any], given)) if isinstance(given, dict) else {}
    for name, value in row.items():
        if name.startswith(_COLUMN) and not is_absent(value):
            nested[name.removeprefix(_COLUMN)] = value
    attributes: Attributes = {}
    for name, value in nested.items():
        # A whole namespace (`gen_ai`), or a list of messages: a data frame's file may have it as JSON.
        is_nested = name in _LISTS or ("." not in name and name != _METADATA)
        for key, each in flattened(name, json_in(value) if is_nested else value):
            attributes[key] = int(each) if key.startswith(_COUNTS) and isinstance(each, float) else each
    for name in _TEXTS:
        _join(attributes, name)
    return attributes


def _join(attributes: Attributes, name: str) -> None:
    """What was spread over `name.x`, `name.y` as one text."""
    prefix = f"{name}."
    spread = {key: attributes.pop(key) for key in [key for key in attributes if key.startswith(prefix)]}
    if spread and name not in attributes:
        attributes[name] = as_text({key.removeprefix(prefix): value for key, value in spread.items()})


def _events(value: Any) -> list[SpanEvent]:
    listed = json_in(value)
    events: list[SpanEvent] = []
    for each in cast(list[Any], listed) if isinstance(listed, list) else ():
        if isinstance(each, dict):
            event = cast(dict[str, Any], each)
            at = time_ns(event.get("timestamp"))
            said = event.get("attributes")
            attributes = dict(flattened("", said)) if isinstance(said, dict) else {}
            events.append(SpanEvent(str(event.get("name") or ""), at or 0, attributes))
    return events
