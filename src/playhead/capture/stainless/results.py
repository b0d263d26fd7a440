"""Records the results of a generated client: answers, streams, and raw responses with either of them.

`with_raw_response` and `with_streaming_response` call the same methods with a header that tells the mode.
"""

from collections.abc import Mapping
from inspect import isawaitable
from typing import Any, cast

from playhead.capture.client_methods import ClientApi, MethodCall
from playhead.capture.model_call import ObservedModelCall
from playhead.capture.streams import ObservedOpenResponse, ObservedRawResponse, StreamRecording, observed_stream

_RAW_HEADER = "X-Stainless-Raw-Response"


def record_result(api: ClientApi, observed: ObservedModelCall, result: Any, call: MethodCall) -> Any:
    """Ends the call; if the result is a stream, the stream ends it later."""
    raw, run = _raw_mode(call.kwargs) if "extra_headers" in call.kwargs else None, observed.span.run
    if api.is_streamed(call):
        watch = StreamRecording(observed, lambda seen: api.assemble(seen, run, call), api.keep_chunk)
        if raw is None:
            return observed_stream(result, watch)
        return (ObservedOpenResponse if raw == "stream" else ObservedRawResponse)(result, watch)
    if raw == "stream":  # the caller reads the body; reading it here would take it away
        watch = StreamRecording(observed, lambda seen: api.read_response(seen[0], run, call) if seen else None)
        return ObservedOpenResponse(result, watch, streamed=False)
    response = result if raw is None else _parsed(result)
    observed.end(lambda: api.read_response(response, run, call))
    return result


def _parsed(result: Any) -> Any:
    """Returns the parsed answer of a raw response whose body has been read.  An asynchronous `parse` then finishes in
    its first step; otherwise raises ValueError."""
    parsed = result.parse()
    if not isawaitable(parsed):
        return parsed
    steps = parsed.__await__()
    try:
        next(steps)
    except StopIteration as done:
        return done.value
    steps.close()
    raise ValueError("the body of a raw response has not been read")


def _raw_mode(kwargs: Mapping[str, Any]) -> str | None:
    headers = kwargs["extra_headers"]
    return cast(Mapping[str, str], headers).get(_RAW_HEADER) if headers else None
