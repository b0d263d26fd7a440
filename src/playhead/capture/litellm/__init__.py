"""The `litellm` library: completion and embedding, also of the router; plain, asynchronous, streamed.

One call of the program is one model call, whatever retries, fallbacks and deployments are tried inside; its record
names the provider that answered. A client underneath (`openai`, `botocore`) then records nothing of its own. The body
that LiteLLM makes for a provider is noted where LiteLLM logs each request before it sends it. Not recorded:
`text_completion`, `responses`, images, audio, and `litellm.proxy`, which calls the functions above.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

from playhead.capture.client_methods import recording_method, recording_method_async
from playhead.capture.litellm.completion import COMPLETION
from playhead.capture.litellm.embedding import EMBEDDING
from playhead.capture.model_call import note_sent_body
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.kernel.guard import guarded

SUPPORTS = "litellm >= 1.70.4"


# --- the body that is sent --------------------------------------------------------------------------------------------

# Arguments of OpenAI's client that are no part of the body.
_NOT_SENT = frozenset({"extra_body", "extra_headers", "extra_query", "timeout"})


def _note_body(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with guarded("read a request of litellm"):
        more: Any = args[3] if len(args) > 3 else kwargs.get("additional_args")
        body: Any = cast("Mapping[str, Any]", more).get("complete_input_dict") if isinstance(more, Mapping) else None
        if body is not None:
            note_sent_body(partial(_sent_body, body))
    return wrapped(*args, **kwargs)


def _sent_body(body: Any) -> Mapping[str, Any] | None:
    """Returns the body as JSON values.  Called after the request was sent: until then, LiteLLM adds to it."""
    if isinstance(body, str | bytes):
        body = json.loads(body)
    if not isinstance(body, Mapping):
        return None
    fields = cast("Mapping[str, Any]", body)
    sent = {key: value for key, value in fields.items() if key not in _NOT_SENT}
    return {**sent, **(fields.get("extra_body") or {})}


PRE_CALL = Wrap("litellm.litellm_core_utils.litellm_logging", "Logging.pre_call", _note_body, is_optional=True)


# --- what is wrapped --------------------------------------------------------------------------------------------------


def _wraps() -> Iterator[Wrap]:
    yield PRE_CALL
    functions = {
        "completion": recording_method(COMPLETION),
        "acompletion": recording_method_async(COMPLETION),
        "embedding": recording_method(EMBEDDING),
        "aembedding": recording_method_async(EMBEDDING),
    }
    for name, wrapper in functions.items():
        # The package also exports the functions of its main module.
        yield Wrap("litellm.main", name, wrapper)
        yield Wrap("litellm", name, wrapper)
        yield Wrap("litellm.router", f"Router.{name}", wrapper)


_litellm = Instrumentation(_wraps())
patch, unpatch = _litellm.patch, _litellm.unpatch
LiteLLMInstrumentor = instrumentor("LiteLLMInstrumentor", SUPPORTS, patch, unpatch)
