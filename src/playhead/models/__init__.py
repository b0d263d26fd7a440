"""Models that Playhead's own parts ask, through the clients that a program has installed.

    from playhead import models

    models.OpenAIModel("gpt-4o-mini")    # with client=... your own client
    models.MockModel("a fixed answer")   # for tests

Classes that inherit from `Model` need `name` and `complete(request)`.
"""

from playhead.models.choosing import CallSituation, FailedAttempt, ModelChooser, ModelLike
from playhead.models.clients import AnthropicModel, GeminiModel, LiteLLMModel, OpenAIModel, named
from playhead.models.failures import ContextTooLong, ModelFailure, Overloaded, RateLimited, failure_of
from playhead.models.mock import MockModel, mock_answer
from playhead.models.model import (
    Model,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    ModelTool,
    ModelUnavailable,
    StopReason,
    ToolCallRequest,
)
from playhead.models.pydantic_ai_model import PydanticAIModel

__all__ = [
    "AnthropicModel",
    "CallSituation",
    "ContextTooLong",
    "FailedAttempt",
    "GeminiModel",
    "LiteLLMModel",
    "MockModel",
    "Model",
    "ModelChooser",
    "ModelChunk",
    "ModelFailure",
    "ModelLike",
    "ModelRequest",
    "ModelResponse",
    "ModelTool",
    "ModelUnavailable",
    "OpenAIModel",
    "Overloaded",
    "PydanticAIModel",
    "RateLimited",
    "StopReason",
    "ToolCallRequest",
    "failure_of",
    "mock_answer",
    "named",
]
