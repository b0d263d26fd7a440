"""A model without a network, for tests of programs."""

from collections.abc import Callable

from playhead.model.message import text_message
from playhead.model.token_estimates import estimate_all, estimate_message
from playhead.models.model import ModelRequest, ModelResponse


class MockModel:
    """Answers with a text, or with what a function makes of the request. `requests` has what it was asked."""

    def __init__(self, answer: str | Callable[[ModelRequest], str], *, name: str = "mock-model") -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._answer = answer

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`. Numbers of tokens are estimates."""
        self.requests.append(request)
        text = self._answer if isinstance(self._answer, str) else self._answer(request)
        message = text_message("assistant", text)
        counts = round(estimate_all(request.messages)), round(estimate_message(message))
        return ModelResponse(message, self.name, *counts, stop_reason="stop")
