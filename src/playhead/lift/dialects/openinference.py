"""OpenInference (Arize): the instrumentations of Phoenix, and all others that write `openinference.span.kind`.

A model call has its messages twice: as the client's own JSON (`input.value`) and flattened (`llm.input_messages.N...`).
The JSON has more details, so it is read if its form is known, and the flattened messages are dropped.
"""

from collections.abc import Mapping
from typing import Final

from playhead.dialect import openai_chat
from playhead.lift.extraction import (
    ExtractedContent,
    extract_answer,
    extract_input,
    extract_output,
    extract_request,
    extract_tools,
    extract_value,
    json_or_text,
    kind_from,
)
from playhead.lift.indexed import pop_indexed_elements, pop_indexed_list, structure
from playhead.lift.provider_bodies import AnswerBody, RequestBody
from playhead.lift.provider_messages import canonical_messages, tool_result
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_of, text_at
from playhead.model.message import Message, text_message
from playhead.model.span import Attributes

NAME = "openinference"
PREFIXES = frozenset({"openinference", "input", "output", "llm"})
ALIASES: Mapping[str, str] = {
    "session.id": names.CONVERSATION,
    "tag.tags": names.RUN_TAGS,
    "agent.name": names.AGENT_NAME,
    "tool.name": names.TOOL_NAME,
    "tool.id": names.TOOL_CALL_ID,
    "llm.request.model_name": names.REQUEST_MODEL,
    "llm.model_name": names.REQUEST_MODEL,
    "embedding.model_name": names.REQUEST_MODEL,
    "reranker.model_name": names.REQUEST_MODEL,
    "llm.response.model_name": names.RESPONSE_MODEL,
    "llm.provider": names.PROVIDER,
    "llm.system": names.PROVIDER,
    "llm.finish_reason": names.FINISH_REASONS,
    "llm.token_count.prompt": names.INPUT_TOKENS,
    "llm.token_count.completion": names.OUTPUT_TOKENS,
    "llm.token_count.prompt_details.cache_read": names.CACHE_READ_TOKENS,
    "llm.token_count.prompt_details.cache_write": names.CACHE_WRITE_TOKENS,
    "llm.token_count.completion_details.reasoning": names.REASONING_TOKENS,
}
_KIND: Final = "openinference.span.kind"
_KINDS: Final = {
    "llm": "llm", "tool": "tool", "agent": "agent", "chain": "step", "retriever": "retriever",
    "embedding": "embedding", "reranker": "retriever", "guardrail": "guardrail", "evaluator": "step",
    "prompt": "step", "decision": "step",
}  # fmt: skip
_INPUT, _OUTPUT = "llm.input_messages", "llm.output_messages"
_MESSAGES: Final = (_INPUT + ".", _OUTPUT + ".")
# Names of a message's attributes, after its number.
_ROLE, _CONTENT = "message.role", "message.content"
_PLAIN_ROLES: Final = frozenset({"system", "user", "assistant"})
_OF_CALLS: Final = (*_MESSAGES, "llm.token_count.", "llm.prompts.", "llm.choices.", "gen_ai.input.messages")
_VALUES: Final = ("input.value", "output.value")
# Lists of objects and single values that are content under their own names.
_LISTS: Final = (
    "retrieval.documents", "reranker.input_documents", "reranker.output_documents", "embedding.embeddings",
    "input.images", "output.images", "input.documents", "output.documents", "llm.prompts", "llm.choices",
)  # fmt: skip
_PARAMETERS: Final = "llm.invocation_parameters"
_MODELS: Final = ("llm.model_name", "llm.request.model_name", names.REQUEST_MODEL)
_CONTENTS: Final = (
    _PARAMETERS, "llm.function_call", "llm.prompt_template.template",
    "llm.prompt_template.variables", "reranker.query", "tool.parameters", "tool.description", "tool.json_schema",
    "embedding.invocation_parameters", "embedding.text", "annotations", "evaluations",
)  # fmt: skip


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by its span kind, or by content under its names."""
    return (
        _KIND in attributes
        or any(key in attributes for key in _VALUES)
        or any(key.startswith(_MESSAGES) for key in attributes)
    )


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `openinference.span.kind`. A model call with an input value but without messages or tokens is
    a helper around a model call: a step."""
    named = kind_from(attributes, _KIND, _KINDS)
    if named == "llm" and _VALUES[0] in attributes and not any(key.startswith(_OF_CALLS) for key in attributes):
        return "step"
    return named


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves messages into threads, and all other content to refs: of the span's input and output, or under its own
    name."""
    if kind == "llm":
        _add_model(attributes)
    _extract_values(attributes, kind, contents)
    _extract_messages(attributes, contents)
    tools = pop_indexed_list(attributes, "llm.tools")
    if tools is not None:
        natives = [_tool(native) for native in tools]
        if names.TOOL_DEFINITIONS_REF not in attributes:
            extract_tools(attributes, natives, "llm.tools", contents)
    for name in _LISTS:
        listed = pop_indexed_list(attributes, name)
        if listed is None and name in attributes:
            listed = attributes.pop(name)  # the whole list, as JSON
        if listed is not None:
            _extract_list(attributes, name, listed, kind, contents)
    for name in _CONTENTS:
        if name in attributes:
            extract_value(attributes, name + names.REF_SUFFIX, attributes.pop(name), name, contents)
    if "metadata" in attributes:
        extract_value(attributes, names.RUN_METADATA_REF, attributes.pop("metadata"), "metadata", contents)


def _add_model(attributes: Attributes) -> None:
    """Sets the model of a call whose sender names it among the parameters only (streams of Groq)."""
    if not any(name in attributes for name in _MODELS):
        try:
            parameters = json_or_text(attributes.get(_PARAMETERS))
        except ValueError:
            return
        model = text_at(parameters, "model", None)
        if model:
            attributes[names.REQUEST_MODEL] = model


def _extract_values(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    input_value, output_value = (attributes.pop(key, None) for key in _VALUES)
    if kind == "tool":
        extract_value(attributes, names.TOOL_ARGUMENTS_REF, input_value, _VALUES[0], contents)
        if output_value is not None:
            call_id, result = tool_result(output_value)
            if call_id is not None:
                attributes.setdefault(names.TOOL_CALL_ID, call_id)
            extract_value(attributes, names.TOOL_RESULT_REF, result, _VALUES[1], contents)
        return
    extract_input(attributes, input_value, _VALUES[0], contents, model=kind == "llm")
    extract_output(attributes, output_value, _VALUES[1], contents, model=kind == "llm")


def _extract_messages(attributes: Attributes, contents: ExtractedContent) -> None:
    """Moves flattened messages into threads, unless the JSON of the request or answer was read."""
    input_elements, output_elements = (
        pop_indexed_elements(attributes, _INPUT),
        pop_indexed_elements(attributes, _OUTPUT),
    )
    if input_elements is not None and names.INPUT_MESSAGES_REF not in attributes:
        extract_request(attributes, RequestBody([_message(element) for element in input_elements]), _INPUT, contents)
    if output_elements is not None and names.OUTPUT_MESSAGES_REF not in attributes:
        answers = [_message(element) for element in output_elements]
        extract_answer(attributes, AnswerBody(answers), _OUTPUT, contents)


def _message(element: Attributes) -> Message:
    role, content = element.get(_ROLE), element.get(_CONTENT)
    if len(element) == 2 and type(content) is str and type(role) is str and role in _PLAIN_ROLES:
        return text_message(role, content)  # the usual form
    fields = _below(structure(element), "message")
    chat: Json = {"role": fields.get("role")}
    content = fields.get("content")
    if content is None and isinstance(contents := fields.get("contents"), list):
        content = _contents(contents)
    if content is not None:
        chat["content"] = content
    for key in ("tool_call_id", "name"):
        if key in fields and not (key == "name" and fields.get("role") == "tool"):
            chat[key] = fields[key]
    calls = fields.get("tool_calls")
    if isinstance(calls, list):
        chat["tool_calls"] = [_call(_below(call, "tool_call")) for call in calls]
    if "function_call_name" in fields:
        arguments = fields.get("function_call_arguments_json")
        chat["function_call"] = {"name": fields["function_call_name"], "arguments": arguments}
    return canonical_messages([openai_chat.to_message(chat)])[0]


def _contents(natives: list[JsonValue]) -> JsonValue:
    """Returns the text if there is only one text; otherwise the list of texts and images."""
    parts = [_content(_below(native, "message_content")) for native in natives]
    if len(parts) == 1 and parts[0].keys() == {"type", "text"} and parts[0]["type"] == "text":
        return parts[0]["text"]
    return [*parts]


def _content(fields: JsonMapping) -> Json:
    url = _below(object_of(_below(fields.get("image"), "image")), "").get("url")
    return {"type": "image_url", "image_url": {"url": url}} if isinstance(url, str) else dict(fields)


def _call(fields: JsonMapping) -> Json:
    function = fields.get("function")
    return {"id": fields.get("id"), "type": "function", "function": function if isinstance(function, dict) else {}}


def _tool(native: JsonValue) -> JsonValue:
    schema = _below(native, "tool").get("json_schema")
    try:
        return json_or_text(schema) if schema is not None else native
    except ValueError:
        return schema


def _extract_list(
    attributes: Attributes, name: str, listed: JsonValue, kind: str | None, contents: ExtractedContent
) -> None:
    key = name + names.REF_SUFFIX
    extract_value(attributes, key, listed, name, contents)
    ref = attributes[key]
    if name == "retrieval.documents" and kind == "retriever":
        attributes.setdefault(names.OUTPUT_REF, ref)


def _below(native: JsonValue, key: str) -> JsonMapping:
    """Returns the object under the key that wraps each element of a list; the element itself if it has no such key; {}
    if there is no object."""
    if not isinstance(native, dict):
        return {}
    inner: JsonValue = native.get(key, native)
    return object_of(inner)
