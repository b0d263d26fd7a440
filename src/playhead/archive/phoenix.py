"""Phoenix's exports: rows of spans, from `spans.get_spans()` or from the data frame of `get_spans_dataframe()`.

A row of a data frame has a column per attribute (`attributes.llm.model_name`). Lists and objects in it are nested
values, and all numbers may be floats. The resulting spans are the ones that OpenInference's instrumentations send.
"""

from typing import Final, cast

from playhead.archive.rows import as_text, first_of, flattened, is_absent, json_in, span_id, time_ns, trace_id
from playhead.model.json_value import JsonMapping, JsonValue
from playhead.model.span import STATUS_ERROR, STATUS_OK, STATUS_UNSET, Attributes, Span, SpanEvent

# An export does not name the instrumentation that recorded a span. Nearly all spans are from OpenInference's. Those of
# the instrumentation of Anthropic's own client, which are often among them, have an attribute that no others have.
SCOPE: Final = "openinference.instrumentation"
_ANTHROPIC_SCOPE: Final = "com.anthropic.sdk.python"
_ANTHROPIC_REQUEST: Final = "anthropic.request.id"
_COLUMN: Final = "attributes."
_KIND: Final = "openinference.span.kind"
_STATUS: Final = {"OK": STATUS_OK, "ERROR": STATUS_ERROR}
_METADATA: Final = "metadata"
# Attributes that Phoenix parses as JSON when it receives a span. Instrumentations send each as one text.
_TEXTS: Final = (_METADATA, "llm.invocation_parameters", "llm.prompt_template.variables", "tool.parameters")
# Lists that the file of a data frame may contain as JSON.
_LISTS: Final = (
    "llm.input_messages", "llm.output_messages", "llm.tools", "retrieval.documents", "reranker.input_documents",
    "reranker.output_documents", "embedding.embeddings",
)  # fmt: skip
_COUNTS: Final = "llm.token_count."


def span_of_row(row: JsonMapping) -> Span:
    """Returns the span of a row. Raises ValueError if something is missing, and names it."""
    context = cast(JsonMapping, row.get("context") or {})
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


def _attributes(row: JsonMapping) -> Attributes:
    raw = row.get("attributes")
    nested = dict(raw) if isinstance(raw, dict) else {}
    for name, value in row.items():
        if name.startswith(_COLUMN) and not is_absent(value):
            nested[name.removeprefix(_COLUMN)] = value
    attributes: Attributes = {}
    for name, value in nested.items():
        # The file of a data frame may contain a whole namespace (`gen_ai`) or a list of messages as JSON.
        is_nested = name in _LISTS or ("." not in name and name != _METADATA)
        for key, item in flattened(name, json_in(value) if is_nested else value):
            attributes[key] = int(item) if key.startswith(_COUNTS) and isinstance(item, float) else item
    for name in _TEXTS:
        _join(attributes, name)
    return attributes


def _join(attributes: Attributes, name: str) -> None:
    """Replaces the attributes `name.x`, `name.y` by one attribute `name` with a JSON text."""
    prefix = f"{name}."
    spread = {key: attributes.pop(key) for key in [key for key in attributes if key.startswith(prefix)]}
    if spread and name not in attributes:
        attributes[name] = as_text({key.removeprefix(prefix): value for key, value in spread.items()})


def _events(value: JsonValue) -> list[SpanEvent]:
    listed = json_in(value)
    events: list[SpanEvent] = []
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict):
            event_ns = time_ns(item.get("timestamp"))
            raw = item.get("attributes")
            attributes = dict(flattened("", raw)) if isinstance(raw, dict) else {}
            events.append(SpanEvent(str(item.get("name") or ""), event_ns or 0, attributes))
    return events
