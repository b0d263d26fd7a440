"""The `litellm` library: completion and embedding, also of the router; plain, asynchronous, streamed.

One call of the program is one model call, whatever retries, fallbacks and deployments are tried inside; its record
names the provider that answered. A client underneath (`openai`, `botocore`) then records nothing of its own. The body
that LiteLLM makes for a provider is noted where LiteLLM logs each request before it sends it. Not recorded:
`text_completion`, `responses`, images, audio, and `litellm.proxy`, which calls the functions above.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from playhead.capture.client_methods import recording_method, recording_method_async
from playhead.capture.litellm.completion import COMPLETION
from playhead.capture.litellm.embedding import EMBEDDING
from playhead.capture.model_call import note_sent_body
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.kernel.guard import guarded
from playhead.model.json_value import Json, mapping_of

SUPPORTS = "litellm >= 1.70.4"


# --- the body that is sent --------------------------------------------------------------------------------------------

# Arguments of OpenAI's client that are no part of the body.
_NOT_SENT = frozenset({"extra_body", "extra_headers", "extra_query", "timeout"})


@intercepted
def _note_body(function: Callable[..., object], called: MethodCall) -> object:
    with guarded("read a request of litellm"):
        body = mapping_of(called.argument(3, "additional_args")).get("complete_input_dict")
        if body is not None:
            note_sent_body(partial(_sent_body, body))
    return called.make(function)


def _sent_body(body: object) -> Json | None:
    """Returns the body as JSON values.  Called after the request was sent: until then, LiteLLM adds to it."""
    value: object = json.loads(body) if isinstance(body, str | bytes) else body
    fields = mapping_of(value)
    if not isinstance(value, Mapping):
        return None
    sent = {key: item for key, item in fields.items() if key not in _NOT_SENT}
    return {**sent, **mapping_of(fields.get("extra_body"))}


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
