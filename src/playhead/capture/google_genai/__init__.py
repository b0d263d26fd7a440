"""The `google-genai` library: content and embeddings, of the Gemini API and of Vertex AI; plain, asynchronous,
streamed, in chats, and with automatic function calling, where each request is a model call and each function a tool.

The wrapped methods are those that send a request and receive its answer, so the request is recorded as it is sent, and
the client's own retries are one call. MCP tools are called in another way than functions, and recorded by the
instrumentation of `mcp`. Not recorded: `count_tokens`, batches, files, images, videos, the Live API and the
Interactions API.
"""

from collections.abc import Callable
from types import FunctionType

from playhead.capture.client_methods import ClientApi, end_with_result, recording_method, recording_method_async
from playhead.capture.frameworks.observing import (
    StartSpan,
    answered_wrappers,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    tool,
)
from playhead.capture.google_genai import content
from playhead.capture.google_genai.content import method_of, read_request, read_response, with_edit
from playhead.capture.google_genai.embeddings import EMBEDDINGS, is_embedding
from playhead.capture.model_call import ObservedModelCall
from playhead.capture.patching import Instrumentation, Wrap, Wrapper, instrumentor
from playhead.capture.streams import StreamRecording, observed_stream
from playhead.capture.wrapping import MethodCall, intercepted

__all__ = ["SUPPORTS", "GoogleGenAIInstrumentor", "patch", "read_request", "read_response", "unpatch"]

SUPPORTS = "google-genai >= 1.10"

_CLIENT_MODULE, _FUNCTIONS_MODULE = "google.genai._api_client", "google.genai._extra_utils"
_ARGUMENTS = ("http_method", "path", "request_dict", "http_options")


# --- model calls ------------------------------------------------------------------------------------------------------


class _AnswerInChunks(StreamRecording):
    """A streamed answer.  The client calls the functions that a chunk requests before it reads the next chunk."""

    def add_chunk(self, chunk: object) -> None:
        super().add_chunk(chunk)
        if self.call is not None and content.asks_for_functions(chunk):
            self.call.note_requested_tools(lambda: read_response(chunk))


def _record_result(api: ClientApi, observed: ObservedModelCall, result: object, call: MethodCall) -> object:
    if not api.is_streamed(call):
        return end_with_result(api, observed, result, call)
    return observed_stream(result, _AnswerInChunks(observed, content.assemble))


_CONTENT = ClientApi(
    read_request=read_request,
    is_streamed=content.is_streamed,
    read_response=lambda answer, run, call: read_response(answer),
    assemble=lambda chunks, run, call: content.assemble(chunks),
    read_recorded=lambda raw, run, call: content.read_recorded(raw),
    restore=content.restore,
    with_message=content.with_message,
    with_edit=lambda call, messages, system: with_edit(call, messages),
    end_with_result=_record_result,
)
_CONTENT_METHODS = frozenset({"generateContent", "streamGenerateContent"})


def _requesting(recording: Callable[[ClientApi], Wrapper]) -> Wrapper:
    """Returns the wrapper of a method that sends all of the client's requests: it records model calls, and passes
    others on."""
    content, vectors = recording(_CONTENT), recording(EMBEDDINGS)

    def request(function: Callable[..., object], called: MethodCall) -> object:
        arguments = called.arguments(*_ARGUMENTS)
        method = method_of(arguments)
        if len(called.args) > len(_ARGUMENTS):
            return called.make(function)
        if method in _CONTENT_METHODS:
            return content(function, called.client, (), arguments)
        if is_embedding(method, arguments.get("request_dict")):
            return vectors(function, called.client, (), arguments)
        return called.make(function)

    return intercepted(request)


# --- functions that the client calls for the model --------------------------------------------------------------------


@log_errors_and_return_none
def _begin_function(called: MethodCall) -> StartSpan | None:
    parameters = called.arguments("args", "function_to_invoke")
    function: FunctionType = parameters["function_to_invoke"]
    if not is_inside_run() or is_observed(function):
        return None
    return tool(function.__name__, dict(parameters["args"]), None)


_invoke, _invoke_async = answered_wrappers(_begin_function)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_plain, _later = _requesting(recording_method), _requesting(recording_method_async)
_google = Instrumentation(
    [
        Wrap(_CLIENT_MODULE, "BaseApiClient.request", _plain),
        Wrap(_CLIENT_MODULE, "BaseApiClient.request_streamed", _plain),
        Wrap(_CLIENT_MODULE, "BaseApiClient.async_request", _later),
        Wrap(_CLIENT_MODULE, "BaseApiClient.async_request_streamed", _later),
        Wrap(_FUNCTIONS_MODULE, "invoke_function_from_dict_args", _invoke),
        Wrap(_FUNCTIONS_MODULE, "invoke_function_from_dict_args_async", _invoke_async, is_optional=True),
    ]
)
patch, unpatch = _google.patch, _google.unpatch
GoogleGenAIInstrumentor = instrumentor("GoogleGenAIInstrumentor", SUPPORTS, patch, unpatch)
