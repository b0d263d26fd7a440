"""What an agent is asked, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model.event import TokenUsage
from playhead.model.json_value import JsonMapping, JsonValue


@dataclass(frozen=True, slots=True)
class Ask:
    """What an agent is asked. `messages`: what was said before, as messages of Chat Completions."""

    prompt: str
    messages: Sequence[JsonMapping] = ()


@dataclass(frozen=True, slots=True)
class ExecutedCall:
    """A tool call that the agent executed. `result`: as the model was given it. `is_error`: the tool raised, was
    refused by a person, or is unknown."""

    id: str
    name: str
    arguments: JsonValue
    result: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What came of a run. `response`: the final text; `output`: the same as the agent's output type. `turns`: number of
    model calls. `usage` and `cost` (US dollars, by the table of prices): None where a number or a price is not known.
    `run`: the run's id; None where nothing is recorded."""

    response: str
    output: Any
    turns: int
    tool_calls: list[ExecutedCall]
    usage: TokenUsage
    cost: float | None
    run: str | None
