"""The `together` library: Chat Completions, text completions and embeddings; plain, asynchronous, streamed, raw.

Stainless generates it since version 2, as it does `openai`. The client's own retries are one call here. Not recorded:
images, audio, video, `rerank`, files, and jobs of all kinds.
"""

from playhead.capture.openai.compatible import DONE, chat_api
from playhead.capture.openai.completions import completions_api
from playhead.capture.openai.embeddings import embeddings_of
from playhead.capture.openai.methods import Methods, wraps
from playhead.capture.patching import Instrumentation, instrumentor
from playhead.capture.stainless import AnswerForm

SUPPORTS = "together >= 2.0"

_PROVIDER = "together_ai"  # not in the GenAI conventions; other instrumentations call it so
_CHAT = AnswerForm("together", "choices", "together.types.chat", "ChatCompletion", names_events=False, last_event=DONE)
_COMPLETION = AnswerForm("together", "choices", "together.types", "Completion", names_events=False, last_event=DONE)
_EMBEDDING = AnswerForm("together", "data", "together.types", "Embedding", names_events=False)
_COMPLETIONS = ("CompletionsResource", "AsyncCompletionsResource")

_together = Instrumentation(
    wraps(
        [
            Methods(chat_api(_PROVIDER, _CHAT), ("together.resources.chat.completions",), _COMPLETIONS),
            Methods(
                completions_api(lambda _: _PROVIDER, _COMPLETION), ("together.resources.completions",), _COMPLETIONS
            ),
            Methods(
                embeddings_of(lambda _: _PROVIDER, _EMBEDDING),
                modules=("together.resources.embeddings",),
                classes=("EmbeddingsResource", "AsyncEmbeddingsResource"),
            ),
        ]
    )
)
patch, unpatch = _together.patch, _together.unpatch
TogetherInstrumentor = instrumentor("TogetherInstrumentor", SUPPORTS, patch, unpatch)
