"""What a scorer is given of a run, and what it answers. Functions that score runs get a `ScoredRun`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ScoredToolCall:
    """A tool call of a run. `status`: completed, failed, cancelled or open; `error`: what it raised."""

    name: str
    arguments: Any
    result: Any
    status: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """A run that has ended. Values are JSON values, or None if they were not recorded or are too long.

    `input` and `output` are those of the run's outermost call, or else the first text of the user and the last answer.
    `output_text` is the output as text, empty if there is none. `messages` is the context of the last model call, with
    its answer, each with `role` and `parts`. `error`: what came out of the run. `cost` is in US dollars; None: no price
    is known. `cut` says what was left out because it is too long or not stored.
    """

    run: str
    name: str | None
    status: str
    agents: tuple[str, ...]
    tags: tuple[str, ...]
    session: str | None
    user: str | None
    elapsed_s: float | None
    input: Any
    output: Any
    output_text: str
    messages: tuple[Mapping[str, Any], ...]
    tool_calls: tuple[ScoredToolCall, ...]
    error: str | None
    llm_calls: int
    errors: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GivenScore:
    """A score that a scorer gives a run: a number, a boolean or the name of a category.

    `name`: of the score; None: the one that the scorer has. `label`: what a number is called. `comment`: why.
    """

    value: float | bool | str
    comment: str | None = None
    name: str | None = None
    label: str | None = None


def scored_run_from(value: Mapping[str, Any]) -> ScoredRun:
    """Returns the run in a JSON object with its fields."""
    lists: dict[str, Any] = {name: tuple(value[name]) for name in ("agents", "tags", "messages", "cut")}
    lists["tool_calls"] = tuple(ScoredToolCall(**call) for call in value["tool_calls"])
    fields: dict[str, Any] = {**value, **lists}
    return ScoredRun(**fields)
