"""The `groq` library: Chat Completions and embeddings; plain, asynchronous, streamed, raw.

Stainless generates it, as it does `openai`. The client's own retries are one call here. Not recorded: audio, files and
batches.
"""

from playhead.capture.openai.compatible import DONE, chat_api
from playhead.capture.openai.embeddings import embeddings_of
from playhead.capture.openai.methods import Methods, wraps
from playhead.capture.patching import Instrumentation, instrumentor
from playhead.capture.stainless import AnswerForm

SUPPORTS = "groq >= 0.13"

_PROVIDER = "groq"
_CHAT = AnswerForm("groq", "choices", "groq.types.chat", "ChatCompletion", names_events=False, last_event=DONE)
_EMBEDDING = AnswerForm("groq", "data", "groq.types", "CreateEmbeddingResponse", names_events=False)

_groq = Instrumentation(
    wraps(
        [
            Methods(
                chat_api(_PROVIDER, _CHAT),
                modules=("groq.resources.chat.completions",),
                classes=("Completions", "AsyncCompletions"),
            ),
            Methods(
                embeddings_of(lambda _: _PROVIDER, _EMBEDDING),
                modules=("groq.resources.embeddings",),
                classes=("Embeddings", "AsyncEmbeddings"),
            ),
        ]
    )
)
patch, unpatch = _groq.patch, _groq.unpatch
GroqInstrumentor = instrumentor("GroqInstrumentor", SUPPORTS, patch, unpatch)
