"""LangChain's tools, models, retrievers and embeddings: in LangGraph, in LangChain's agents, or called directly.

Models and embeddings are recorded here only if no instrumented client inside records them (`capture.frameworks.model`).
"""

from playhead.capture.langchain.chat_models import CHAT_MODELS
from playhead.capture.langchain.embeddings import EMBEDDINGS
from playhead.capture.langchain.retrievers import RETRIEVERS
from playhead.capture.langchain.tools import TOOLS
from playhead.capture.patching import Instrumentation

SUPPORTS = "langchain-core >= 1.0"

_langchain = Instrumentation([*TOOLS, *CHAT_MODELS, *RETRIEVERS, *EMBEDDINGS])
patch, unpatch = _langchain.patch, _langchain.unpatch
