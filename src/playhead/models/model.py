"""The protocol of a model, its request and its response. Messages are in canonical form (`playhead.model.message`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from playhead.errors import PlayheadError
from playhead.model.message import Message, message_text


class ModelUnavailable(PlayheadError):
    """A model cannot be asked: its client is not installed, or no client is known for its name."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked. `messages` begin with the system prompt, if there is one. `max_tokens`: of the answer;
    None: the provider's default (Anthropic's API needs a number: 4,096)."""

    messages: Sequence[Message]
    max_tokens: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A model's answer. Numbers of tokens are those that the provider reported; None: it reported none."""

    message: Message
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The text of the answer, without reasoning."""
        parts = [part for part in self.message["parts"] if part.get("type") == "text"]
        return message_text({"role": self.message["role"], "parts": parts})


class Model(Protocol):
    """A model that can be asked."""

    @property
    def name(self) -> str:
        """Its name, as the provider has it."""
        ...

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer. Raises what the client raises. Called from any thread."""
        ...
