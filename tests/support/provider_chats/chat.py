"""One conversation with a model, the same for every provider's client."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from playhead.testing import MockModelServer

MODEL = "mock-model"


@dataclass(frozen=True)
class WantedCall:
    """A tool call that the model asks for."""

    name: str
    arguments: dict[str, Any]
    id: str


@dataclass(frozen=True)
class ModelAnswer:
    """What the model said last."""

    text: str
    calls: list[WantedCall]


def parameters_of(name: str) -> dict[str, Any]:
    """A schema that takes everything."""
    return {"type": "object", "properties": {"any": {"type": "string", "description": f"an argument of {name}"}}}


def read_arguments(text: str) -> dict[str, Any]:
    """Arguments as the model wrote them; empty if they are not a JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class ProviderChat(ABC):
    """A client of one provider, with the history as its users keep it. To be closed."""

    def __init__(self, server: MockModelServer, system: str, tools: Sequence[str]):
        self.server = server
        self.system = system
        self.tools = tools
        self.client: Any = self.connect()
        self.history: list[Any] = []
        self.wanted: list[WantedCall] = []

    @abstractmethod
    def connect(self) -> Any:
        """The client, without a socket."""

    @abstractmethod
    def user_message(self, text: str) -> Any:
        """What is added to the history for what the user says."""

    @abstractmethod
    def results(self, results: list[tuple[WantedCall, str]]) -> list[Any]:
        """What is added to the history for the results of tools."""

    @abstractmethod
    def ask(self) -> ModelAnswer:
        """Asks the model, and adds its answer to the history."""

    def say(self, text: str) -> ModelAnswer:
        """The model's answer to what the user says."""
        self.history.append(self.user_message(text))
        return self._answer()

    def give_results(self, results: list[str]) -> ModelAnswer:
        """The model's answer to the results of the tool calls that it asked for last, in order."""
        self.history += self.results(list(zip(self.wanted, results, strict=True)))
        return self._answer()

    def _answer(self) -> ModelAnswer:
        answer = self.ask()
        self.wanted = answer.calls
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
