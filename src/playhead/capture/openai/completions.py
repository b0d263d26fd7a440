"""Text completions (the older API `/v1/completions`) of `openai` and of clients with APIs like it: a prompt, and a text
that continues it.

The prompt is recorded as a message of the user, a list of prompts as several, and each text of the answer as a message
of the assistant. A prompt of tokens is no text: it is recorded with the settings.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from playhead.capture.client_methods import ClientApi
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.openai.compatible import is_streamed, restoring, with_message_of
from playhead.capture.restoring import recorded_metadata
from playhead.capture.stainless import (
    TRANSPORT,
    AnswerForm,
    DumpedModel,
    answer_json,
    end_with_result,
    schema_of_class,
    settings_of,
    usage_of,
)
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_chat
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, JsonValue, int_at, object_at, objects_at, text_at, value_at
from playhead.model.message import text_message

DIALECT = "openai_text"
"""Name of the shape of requests; see `playhead_collector.read.context`."""

_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
}
_USAGE = (
    ("", "prompt_tokens", names.INPUT_TOKENS),
    ("", "completion_tokens", names.OUTPUT_TOKENS),
    ("prompt_tokens_details", "cached_tokens", names.CACHE_READ_TOKENS),
    ("completion_tokens_details", "reasoning_tokens", names.REASONING_TOKENS),
)


def completions_api(provider_of: Callable[[object], str], form: AnswerForm) -> ClientApi:
    """Returns the API of a client's text completions.  `provider_of` returns the provider of a resource."""
    return ClientApi(
        read_request=lambda call: _read_request(provider_of(call.client), call.kwargs),
        is_streamed=is_streamed,
        read_response=lambda response, run, call: _read_response(response),
        assemble=lambda chunks, run, call: _read_recorded({"stream": [*map(answer_json, chunks)]}) if chunks else None,
        read_recorded=lambda raw, run, call: _read_recorded(raw),
        restore=restoring(form),
        with_message=with_message_of(_with_message),
        with_edit=_with_edit,
        end_with_result=end_with_result,
        one_shot=("prompt",),
    )


# --- requests ---------------------------------------------------------------------------------------------------------


def _read_request(provider: str, kwargs: Mapping[str, object]) -> ObservedRequest:
    prompt = kwargs.get("prompt")
    texts = _texts_of(prompt)
    elsewhere = TRANSPORT if texts is None else TRANSPORT | {"prompt"}
    settings, attributes = settings_of(kwargs, elsewhere, _REQUEST_ATTRIBUTES, schema_of_class)
    if (choices := settings.get("n", 1)) not in (1, None):
        attributes[names.REQUEST_CHOICES] = choices
    shape: dict[str, object] = {"dialect": DIALECT}
    if texts is not None:
        shape |= {"input": "prompt", "is_list": not isinstance(prompt, str)}
    return ObservedRequest(
        provider=provider,
        operation="text_completion",
        model=str(kwargs.get("model", "")),
        messages=[{"role": "user", "content": text} for text in texts or ()],
        to_message=openai_chat.to_message,
        from_message=openai_chat.from_message,
        settings=settings,
        attributes=attributes,
        shape=shape,
    )


def _texts_of(prompt: object) -> Sequence[str] | None:
    """Returns the texts of a prompt; None if it is something else, such as tokens."""
    if isinstance(prompt, str):
        return [prompt]
    if not isinstance(prompt, list | tuple) or not prompt:
        return None
    texts = [item for item in prompt if isinstance(item, str)]  # pyright: ignore[reportUnknownVariableType]
    return texts if len(texts) == len(prompt) else None  # pyright: ignore[reportUnknownArgumentType]


def _with_edit(call: MethodCall, messages: list[JsonValue] | None, _system: str | None) -> MethodCall | None:
    if messages is None:
        return call
    contents = [value_at(message, "content") for message in messages]
    if not contents or not all(isinstance(content, str) for content in contents):
        return None
    is_one_text = isinstance(call.kwargs.get("prompt"), str)
    if is_one_text and len(contents) > 1:
        return None
    return call.with_kwargs({**call.kwargs, "prompt": contents[0] if is_one_text else contents})


# --- answers ----------------------------------------------------------------------------------------------------------


def _read_response(response: DumpedModel) -> ObservedResponse | None:
    return _read_recorded(answer_json(response)) if hasattr(response, "choices") else None


def _read_recorded(raw: Json) -> ObservedResponse:
    answer = joined_completion(objects_at(raw, "stream")) if "stream" in raw else raw
    choices = objects_at(answer, "choices")
    attributes: dict[str, object] = {
        names.FINISH_REASONS: [text_at(choice, "finish_reason") for choice in choices],
        **usage_of(object_at(answer, "usage"), _USAGE),
    }
    for key, name in (("id", names.RESPONSE_ID), ("model", names.RESPONSE_MODEL)):
        if answer.get(key):
            attributes[name] = answer[key]
    return ObservedResponse(
        [text_message("assistant", text_at(choice, "text")) for choice in choices], raw, None, attributes
    )


def joined_completion(chunks: Iterable[JsonMapping]) -> Json:
    """Returns the completion in its unstreamed form, as far as it was received."""
    whole: Json = {}
    choices: dict[int, Json] = {}
    for chunk in chunks:
        whole |= {key: chunk[key] for key in ("id", "created", "model", "usage") if chunk.get(key) is not None}
        for piece in objects_at(chunk, "choices"):
            index = int_at(piece, "index")
            choice = choices.setdefault(index, {"index": index, "text": ""})
            choice["text"] = text_at(choice, "text") + (
                text_at(piece, "text") or text_at(object_at(piece, "delta"), "content")
            )
            # Together has the reason beside the choices.
            if reason := piece.get("finish_reason") or chunk.get("finish_reason"):
                choice["finish_reason"] = reason
    return {**whole, "object": "text_completion", "choices": [choices[index] for index in sorted(choices)]}


# --- answers with another text ----------------------------------------------------------------------------------------

# Defaults for a call without a recorded answer: one that was in doubt.
_DEFAULTS = {"id": "cmpl-playhead", "created": 0}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = {"choices", "usage", "stream"}


def _with_message(recorded: object, message: str | JsonMapping, *, model: str, streamed: bool) -> Json:
    """Returns the recorded answer with this text, or with the text of this message.  Raises CannotRestore for a message
    without a text."""
    text = message if isinstance(message, str) else message.get("content")
    if not isinstance(text, str):
        raise CannotRestore("this answer is a text, and the message for it has none: give the outcome as a text")
    about: Json = {
        **_DEFAULTS, "object": "text_completion", "model": model, **recorded_metadata(recorded, _RECORDED_KEYS_REPLACED)
    }  # fmt: skip
    answer: Json = {**about, "choices": [{"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}]}
    return {"stream": [answer]} if streamed else answer
