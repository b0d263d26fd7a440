"""Private names of the clients that Stainless generates, without which the client itself could not give a recorded
answer back with no network. A `resource` is `OpenAI().chat.completions`, for example.

Tested with openai 1.60 to 3.57, anthropic 0.60 to 2.12, groq 0.13 to 1.7, together 2.0 to 3.1;
`tests/unit/compat/test_stainless.py` fails when a version moves them.
"""

import copy
from collections.abc import Callable
from sys import modules
from typing import Any


def library_of(resource: Any) -> str:
    """Returns the top-level package that defines the class of the resource's client. For a user's subclass, that is not
    the library."""
    return type(resource._client).__module__.partition(".")[0]


def is_strict(resource: Any) -> bool:
    """Whether the client validates answers (`_strict_response_validation`)."""
    return bool(resource._client._strict_response_validation)


def constructed(library: str, kind: type, raw: object, request_id: str | None) -> object:
    """Builds the library's object from an answer, as its clients do. May raise anything in another version."""
    made: Any = modules[f"{library}._models"].construct_type(type_=kind, value=raw)
    made._request_id = request_id
    return made


def with_http_client(resource: Any, replaced: Callable[[Any], Any], unchanged: Callable[[object], object]) -> Any:
    """Returns a copy of the resource whose client sends by `replaced(its HTTP client)`, and each request once.

    The hooks that may change a request are replaced by `unchanged`: they fetch or check credentials, perhaps over the
    network.
    """
    client = copy.copy(resource._client)
    client._client = replaced(client._client)
    client._prepare_options = unchanged
    client._prepare_request = unchanged
    client._validate_headers = lambda *_, **__: None  # pyright: ignore[reportUnknownLambdaType]
    client._send_request = client._client.send
    client.max_retries = 0
    _without_additions(client)
    return type(resource)(client)


def _without_additions(client: Any) -> None:
    """Removes from the copy what some clients add around a request: middleware (its effect is in the recorded answer),
    the library's own spans, and decoders of other stream formats than the recorded one."""
    for name, value in (("_middleware", ()), ("_middleware_chain", None), ("_lazy_tracer", None)):
        if hasattr(client, name):
            setattr(client, name, value)
    streaming = modules.get(f"{type(client).__module__.partition('.')[0]}._streaming")
    decoder = getattr(streaming, "SSEDecoder", None)
    if decoder is not None:
        client._make_sse_decoder = decoder
