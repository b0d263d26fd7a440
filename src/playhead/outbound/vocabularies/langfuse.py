"""Langfuse's own attributes, `langfuse.*`, and no attribute that Langfuse would also read under another name.

Facts about the run (session, user, tags, name, metadata) are on every span, because Langfuse sums up by observation.
Usage, cost and model are on generations and embeddings only. See "Tracing over OTLP" in Langfuse's documentation.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.json_value import Json, JsonOrBytes, JsonValue
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, Span
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.langfuse_media import MediaTokens, OutboundMedia
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan
from playhead.outbound.vocabularies.chat import ChatEntry, ChatPiece, as_text, input_chat, output_chat, tool_fields
from playhead.outbound.vocabularies.leftovers import custom_attributes, events, plain
from playhead.outbound.vocabularies.otel_genai import values_of

_OBSERVATION: Final = "langfuse.observation."
_TRACE: Final = "langfuse.trace."
_TYPES: Final = {
    "agent": "agent", "llm": "generation", "tool": "tool", "retriever": "retriever", "embedding": "embedding",
    "guardrail": "guardrail", "step": "span",
}  # fmt: skip
# Kinds that others distinguish and we do not.
_FINER_TYPES: Final = frozenset({"evaluator", "chain", "event"})
_FINER_ATTRIBUTES: Final = ("langfuse.observation.type", "openinference.span.kind")
_PROMPT_NAMES: Final = ("langfuse.observation.prompt.name", names.PROMPT_NAME)
_PROMPT_VERSIONS: Final = ("langfuse.observation.prompt.version", "gen_ai.prompt.version")
# Langfuse drops longer ids, and treats spans of a scope with this beginning as spans of its own SDK.
_MOST_ID_CHARACTERS: Final = 200
_RESERVED_SCOPE: Final = "langfuse-sdk"
_MOST_ENVIRONMENT: Final = 40
_ENVIRONMENTS: Final = ("langfuse.environment", "deployment.environment.name", "deployment.environment")
_WARNED: Final = frozenset({"aborted", "cancelled", names.INTERRUPTED})


def refs(span: OutboundSpan) -> Iterable[ContentRef]:
    """See `SpanVocabulary`."""
    candidates = (
        span.input, span.output, span.request, span.ref(names.ERROR_REF), span.ref(names.TOOL_DEFINITIONS_REF),
        span.ref(names.SYSTEM_INSTRUCTIONS_REF), span.ref(names.REASONING_REF),
    )  # fmt: skip
    of_events = [ref for event in span.span.events for ref in values_of(event.attributes)]
    return [ref for ref in (*candidates, *of_events) if ref is not None]


def encode(span: OutboundSpan, content: ShownContent, options: OutboundOptions) -> Span:
    """Returns the span with Langfuse's attributes; see `SpanVocabulary`."""
    input_text, output_text, _ = _in_and_out(span, content, media=options.media)
    attributes: Attributes = {
        _OBSERVATION + "type": _type(span),
        _OBSERVATION + "input": input_text,
        _OBSERVATION + "output": output_text,
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
    """Returns the media whose references are in the encoded span: upload them before it."""
    return _in_and_out(span, content, media=True)[2]


def _in_and_out(
    span: OutboundSpan, content: ShownContent, *, media: bool
) -> tuple[str | None, str | None, list[OutboundMedia]]:
    tokens = MediaTokens(span.span.trace_id, span.span.span_id)
    is_call = span.kind == "llm"  # other spans show messages only if they have no input or output of their own
    asked = _chat(input_chat(span, content)) if is_call or span.input is None else None
    answered = _chat(output_chat(span, content)) if is_call or span.output is None else None
    input_value: JsonOrBytes = None if asked is None else [*asked]
    output_value: JsonOrBytes = None if answered is None else [*answered]
    if asked is None:
        input_value = content.value(span.ref(names.INPUT_MESSAGES_REF) if content.is_link else None)
        input_value = content.value(span.input) if input_value is None else input_value
    elif tools := content.value(span.ref(names.TOOL_DEFINITIONS_REF)):
        input_value = {"messages": [*asked], "tools": None if isinstance(tools, bytes) else tools}
    if answered is None:
        output_value = content.value(span.ref(names.OUTPUT_MESSAGES_REF) if content.is_link else None)
        output_value = content.value(span.output) if output_value is None else output_value
    elif len(answered) == 1:
        output_value = answered[0]
    if media:
        input_value, output_value = tokens.of(input_value, "input"), tokens.of(output_value, "output")
    return _text(input_value), _text(output_value), list(tokens.found.values())


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
        if span.span.parent_id is not None:  # the parent is outside the run and is not sent
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
    message = content.text(span.span.status_message) or (str(outcome) if outcome else "")
    if span.has_failed and not message:
        message = str(span.attributes.get(names.ERROR_TYPE) or "")
    return {_OBSERVATION + "level": level, _OBSERVATION + "status_message": message or None}


def _usage(span: OutboundSpan) -> dict[str, int]:
    """Returns the numbers of tokens. Each token is counted under one name, because Langfuse multiplies each number with
    its own price and adds the results."""
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


def _own_metadata(span: OutboundSpan, content: ShownContent) -> Json:
    metadata: Json = {
        **custom_attributes(span, content),
        "playhead_run_url": span.url,
        "finish_reasons": list(span.finish_reasons),
    }
    metadata |= {"agent": span.agent, "provider": span.provider, "tool_call_id": span.tool_call}
    node = span.attributes.get(names.GRAPH_NODE)
    if node is not None:
        metadata["graph_node"] = node
    return {key: value for key, value in metadata.items() if value not in (None, [])}


def _metadata(prefix: str, values: Attributes) -> Attributes:
    return {prefix + key: plain(value) for key, value in values.items() if value is not None}


def _chat(chat: list[ChatEntry] | None) -> list[Json] | None:
    return None if chat is None else [_entry(entry) for entry in chat]


def _entry(entry: ChatEntry) -> Json:
    thought = "\n".join(piece.text for piece in entry.pieces if piece.kind == "reasoning")
    pieces = [piece for piece in entry.pieces if piece.kind != "reasoning"]
    message: Json = {"role": entry.role}
    if all(piece.kind == "text" for piece in pieces):
        message["content"] = "\n".join(piece.text for piece in pieces) if pieces else None
    else:
        message["content"] = [_piece(piece) for piece in pieces]
    if thought:
        message["reasoning_content"] = thought
    if entry.name is not None:
        message["name"] = entry.name
    return message | tool_fields(entry)


def _piece(piece: ChatPiece) -> Json:
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
    """Returns the environment's name in the characters that Langfuse accepts; None if nothing remains."""
    named = next((str(resource[name]) for name in _ENVIRONMENTS if resource.get(name)), None)
    if named is None:
        return None
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in named.lower())
    return letters.removeprefix("langfuse").strip("-_")[:_MOST_ENVIRONMENT] or None


def _id(text: str | None) -> str | None:
    return None if text is None else text[:_MOST_ID_CHARACTERS]


def _first(span: OutboundSpan, candidates: Iterable[str]) -> JsonValue:
    return next((value for name in candidates if (value := span.attributes.get(name)) is not None), None)


def _whole(span: OutboundSpan, name: str) -> int:
    value = span.attributes.get(name)
    return value if type(value) is int and value > 0 else 0


def _time(ns: int) -> str:
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1_000_000:03d}Z"


def _text(value: object) -> str | None:
    return None if value is None else as_text(value)


def _json(value: object) -> str | None:
    return None if value is None else canonical_json(value).decode("utf-8", "replace")
