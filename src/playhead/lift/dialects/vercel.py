"""The Vercel AI SDK's own names (`ai.*`): the only ones in versions 3 to 6, and optional in version 7.

Its outer spans (`ai.generateText`) repeat the content of the inner ones (`ai.generateText.doGenerate`): they are steps.
"""

from collections.abc import Mapping
from typing import Final

from playhead.dialect import openai_chat
from playhead.lift.extraction import (
    ExtractedContent,
    extract_answer,
    extract_request,
    extract_tools,
    extract_value,
    json_or_text,
    set_ref_attribute,
)
from playhead.lift.provider_bodies import AnswerBody, RequestBody
from playhead.lift.provider_messages import tool_call, vercel_to_chat
from playhead.model import names
from playhead.model.json_value import Json, objects_of
from playhead.model.message import Message
from playhead.model.span import Attributes

NAME = "vercel"
PREFIXES = frozenset({"ai"})
ALIASES: Mapping[str, str] = {
    "ai.telemetry.metadata.sessionId": names.CONVERSATION,
    "ai.telemetry.metadata.threadId": names.CONVERSATION,
    "ai.telemetry.metadata.chatId": names.CONVERSATION,
    "ai.telemetry.metadata.userId": names.USER,
    "ai.telemetry.metadata.tags": names.RUN_TAGS,
    "ai.model.id": names.REQUEST_MODEL,
    "ai.model.provider": names.PROVIDER,
    "ai.response.model": names.RESPONSE_MODEL,
    "ai.response.id": names.RESPONSE_ID,
    "ai.response.finishReason": names.FINISH_REASONS,
    "ai.toolCall.name": names.TOOL_NAME,
    "ai.toolCall.id": names.TOOL_CALL_ID,
    "ai.usage.inputTokens": names.INPUT_TOKENS,
    "ai.usage.promptTokens": names.INPUT_TOKENS,
    "ai.usage.tokens": names.INPUT_TOKENS,  # of embeddings
    "ai.usage.outputTokens": names.OUTPUT_TOKENS,
    "ai.usage.completionTokens": names.OUTPUT_TOKENS,
    "ai.usage.cachedInputTokens": names.CACHE_READ_TOKENS,
    "ai.usage.reasoningTokens": names.REASONING_TOKENS,
}
_OPERATION: Final = "ai.operationId"
_INNER: Final = (".doGenerate", ".doStream")
_METADATA: Final = "ai.telemetry.metadata."
_MESSAGES, _TOOLS = "ai.prompt.messages", "ai.prompt.tools"
_TEXT, _OBJECT, _CALLS, _REASONING = "text", "object", "toolCalls", "reasoning"
_ANSWERS: Final = ("ai.response.", "ai.result.")  # the second before version 4
_CONTENTS: Final = {
    "ai.prompt": names.INPUT_REF,
    "ai.toolCall.args": names.TOOL_ARGUMENTS_REF,
    "ai.toolCall.result": names.TOOL_RESULT_REF,
    "ai.value": names.INPUT_REF,
    "ai.values": names.INPUT_REF,
    "ai.documents": names.INPUT_REF,
    "ai.embedding": names.OUTPUT_REF,
    "ai.embeddings": names.OUTPUT_REF,
    "ai.ranking": names.OUTPUT_REF,
    **{
        key: key + names.REF_SUFFIX
        for key in (
            "ai.prompt.toolChoice", "ai.schema", "ai.response.files", "ai.response.sources",
            "ai.response.providerMetadata", "ai.settings.output", "ai.schema.description",
        )
    },
}  # fmt: skip


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by any of its names."""
    return any(key.startswith("ai.") for key in attributes)


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `ai.operationId`."""
    operation = attributes.get(_OPERATION)
    if not isinstance(operation, str):
        return None
    if operation == "ai.toolCall":
        return "tool"
    if operation.startswith(("ai.embed", "ai.rerank")):
        is_inner = operation.endswith((".doEmbed", ".doRerank"))
        return ("embedding" if "embed" in operation else "retriever") if is_inner else "step"
    return "llm" if operation.endswith(_INNER) else "step"


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves prompts and responses of a model call into threads, and input and output of other spans to content."""
    if _TOOLS in attributes:
        extract_tools(attributes, attributes.pop(_TOOLS), _TOOLS, contents)
    if _MESSAGES in attributes:
        _extract_messages(attributes, contents)
    for prefix in _ANSWERS:
        _extract_answer(attributes, prefix, kind, contents)
    for key, ours in _CONTENTS.items():
        if key in attributes:
            extract_value(attributes, ours, attributes.pop(key), key, contents)
    for key in [key for key in attributes if key.startswith(_METADATA) and key not in ALIASES]:
        if not key.endswith(names.REF_SUFFIX):
            extract_value(attributes, key + names.REF_SUFFIX, attributes.pop(key), key, contents)


def _extract_messages(attributes: Attributes, contents: ExtractedContent) -> None:
    raw = attributes.pop(_MESSAGES)
    try:
        natives = json_or_text(raw)
    except ValueError:
        set_ref_attribute(attributes, names.INPUT_REF, contents.keep_unparsed_text(_MESSAGES, raw), _MESSAGES)
        return
    messages = objects_of(natives)
    if not isinstance(natives, list) or len(messages) != len(natives):
        extract_value(attributes, names.INPUT_REF, natives, _MESSAGES, contents)
        return
    chat = [message for native in messages for message in vercel_to_chat(native)]
    extract_request(attributes, RequestBody([openai_chat.to_message(message) for message in chat]), _MESSAGES, contents)


def _extract_answer(attributes: Attributes, prefix: str, kind: str | None, contents: ExtractedContent) -> None:
    answered = {key: attributes.pop(prefix + key, None) for key in (_TEXT, _OBJECT, _CALLS, _REASONING)}
    if all(value is None for value in answered.values()):
        return
    text = answered[_OBJECT] if answered[_TEXT] is None else answered[_TEXT]
    if kind != "llm":
        extract_value(
            attributes, names.OUTPUT_REF, answered[_CALLS] if text is None else text, prefix + _TEXT, contents
        )
        return
    chat: Json = {"role": "assistant"}
    if text not in (None, ""):
        chat["content"] = text
    try:
        calls = json_or_text(answered[_CALLS])
    except ValueError:
        calls = None
        set_ref_attribute(
            attributes,
            prefix + _CALLS + names.REF_SUFFIX,
            contents.keep_unparsed_text(prefix + _CALLS, answered[_CALLS]),
            prefix,
        )
    if isinstance(calls, list):
        natives = [call for call in calls if isinstance(call, dict)]
        chat["tool_calls"] = [tool_call(call) for call in natives]
    message: Message = openai_chat.to_message(chat)
    reasoning = [] if answered[_REASONING] is None else [answered[_REASONING]]
    extract_answer(attributes, AnswerBody([message], reasoning), prefix + _TEXT, contents)
