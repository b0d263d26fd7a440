"""events → [calls] → run.  Model calls and tool calls of a recorded run, with their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from playhead.model.message import Message, message_text


@dataclass(frozen=True, slots=True)
class FailedWith:
    """The exception that a call or a run failed with: the name of its type, and its message."""

    type: str
    message: str

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"


@dataclass(frozen=True, slots=True)
class ModelContext:
    """The input of a model: messages in the parts form (`{"role", "parts"}`), system instructions and tools.

    `"refund" in context` tests whether that text is in the instructions or in a message.
    """

    messages: tuple[Message, ...]
    system: Any = None
    tools: Any = None

    @property
    def text(self) -> str:
        """The text of the instructions and of all messages."""
        instructions = [message_text({"role": "system", "parts": self.system})] if _are_parts(self.system) else []
        if isinstance(self.system, str):
            instructions.append(self.system)
        return "\n".join([*instructions, *map(message_text, self.messages)])

    def __contains__(self, text: str) -> bool:
        return text in self.text


@dataclass(frozen=True, slots=True)
class RecordedModelCall:
    """A model call.  `seq`: the event with which it began; `answer`: the model's message in the parts form, None for a
    call that failed or has not ended; `usage`: the numbers of tokens that the provider reported."""

    seq: int
    model: str | None
    context: ModelContext
    answer: Message | None
    usage: Mapping[str, int]
    error: FailedWith | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The input messages."""
        return self.context.messages

    @property
    def text(self) -> str:
        """The text of the model's answer, without its reasoning and its tool calls."""
        parts = self.answer["parts"] if self.answer is not None else []
        return "".join(part["content"] for part in parts if part.get("type") == "text")

    @property
    def requested_tools(self) -> list[tuple[str, Any]]:
        """Name and arguments of each tool that the model asked for."""
        parts = self.answer["parts"] if self.answer is not None else []
        return [(part["name"], part.get("arguments")) for part in parts if part.get("type") == "tool_call"]


@dataclass(frozen=True, slots=True)
class RecordedToolCall:
    """A tool call.  `arguments` by name, as plain JSON values; `result` is None for a call that failed or is open."""

    seq: int
    name: str
    arguments: Any
    result: Any = None
    error: FailedWith | None = None

    def __str__(self) -> str:
        arguments: object = self.arguments
        if not isinstance(arguments, dict):
            return f"{self.name}({arguments!r})"
        named = cast("dict[str, Any]", arguments)
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in named.items())})"


def _are_parts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) for part in value)  # pyright: ignore[reportUnknownVariableType]
