"""Langfuse's own attributes: `langfuse.*` and nothing that Langfuse would read a second time under another name.

What a run says (session, user, tags, name, metadata) stands on every span, because Langfuse sums up by observation.
Usage, cost and model stand on generations and embeddings only.  See "Tracing over OTLP" in Langfuse's documentation.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, Span
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan
from playhead.outbound.vocabularies.chat import ChatEntry, ChatPiece, as_text, input_chat, output_chat
from playhead.outbound.vocabularies.leftovers import custom_attributes, events, plain
from playhead.outbound.vocabularies.media import MediaTokens, OutboundMedia
from playhead.outbound.vocabularies.otel_genai import values_of

_OBSERVATION: Final = "langfuse.observation."
_TRACE: Final = "langfuse.trace."
_TYPES: Final = {
    "agent": "agent", "llm": "generation", "tool": "tool", "retriever": "retriever", "embedding": "embedding",
    "guardrail": "guardrail", "step": "span",
}  # fmt: skip
# Kinds that others tell apart and we do not.
_FINER_TYPES: Final = frozenset({"evaluator", "chain", "event"})
_FINER_ATTRIBUTES: Final = ("langfuse.observation.type", "openinference.span.kind")
_PROMPT_NAMES: Final = ("langfuse.observation.prompt.name", names.PROMPT_NAME)
_PROMPT_VERSIONS: Final = ("langfuse.observation.prompt.version", "gen_ai.prompt.version")
# Langfuse drops longer ids, and takes spans whose scope begins so for its own SDK's.
_MOST_ID_CHARACTERS: Final = 200
_RESERVED_SCOPE: Final = "langfuse-sdk"
_MOST_ENVIRONMENT: Final = 40
_ENVIRONMENTS: Final = ("langfuse.environment", "deployment.environment.name", "deployment.environment")
_WARNED: Final = frozenset({"aborted", "cancelled", names.INTERRUPTED})


def refs(span: OutboundSpan) -> Iterable[ContentRef]:
    """See `SpanVocabulary`."""
    found = (span.input, span.output, span.request, span.ref(names.ERROR_REF), span.ref(names.TOOL_DEFINITIONS_REF),
             span.ref(names.SYSTEM_INSTRUCTIONS_REF), span.ref(names.REASONING_REF))  # fmt: skip
    of_events = [ref for event in span.span.events for ref in values_of(event.attributes)]
    return [ref for ref in (*found, *of_events) if ref is not None]


def encode(span: OutboundSpan, content: ShownContent, options: OutboundOptions) -> Span:
    """See the module."""
    asked, gave, _ = _in_and_out(span, content, media=options.media)
    attributes: Attributes = {
        _OBSERVATION + "type": _type(span),
        _OBSERVATION + "input": asked,
        _OBSERVATION + "output": gave,
        **_of_run(span, content),
        **_of_model(span, content),
        **_of_outcome(span, content),
        **_metadata(_OBSERVATION + "metadata.", _own_metadata(span, content)),
        names.RUN_URL: span.url,
        **options.attributes,
    }
    of_tool = span.kind == "tool"
    scope = names.SCOPE if span.span.scope.startswith(_RESERVED_SCOPE) else span.span.scope
    return replace(
        span.span,
        name=(span.tool or span.span.name) if of_tool else span.span.name,
        attributes={key: value for key, value in attributes.items() if value is not None},
        events=events(span, content),
        status_message=content.text(span.span.status_message),
        scope=scope,
    )


def media(span: OutboundSpan, content: ShownContent) -> list[OutboundMedia]:
    """The media whose tokens stand in the span: to be uploaded before it."""
    return _in_and_out(span, content, media=True)[2]


def _in_and_out(
    span: OutboundSpan, content: ShownContent, *, media: bool
) -> tuple[str | None, str | None, list[OutboundMedia]]:
    tokens = MediaTokens(span.span.trace_id, span.span.span_id)
    is_call = span.kind == "llm"  # of all else, messages are only shown where there is nothing of its own
    asked: Any = _chat(input_chat(span, content)) if is_call or span.input is None else None
    gave: Any = _chat(output_chat(span, content)) if is_call or span.output is None else None
    if asked is None:
        asked = content.value(span.ref(names.INPUT_MESSAGES_REF) if content.is_link else None)
        asked = content.value(span.input) if asked is None else asked
    elif tools := content.value(span.ref(names.TOOL_DEFINITIONS_REF)):
        asked = {"messages": asked, "tools": tools}
    if gave is None:
        gave = content.value(span.ref(names.OUTPUT_MESSAGES_REF) if content.is_link else None)
        gave = content.value(span.output) if gave is None else gave
    elif len(gave) == 1:
        gave = gave[0]
    if media:
        asked, gave = tokens.of(asked, "input"), tokens.of(gave, "output")
    return _text(asked), _text(gave), list(tokens.found.values())


def _type(span: OutboundSpan) -> str:
    if span.kind == "step":
        for name in _FINER_ATTRIBUTES:
            finer = str(span.attributes.get(name) or "").lower()
            if finer in _FINER_TYPES:
                return finer
        if names.GRAPH_NODE in span.attributes:
            return "chain"
    return _TYPES[span.kind]


def _of_run(span: OutboundSpan, content: ShownContent) -> Attributes:
    run = span.run
    attributes: Attributes = {
        "langfuse.session.id": _id(run.session),
        "langfuse.user.id": _id(run.user),
        _TRACE + "tags": list(run.tags) or None,
        _TRACE + "name": _id(run.name),
        "langfuse.environment": _environment(span.span.resource),
        **_metadata(_TRACE + "metadata.", content.object(run.metadata)),
    }
    if span.is_root:
        attributes["langfuse.internal.is_app_root"] = True
        if span.span.parent_id is not None:  # what the run was called from is not sent on
            attributes["langfuse.internal.as_root"] = True
    return attributes


def _of_model(span: OutboundSpan, content: ShownContent) -> Attributes:
    if span.kind not in {"llm", "embedding"}:
        return {}
    settings = {**content.object(span.request), **span.settings}
    settings.pop("model", None)
    attributes: Attributes = {
        _OBSERVATION + "model.name": span.model,
        _OBSERVATION + "model.parameters": _json({key: plain(value) for key, value in settings.items()} or None),
        _OBSERVATION + "usage_details": _json(_usage(span) or None),
        _OBSERVATION + "cost_details": _json(_cost(span) or None),
    }
    if span.completion_start_ns is not None:
        attributes[_OBSERVATION + "completion_start_time"] = _time(span.completion_start_ns)
    if span.kind == "llm":
        name = _first(span, _PROMPT_NAMES)
        if name is not None:
            attributes[_OBSERVATION + "prompt.name"] = str(name)
            attributes[_OBSERVATION + "prompt.version"] = _first(span, _PROMPT_VERSIONS)
    return attributes


def _of_outcome(span: OutboundSpan, content: ShownContent) -> Attributes:
    outcome = span.attributes.get(names.OUTCOME)
    level = "ERROR" if span.has_failed else "WARNING" if outcome in _WARNED else "DEFAULT"
    said = content.text(span.span.status_message) or (str(outcome) if outcome else "")
    if span.has_failed and not said:
        said = str(span.attributes.get(names.ERROR_TYPE) or "")
    return {_OBSERVATION + "level": level, _OBSERVATION + "status_message": said or None}


def _usage(span: OutboundSpan) -> dict[str, int]:
    """Tokens, each counted under one name: Langfuse multiplies each with its own price and adds them up."""
    used = span.usage
    read, written = used.cache_read_tokens or 0, used.cache_write_tokens or 0
    reasoning = used.reasoning_tokens or 0
    heard, spoken = (_whole(span, name) for name in (names.AUDIO_INPUT_TOKENS, names.AUDIO_OUTPUT_TOKENS))
    details: dict[str, int] = {}
    if used.input_tokens is not None:
        details["input"] = max(0, used.input_tokens - read - written - heard)
    if used.output_tokens is not None:
        details["output"] = max(0, used.output_tokens - reasoning - spoken)
    apart = {"input_cache_read": read, "input_cache_creation": written, "input_audio": heard,
             "output_reasoning": reasoning, "output_audio": spoken}  # fmt: skip
    details |= {name: count for name, count in apart.items() if count}
    if used.input_tokens is not None and used.output_tokens is not None:
        details["total"] = used.input_tokens + used.output_tokens
    return details


def _cost(span: OutboundSpan) -> dict[str, float]:
    costs = {"input": span.cost.input, "output": span.cost.output, "total": span.cost.total}
    return {name: cost for name, cost in costs.items() if cost is not None}


def _own_metadata(span: OutboundSpan, content: ShownContent) -> dict[str, Any]:
    own = {
        **custom_attributes(span, content),
        "playhead_run_url": span.url,
        "finish_reasons": list(span.finish_reasons),
    }
    own |= {"agent": span.agent, "provider": span.provider, "tool_call_id": span.tool_call}
    node = span.attributes.get(names.GRAPH_NODE)
    if node is not None:
        own["graph_node"] = node
    return {key: value for key, value in own.items() if value not in (None, [])}


def _metadata(prefix: str, values: Attributes) -> Attributes:
    return {prefix + key: plain(value) for key, value in values.items() if value is not None}


def _chat(chat: list[ChatEntry] | None) -> list[dict[str, Any]] | None:
    return None if chat is None else [_entry(entry) for entry in chat]


def _entry(entry: ChatEntry) -> dict[str, Any]:
    thought = "\n".join(piece.text for piece in entry.pieces if piece.kind == "reasoning")
    pieces = [piece for piece in entry.pieces if piece.kind != "reasoning"]
    said: dict[str, Any] = {"role": entry.role}
    if all(piece.kind == "text" for piece in pieces):
        said["content"] = "\n".join(piece.text for piece in pieces) if pieces else None
    else:
        said["content"] = [_piece(piece) for piece in pieces]
    if thought:
        said["reasoning_content"] = thought
    if entry.name is not None:
        said["name"] = entry.name
    if entry.answers is not None:
        said["tool_call_id"] = entry.answers
    if entry.calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in entry.calls
        ]
    return said


def _piece(piece: ChatPiece) -> dict[str, Any]:
    match piece.kind:
        case "image":
            return {"type": "image_url", "image_url": {"url": piece.url}}
        case "audio":
            return {"type": "input_audio", "input_audio": {"data": piece.url}}
        case "file":
            return {"type": "file", "file": {"file_data": piece.url}}
        case _:
            return {"type": "text", "text": piece.text}


def _environment(resource: Attributes) -> str | None:
    """In the letters that Langfuse takes; what it would refuse is not sent."""
    named = next((str(resource[name]) for name in _ENVIRONMENTS if resource.get(name)), None)
    if named is None:
        return None
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in named.lower())
    return letters.removeprefix("langfuse").strip("-_")[:_MOST_ENVIRONMENT] or None


def _id(text: str | None) -> str | None:
    return None if text is None else text[:_MOST_ID_CHARACTERS]


def _first(span: OutboundSpan, candidates: Iterable[str]) -> Any:
    return next((value for name in candidates if (value := span.attributes.get(name)) is not None), None)


def _whole(span: OutboundSpan, name: str) -> int:
    value = span.attributes.get(name)
    return value if type(value) is int and value > 0 else 0


def _time(ns: int) -> str:
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1_000_000:03d}Z"


def _text(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _json(value: Any) -> str | None:
    return None if value is None else canonical_json(value).decode("utf-8", "replace")
