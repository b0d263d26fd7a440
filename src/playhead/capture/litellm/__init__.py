"""The `litellm` library: completion and embedding, also of the router; plain, asynchronous, streamed.

One call of the program is one model call, whatever retries, fallbacks and deployments are tried inside; its record
names the provider that answered.  A client underneath (`openai`, `botocore`) then records nothing of its own.  Not
recorded: `text_completion`, `responses`, images, audio, and `litellm.proxy`, which calls the functions above.
"""

from collections.abc import Collection, Iterator
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from playhead.capture.client_methods import observing, observing_async
from playhead.capture.litellm.completion import COMPLETION
from playhead.capture.litellm.embedding import EMBEDDING
from playhead.capture.litellm.sent_body import PRE_CALL
from playhead.capture.patching import Instrumentation, Wrap

SUPPORTS = "litellm >= 1.70.4"


class LiteLLMInstrumentor(BaseInstrumentor):
    """For `opentelemetry-instrument`, and for programs that use OpenTelemetry's instrumentors."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """Returns the supported versions of the library."""
        return (SUPPORTS,)

    def _instrument(self, **kwargs: Any) -> None:
        patch()

    def _uninstrument(self, **kwargs: Any) -> None:
        unpatch()


def _wraps() -> Iterator[Wrap]:
    yield PRE_CALL
    functions = {
        "completion": observing(COMPLETION),
        "acompletion": observing_async(COMPLETION),
        "embedding": observing(EMBEDDING),
        "aembedding": observing_async(EMBEDDING),
    }
    for name, wrapper in functions.items():
        # The package also exports the functions of its main module.
        yield Wrap("litellm.main", name, wrapper)
        yield Wrap("litellm", name, wrapper)
        yield Wrap("litellm.router", f"Router.{name}", wrapper)


_litellm = Instrumentation(_wraps())
patch, unpatch = _litellm.patch, _litellm.unpatch
