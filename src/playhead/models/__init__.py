"""Models that Playhead's own parts ask, through the clients that a program has installed.

    from playhead import models

    models.OpenAIModel("gpt-4o-mini")    # with client=... your own client
    models.MockModel("a fixed answer")   # for tests

Classes that inherit from `Model` need `name` and `complete(request)`. `Select`, `Fallback`, `Budget` and `Router`
choose one of several for each call, and are models themselves.
"""

from playhead.models.budget import Budget, BudgetExceeded, Spending
from playhead.models.choosing import (
    CallSituation,
    FailedAttempt,
    ModelChooser,
    ModelLike,
    complete,
    complete_async,
    record_choice,
    stream,
    stream_async,
)
from playhead.models.clients import AnthropicModel, GeminiModel, LiteLLMModel, OpenAIModel, named
from playhead.models.failures import ContextTooLong, ModelFailure, Overloaded, RateLimited, failure_of
from playhead.models.fallback import Fallback
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
from playhead.models.router import Router
from playhead.models.select import Select

__all__ = [
    "AnthropicModel",
    "Budget",
    "BudgetExceeded",
    "CallSituation",
    "ContextTooLong",
    "FailedAttempt",
    "Fallback",
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
    "Router",
    "Select",
    "Spending",
    "StopReason",
    "ToolCallRequest",
    "complete",
    "complete_async",
    "failure_of",
    "mock_answer",
    "named",
    "record_choice",
    "stream",
    "stream_async",
]
