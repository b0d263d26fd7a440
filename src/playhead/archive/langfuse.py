"""Langfuse's exports: traces and observations, as its API, its UI and its exports to blob storage write them.

Names are camelCase (API, UI) or snake_case (blob storage). An observation becomes the span that Langfuse's own SDK
sends for it. A trace becomes a span, too, with an id derived from the trace's id. This span is the parent of every
observation without a parent, except of observations that have their trace's name and user themselves (API v2, enriched
exports). So the order of rows and the number of files do not matter.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from playhead.archive.rows import as_text, first_of, is_absent, json_in, span_id, time_ns, trace_id
from playhead.model.json_value import Json, JsonMapping, JsonValue
from playhead.model.span import STATUS_ERROR, STATUS_UNSET, Attributes, Span

SCOPE: Final = "langfuse-sdk"
_OBSERVATION, _TRACE = "langfuse.observation.", "langfuse.trace."
_UPPER = re.compile(r"(?<=[a-z0-9])([A-Z])")
# Fields of an observation that its SDK sends as text or JSON, with the names of their attributes.
_TEXTS: Final = {
    "input": _OBSERVATION + "input", "output": _OBSERVATION + "output", "metadata": _OBSERVATION + "metadata",
    "model_parameters": _OBSERVATION + "model.parameters",
    "cost_details": _OBSERVATION + "cost_details", "status_message": _OBSERVATION + "status_message",
    "level": _OBSERVATION + "level", "prompt_name": _OBSERVATION + "prompt.name",
    "completion_start_time": _OBSERVATION + "completion_start_time", "version": "langfuse.version",
}  # fmt: skip
_OF_TRACE: Final = {
    "user_id": "user.id", "session_id": "session.id", "environment": "langfuse.environment",
    "release": "langfuse.release", "trace_name": _TRACE + "name",
}  # fmt: skip
_ENRICHED: Final = ("trace_name", "user_id", "session_id", "is_root_observation", "project_id")
# Older versions have `usage` with these names, and other names for the model.
_USAGE: Final = {"promptTokens": "input", "completionTokens": "output", "totalTokens": "total"}
# Columns of a row that has no details of its usage. They count all tokens of the input and the output.
_COLUMNS: Final = {"input_usage": "input", "output_usage": "output", "total_usage": "total"}
_MODELS: Final = ("model", "provided_model_name", "model_id")


def spans_of_row(row: JsonMapping) -> Iterator[Span | ValueError]:
    """Yields the spans of a row: an observation, a trace, or a trace with its observations. A span that cannot be made
    is replaced by a ValueError."""
    value = _row(row)
    inner = value.get("trace")
    if (
        isinstance(inner, dict) and "observations" in value
    ):  # a file for each trace: {"trace": ..., "observations": ...}
        value = {**_row(inner), "observations": value["observations"]}
    if "start_time" in value or "type" in value:
        yield _attempt(observation, value)
        return
    if "timestamp" not in value or "value" in value:
        yield ValueError("it is neither a trace nor an observation: scores and other rows are not imported")
        return
    yield _attempt(trace_span, value)
    observations = json_in(value.get("observations"))
    for item in observations if isinstance(observations, list) else ():
        if isinstance(item, dict):
            fields = _row(item)
            fields.setdefault("trace_id", value.get("id"))
            fields.pop("project_id", None)
            yield _attempt(observation, fields)


def _attempt(make: Any, value: JsonMapping) -> Span | ValueError:
    try:
        return make(value)
    except (ValueError, OverflowError) as error:
        return ValueError(str(error))


def _row(row: JsonMapping) -> Json:
    return {_UPPER.sub(lambda match: "_" + match[1].lower(), key): value for key, value in row.items()}


def trace_span(value: JsonMapping) -> Span:
    """Returns the span that represents a trace. Raises ValueError."""
    trace = trace_id(value.get("id"))
    start_ns = time_ns(value.get("timestamp"))
    if start_ns is None:
        raise ValueError("the trace has no timestamp")
    attributes = _common(value)
    attributes[_TRACE + "name"] = str(first_of(value, "name") or "")
    for name in ("input", "output", "metadata"):
        if not is_absent(value.get(name)):
            attributes[_TRACE + name] = as_text(value[name])
    latency = value.get("latency")
    took_ns = int(latency * 1e9) if isinstance(latency, int | float) and latency > 0 else 0
    name = attributes[_TRACE + "name"]
    return Span(trace, root_id(trace), None, name, start_ns, start_ns + took_ns, attributes, scope=SCOPE)


def root_id(trace: str) -> str:
    """Returns the id of the span that represents a trace."""
    return span_id("the trace itself", trace)


def observation(value: JsonMapping) -> Span:
    """Returns the span of an observation. Raises ValueError."""
    trace = trace_id(first_of(value, "trace_id"))
    span = span_id(value.get("id"), trace)
    start_ns = time_ns(value.get("start_time"))
    if start_ns is None:
        raise ValueError("the observation has no startTime")
    parent = first_of(value, "parent_observation_id")
    if parent:
        parent_id = span_id(parent, trace)
    else:
        parent_id = None if any(name in value for name in _ENRICHED) else root_id(trace)
    attributes = _common(value) | {_OBSERVATION + "type": str(value.get("type") or "span").lower()}
    for name, key in _TEXTS.items():
        if not is_absent(value.get(name)):
            attributes[key] = as_text(value[name])
    _add_model(attributes, value)
    end_ns = time_ns(value.get("end_time"))
    return Span(
        trace,
        span,
        parent_id,
        str(first_of(value, "name") or ""),
        start_ns,
        max(start_ns, end_ns or start_ns),
        attributes,
        status=STATUS_ERROR if value.get("level") == "ERROR" else STATUS_UNSET,
        status_message=str(first_of(value, "status_message") or ""),
        scope=SCOPE,
    )


def _common(value: JsonMapping) -> Attributes:
    attributes: Attributes = {
        key: str(value[name]) for name, key in _OF_TRACE.items() if not is_absent(value.get(name)) and value[name] != ""
    }
    tags = json_in(value.get("tags"))
    if isinstance(tags, list) and tags:
        attributes[_TRACE + "tags"] = [str(tag) for tag in tags]
    return attributes


def _add_model(attributes: Attributes, value: JsonMapping) -> None:
    model = first_of(value, *_MODELS)
    if isinstance(model, str) and model:
        attributes[_OBSERVATION + "model.name"] = model
    counts = (
        _counts(json_in(value.get("usage_details")))
        or _counts(json_in(value.get("usage")))
        or _counts({name: value.get(column) for column, name in _COLUMNS.items()})
    )
    if any(counts.values()):
        attributes[_OBSERVATION + "usage_details"] = as_text(counts)


def _counts(usage: JsonValue) -> dict[str, int]:
    """Returns token counts by Langfuse's names, in which each token is counted once: `lift` adds up the whole."""
    if not isinstance(usage, dict):
        return {}
    return {_USAGE.get(name, name): count for name, count in usage.items() if type(count) is int}
