"""OpenInference, which Phoenix reads: either messages or `input.value`, never both, and always `output.value`.

Tokens and cost are on model calls and embeddings, because Phoenix sums them up over all spans of a trace. Vectors of
embeddings are not sent.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, cast

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.json_value import Json, JsonMapping, JsonOrBytes, JsonValue, list_of
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, Span
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan
from playhead.outbound.vocabularies.chat import ChatEntry, ChatPiece, as_text, input_chat, output_chat, tool_fields
from playhead.outbound.vocabularies.leftovers import custom_attributes, events
from playhead.outbound.vocabularies.otel_genai import values_of

_KINDS: Final = {
    "agent": "AGENT", "llm": "LLM", "tool": "TOOL", "retriever": "RETRIEVER", "embedding": "EMBEDDING",
    "guardrail": "GUARDRAIL", "step": "CHAIN",
}  # fmt: skip
_KIND: Final = "openinference.span.kind"
# Kinds that we do not distinguish.
_FINER_KINDS: Final = {"EVALUATOR": "step", "PROMPT": "step", "DECISION": "step", "RERANKER": "retriever"}
_INPUT, _OUTPUT = "input.", "output."
_JSON_TYPE, _TEXT_TYPE = "application/json", "text/plain"
_CONTENTS: Final = {
    "tool.description_ref": "tool.description", "tool.parameters_ref": "tool.parameters",
    "llm.prompt_template.template_ref": "llm.prompt_template.template",
    "llm.prompt_template.variables_ref": "llm.prompt_template.variables",
}  # fmt: skip
# Keys under which retrievers and their frameworks keep the text of a document.
_TEXTS: Final = ("content", "text", "page_content", "document")


def refs(span: OutboundSpan) -> Iterable[ContentRef]:
    """See `SpanVocabulary`."""
    attribute_names = (names.ERROR_REF, names.TOOL_DEFINITIONS_REF, names.SYSTEM_INSTRUCTIONS_REF, names.REASONING_REF)
    candidates = [
        span.input,
        span.output,
        span.request,
        span.documents,
        *(span.ref(name) for name in (*attribute_names, *_CONTENTS)),
    ]
    of_events = [ref for event in span.span.events for ref in values_of(event.attributes)]
    return [ref for ref in (*candidates, *of_events) if ref is not None]


def encode(span: OutboundSpan, content: ShownContent, options: OutboundOptions) -> Span:
    """Returns the span with OpenInference's attributes; see `SpanVocabulary`."""
    attributes: Attributes = {
        _KIND: _kind(span),
        **_in_and_out(span, content),
        **_of_run(span, content),
        **_of_kind(span, content),
        names.RUN_URL: span.url,
        **options.attributes,
    }
    for theirs, name in _CONTENTS.items() if not content.is_link else ():
        if (content_value := content.value(span.ref(theirs))) is not None:
            attributes[name] = as_text(content_value)
    resource = (
        span.span.resource if options.project is None else {**span.span.resource, names.PROJECT_NAME: options.project}
    )
    return replace(
        span.span,
        attributes={key: value for key, value in attributes.items() if value is not None},
        events=events(span, content),
        status_message=content.text(span.span.status_message),
        resource=resource,
    )


def _kind(span: OutboundSpan) -> str:
    finer = str(span.attributes.get(_KIND) or "").upper()
    return finer if _FINER_KINDS.get(finer) == span.kind else _KINDS[span.kind]


def _in_and_out(span: OutboundSpan, content: ShownContent) -> Attributes:
    input_entries, output_entries = input_chat(span, content), output_chat(span, content)
    if span.kind != "llm":  # messages are the input and output of other spans only if these have none of their own
        output_entries = output_entries if span.output is None else None
        return {**_value(_INPUT, _or_chat(span, content, span.input, input_entries, names.INPUT_MESSAGES_REF)),
                **_value(_OUTPUT, _output(span, content, output_entries))}  # fmt: skip
    attributes = (
        _value(_INPUT, _or_chat(span, content, span.input, None, names.INPUT_MESSAGES_REF))
        if input_entries is None
        else _messages("llm.input_messages", input_entries)
    )
    if output_entries is not None:
        attributes |= _messages("llm.output_messages", output_entries)
    return attributes | _value(_OUTPUT, _output(span, content, output_entries))


def _or_chat(
    span: OutboundSpan, content: ShownContent, ref: ContentRef | None, chat: list[ChatEntry] | None, linked: str
) -> JsonOrBytes:
    """Returns the span's own value, else its messages, else a link to them; None if there is nothing."""
    if ref is not None:
        return content.value(ref)
    if chat is not None:
        return [_plain_entry(entry) for entry in chat]
    return content.value(span.ref(linked)) if content.is_link else None


def _output(span: OutboundSpan, content: ShownContent, chat: list[ChatEntry] | None) -> JsonOrBytes:
    """Returns the value of `output.value`: the text of an answer, else the tool calls that it requests; for documents,
    their number."""
    if chat and not any(entry.calls for entry in chat):
        return "\n".join(entry.text for entry in chat if entry.text)
    if chat:
        entries = [_plain_entry(entry) for entry in chat]
        return entries[0] if len(entries) == 1 else [*entries]
    if span.kind == "retriever" and (documents := _documents(span, content)) is not None:
        return f"{len(documents)} documents"
    if span.kind == "embedding" and not content.is_link:
        return "vectors, kept in Playhead" if span.output is not None else None
    return _or_chat(span, content, span.output, None, names.OUTPUT_MESSAGES_REF)


def _value(prefix: str, value: JsonOrBytes) -> Attributes:
    if value is None:
        return {prefix + "value": "", prefix + "mime_type": _TEXT_TYPE} if prefix == _OUTPUT else {}
    mime_type = _TEXT_TYPE if isinstance(value, str | bytes) else _JSON_TYPE
    return {prefix + "value": as_text(value), prefix + "mime_type": mime_type}


def _messages(prefix: str, chat: Iterable[ChatEntry]) -> Attributes:
    attributes: Attributes = {}
    for place, entry in enumerate(chat):
        entry_prefix = f"{prefix}.{place}.message."
        attributes[entry_prefix + "role"] = entry.role
        if all(piece.kind == "text" for piece in entry.pieces):
            if entry.pieces:
                attributes[entry_prefix + "content"] = entry.text
        else:
            attributes |= _contents(entry_prefix + "contents", entry.pieces)
        if entry.name is not None:
            attributes[entry_prefix + "name"] = entry.name
        if entry.answers is not None:
            attributes[entry_prefix + "tool_call_id"] = entry.answers
        for number, call in enumerate(entry.calls):
            of_call = f"{entry_prefix}tool_calls.{number}.tool_call."
            if call.id is not None:
                attributes[of_call + "id"] = call.id
            attributes[of_call + "function.name"] = call.name
            attributes[of_call + "function.arguments"] = call.arguments
    return attributes


def _contents(prefix: str, pieces: Iterable[ChatPiece]) -> Attributes:
    attributes: Attributes = {}
    for place, piece in enumerate(pieces):
        piece_prefix = f"{prefix}.{place}.message_content."
        match piece.kind:
            case "text" | "reasoning":
                attributes |= {piece_prefix + "type": piece.kind, piece_prefix + "text": piece.text}
            case "image":
                attributes |= {piece_prefix + "type": "image", piece_prefix + "image.image.url": piece.url}
            case "audio":
                attributes |= {piece_prefix + "type": "audio", piece_prefix + "audio.audio.url": piece.url}
            case "file":
                attributes |= {piece_prefix + "type": "document", piece_prefix + "document.document.url": piece.url}
    return attributes


def _plain_entry(entry: ChatEntry) -> Json:
    return {"role": entry.role, "content": entry.text, **tool_fields(entry)}


def _of_run(span: OutboundSpan, content: ShownContent) -> Attributes:
    run = span.run
    metadata = {**content.object(run.metadata), **custom_attributes(span, content), "playhead.run.url": span.url}
    metadata |= {"playhead.run.name": run.name, "finish_reasons": list(span.finish_reasons) or None}
    present = {key: value for key, value in metadata.items() if value is not None}
    return {
        "session.id": run.session,
        "user.id": run.user,
        "tag.tags": list(run.tags) or None,
        "metadata": _json(present) if present else None,
        "agent.name": span.agent,
        "graph.node.id": span.attributes.get(names.GRAPH_NODE),
    }


def _of_kind(span: OutboundSpan, content: ShownContent) -> Attributes:
    match span.kind:
        case "llm":
            return _of_model_call(span, content)
        case "tool":
            return {"tool.name": span.tool, "tool.id": span.tool_call}
        case "retriever":
            return _of_documents(_documents(span, content) or [])
        case "embedding":
            return _of_embedding(span, content)
        case _:
            return {}


def _of_model_call(span: OutboundSpan, content: ShownContent) -> Attributes:
    settings = {**content.object(span.request), **span.settings}
    settings.pop("model", None)
    attributes: Attributes = {
        "llm.model_name": span.model,
        "llm.provider": span.provider,
        "llm.system": span.provider,
        "llm.invocation_parameters": _json(settings) if settings else None,
        "llm.finish_reason": next(iter(span.finish_reasons), None),
        **_spent(span),
    }
    tools = content.value(span.ref(names.TOOL_DEFINITIONS_REF))
    for place, tool in enumerate(list_of(tools)):
        attributes[f"llm.tools.{place}.tool.json_schema"] = as_text(tool)
    return attributes


def _spent(span: OutboundSpan) -> Attributes:
    """Returns the tokens and the cost."""
    used, prefix = span.usage, "llm.token_count."
    read, written = used.input_tokens, used.output_tokens
    if written is None and span.kind == "embedding":
        written = 0
    return {
        prefix + "prompt": read,
        prefix + "completion": used.output_tokens,
        prefix + "total": read + written if read is not None and written is not None else None,
        prefix + "prompt_details.cache_read": used.cache_read_tokens,
        prefix + "prompt_details.cache_write": used.cache_write_tokens,
        prefix + "prompt_details.audio": span.attributes.get(names.AUDIO_INPUT_TOKENS),
        prefix + "completion_details.reasoning": used.reasoning_tokens,
        prefix + "completion_details.audio": span.attributes.get(names.AUDIO_OUTPUT_TOKENS),
        "llm.cost.prompt": span.cost.input,
        "llm.cost.completion": span.cost.output,
        "llm.cost.total": span.cost.total,
    }


def _of_embedding(span: OutboundSpan, content: ShownContent) -> Attributes:
    value = None if content.is_link else content.value(span.input)
    texts = value if isinstance(value, list) else [value]
    attributes: Attributes = {"embedding.model_name": span.model, "llm.provider": span.provider, **_spent(span)}
    for place, text in enumerate(texts):
        if isinstance(text, str):
            attributes[f"embedding.embeddings.{place}.embedding.text"] = text
    return attributes


def _documents(span: OutboundSpan, content: ShownContent) -> list[JsonValue] | None:
    """Returns the documents that a retriever found; None if its output is not a list of documents, or only links are
    sent."""
    value = None if content.is_link else content.value(span.documents)
    if isinstance(value, dict):
        listed: list[JsonValue] = [item for item in value.values() if isinstance(item, list)]
        value = listed[0] if listed else None
    return value if isinstance(value, list) and value else None


def _of_documents(documents: Iterable[JsonValue]) -> Attributes:
    attributes: Attributes = {}
    for place, item in enumerate(documents):
        prefix = f"retrieval.documents.{place}.document."
        if not isinstance(item, dict):
            attributes[prefix + "content"] = as_text(item)
            continue
        document = _inner(item)
        text = next((value for key in _TEXTS if isinstance(value := document.get(key), str)), None)
        attributes[prefix + "content"] = as_text(document) if text is None else text
        if document.get("id") is not None:
            attributes[prefix + "id"] = as_text(document["id"])
        if type(score := document.get("score")) in (int, float):
            attributes[prefix + "score"] = float(cast(float, score))
        if (metadata := document.get("metadata")) is not None:
            attributes[prefix + "metadata"] = as_text(metadata)
    return attributes


def _inner(document: Json) -> JsonMapping:
    inner = document.get("document")
    return inner if isinstance(inner, dict) else document


def _json(value: JsonMapping) -> str:
    return canonical_json(value).decode("utf-8", "replace")
