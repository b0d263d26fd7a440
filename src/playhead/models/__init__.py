"""Models that Playhead's own parts ask, through the clients that a program has installed.

    from playhead import models

    models.OpenAIModel("gpt-4o-mini")    # with client=... your own client
    models.MockModel("a fixed answer")   # for tests

Any object with `name` and `complete(request)` is a `Model`.
"""

from playhead.models.clients import AnthropicModel, GeminiModel, LiteLLMModel, OpenAIModel, named
from playhead.models.mock import MockModel
from playhead.models.model import Model, ModelRequest, ModelResponse, ModelUnavailable

__all__ = [
    "AnthropicModel",
    "GeminiModel",
    "LiteLLMModel",
    "MockModel",
    "Model",
    "ModelRequest",
    "ModelResponse",
    "ModelUnavailable",
    "OpenAIModel",
    "named",
]
