"""What every vocabulary writes alike: attributes that no instrumentation has a word for, and what a call raised."""

from typing import Any, Final, cast

from playhead.lift.dialects import DIALECTS
from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.ref import is_ref
from playhead.model.span import Attributes, SpanEvent
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.span import OutboundSpan
from playhead.outbound.vocabularies.otel_genai import inline

# What instrumentations write is said in the destination's own words already; said twice, it would be counted twice.
_INSTRUMENTATIONS: Final = frozenset({
    "playhead", "agent", "agent_name", "model_name", "tool", "tag", "session", "user", "metadata", "embedding",
    "retrieval", "reranker", "annotations", "evaluations", "graph", "langgraph", "events", "genkit:name", "logfire",
    "exception", "operation",
}).union(*(dialect.PREFIXES for dialect in DIALECTS))  # fmt: skip
# What helps a person to find the call again in Playhead.
_KEPT: Final = (
    names.RUN_ID, names.RUN_ATTEMPT, names.CALL_KEY, names.PROCESS_ID, names.CALL_ORDER, names.OUTCOME, names.FORK_OF,
)  # fmt: skip
_EXCEPTION: Final = "exception"
_MESSAGES: Final = "gen_ai."


def custom_attributes(span: OutboundSpan, content: ShownContent) -> dict[str, Any]:
    """Attributes that the program set itself, and where the call is found in Playhead: plain values, no content."""
    kept = {
        key: content.attribute(key, value)
        for key, value in span.attributes.items()
        if key in _KEPT or (key.partition(".")[0] not in _INSTRUMENTATIONS and not is_ref(value))
    }
    return {key: value for key, value in kept.items() if key != names.CONTENT_INLINE}


def plain(value: Any) -> Any:
    """The value as OTLP readers take it: a text, a number, a truth value or a list of texts; else JSON."""
    if isinstance(value, list | tuple):
        several = cast("list[Any]", value)
        return list(several) if all(isinstance(one, str) for one in several) else _json(several)
    return value if isinstance(value, str | bool | int | float) else _json(value)


def events(span: OutboundSpan, content: ShownContent) -> list[SpanEvent]:
    """The span's events, without those that tell messages; what a call of ours raised is an exception event."""
    kept = [
        SpanEvent(event.name, event.time_ns, _of_event(event.attributes, content))
        for event in span.span.events
        if not event.name.startswith(_MESSAGES)
    ]
    raised = content.object(span.ref(names.ERROR_REF))
    if raised and not any(event.name == _EXCEPTION for event in kept):
        said = {f"exception.{key}": raised[key] for key in ("type", "message", "stacktrace") if raised.get(key)}
        kept.append(SpanEvent(_EXCEPTION, span.span.end_ns or span.span.start_ns, said))
    return kept


def _of_event(attributes: Attributes, content: ShownContent) -> Attributes:
    shown = inline(attributes, content)
    return {key: plain(value) for key, value in shown.items() if key != names.CONTENT_INLINE}


def _json(value: Any) -> str:
    return canonical_json(value).decode("utf-8", "replace")
