"""A model without a network, for tests of programs."""

from collections.abc import Callable
from typing import Any

from playhead.model.event import TokenUsage
from playhead.model.json_value import JsonMapping
from playhead.model.message import Message, Part, text_message
from playhead.model.token_estimates import estimate_all, estimate_message
from playhead.models.model import Model, ModelRequest, ModelResponse, stop_reason_of

MockAnswer = str | ModelResponse | Exception


class MockModel(Model):
    """Answers with a text, or with what a function makes of the request: a text, a `ModelResponse` (see `mock_answer`),
    or an exception, which is raised. `requests` has what it was asked."""

    def __init__(
        self,
        answer: str | Callable[[ModelRequest], MockAnswer],
        *,
        name: str = "mock-model",
        supports_thinking: bool = False,
    ) -> None:
        self._name = name
        self._thinks = supports_thinking
        self.requests: list[ModelRequest] = []
        self._answer = answer

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def supports_thinking(self) -> bool:
        """As it was made."""
        return self._thinks

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`. Numbers of tokens are estimates."""
        self.requests.append(request)
        answer = self._answer if isinstance(self._answer, str) else self._answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ModelResponse):
            return answer
        message = text_message("assistant", answer)
        counts = TokenUsage(round(estimate_all(request.thread)), round(estimate_message(message)))
        return ModelResponse(message, self.name, counts, "end_turn", "stop")


def mock_answer(
    text: str = "",
    *,
    calls: list[tuple[str, str, JsonMapping]] | None = None,
    reasoning: str = "",
    usage: TokenUsage | None = None,
    model: str = "mock-model",
) -> ModelResponse:
    """Makes an answer for `MockModel`. `calls`: id, tool and arguments of each tool call that the model asks for."""
    parts: list[Part] = [{"type": "reasoning", "content": reasoning}] if reasoning else []
    parts += [{"type": "text", "content": text}] if text else []
    for call, tool, arguments in calls or []:
        part: dict[str, Any] = {"type": "tool_call", "id": call, "name": tool, "arguments": dict(arguments)}
        parts.append(part)
    message: Message = {"role": "assistant", "parts": parts}
    reason = "tool_calls" if calls else "stop"
    return ModelResponse(message, model, usage or TokenUsage(), stop_reason_of(reason, message), reason)
