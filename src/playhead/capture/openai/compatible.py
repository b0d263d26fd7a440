"""Chat Completions of clients that Stainless generates for other providers with this API (`groq`, `together`), and how
an answer of such a client is restored and edited.
"""

from collections.abc import Callable

from playhead.capture import stainless
from playhead.capture.client_methods import ClientApi
from playhead.capture.openai.chat import (
    assemble,
    chat_request,
    copy_of_chunk,
    read_recorded,
    read_response,
    with_message,
)
from playhead.capture.stainless import AnswerForm, end_with_result, schema_of_class
from playhead.capture.wrapping import MethodCall
from playhead.model.json_value import Json, JsonMapping, JsonValue

DONE = b"data: [DONE]\n\n"
"""The last event of a stream of all APIs of this kind."""


def chat_api(provider: str, form: AnswerForm) -> ClientApi:
    """Returns the API of a client's Chat Completions.  `provider`: its name in the GenAI conventions."""
    return ClientApi(
        read_request=lambda call: chat_request(provider, call.kwargs, schema_of_class),
        is_streamed=is_streamed,
        read_response=lambda response, run, call: read_response(response),
        assemble=lambda chunks, run, call: assemble(chunks),
        read_recorded=lambda raw, run, call: read_recorded(raw),
        restore=restoring(form),
        with_message=with_message_of(with_message),
        with_edit=with_messages,
        end_with_result=end_with_result,
        keep_chunk=copy_of_chunk,
        one_shot=("messages", "tools"),
    )


def is_streamed(call: MethodCall) -> bool:
    """Whether the result is a stream."""
    return bool(call.kwargs.get("stream"))


def restoring(form: AnswerForm) -> Callable[[object, MethodCall, BaseException | None], object]:
    """Returns the `restore` of a `ClientApi` for answers of this form."""

    def restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
        return stainless.restore(
            raw, form, call.kwargs, call.client,
            method=call.method, streamed=call.kwargs.get("stream") is True, is_async=call.is_async, ending=ending,
        )  # fmt: skip

    return restore


def with_message_of(with_message: Callable[..., Json]) -> Callable[[object, str | JsonMapping, MethodCall], Json]:
    """Returns the `with_message` of a `ClientApi`, for a function that takes the request's model and whether it is
    streamed."""

    def changed(raw: object, message: str | JsonMapping, call: MethodCall) -> Json:
        model, streamed = str(call.kwargs.get("model", "")), call.kwargs.get("stream") is True
        return with_message(raw, message, model=model, streamed=streamed)

    return changed


def with_messages(call: MethodCall, messages: list[JsonValue] | None, _system: str | None) -> MethodCall:
    """`with_edit` of Chat Completions: the system prompt is one of the messages."""
    return call if messages is None else call.with_kwargs({**call.kwargs, "messages": messages})
