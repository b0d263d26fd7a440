"""Builds requests and answers of frameworks' models in the form of Chat Completions, to which most frameworks can
convert."""

from collections.abc import Mapping, Sequence

from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.dialect import openai_chat as dialect
from playhead.model import names
from playhead.model.json_value import JsonMapping, JsonValue

_SETTINGS = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
}


# The shape of a request that a framework's model made, and no instrumented client inside it: the body that its library
# sent is not known.
UNSENT: JsonMapping = {"dialect": dialect.NAME, "sent": False}


def chat_request(
    model: object,
    *,
    provider: str,
    model_name: str,
    messages: Sequence[JsonMapping],
    tools: Sequence[object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> ObservedRequest:
    """Returns the request of a framework's `model` object.

    `messages` and `tools` are dictionaries as in Chat Completions.  `settings`: the other parameters as JSON values,
    under the names of Chat Completions where it has them; None values are left out.
    """
    parameters = {name: value for name, value in (settings or {}).items() if value is not None}
    return ObservedRequest(
        provider=provider,
        operation="chat",
        model=model_name,
        name=type(model).__name__,
        messages=messages,
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=list(tools) if tools else None,
        settings=parameters,
        attributes={_SETTINGS[name]: value for name, value in parameters.items() if name in _SETTINGS},
        shape=UNSENT,
    )


def chat_response(
    raw: JsonValue,
    message: JsonMapping,
    *,
    usage: Mapping[str, int | None] | None = None,
    finish_reason: str | None = None,
    model_name: str | None = None,
    response_id: str | None = None,
    reasoning: object = None,
) -> ObservedResponse:
    """Returns the response of a framework's model. `raw`: the raw answer; `message`: the same answer as a message of
    Chat Completions.

    `usage`: token counts by the attributes' names in `model.names`; None: the count is unknown. `reasoning`: the
    answer's reasoning, if `message` does not contain it.
    """
    output, message_reasoning = dialect.output_message(message)
    attributes: dict[str, object] = {name: count for name, count in (usage or {}).items() if count is not None}
    attributes[names.FINISH_REASONS] = [finish_reason or ("tool_calls" if message.get("tool_calls") else "stop")]
    if model_name:
        attributes[names.RESPONSE_MODEL] = model_name
    if response_id:
        attributes[names.RESPONSE_ID] = response_id
    return ObservedResponse([output], raw, message_reasoning if reasoning is None else reasoning, attributes)
