"""trajectories → [replay] → SDK.  An agent loop like any other, except that users and tools say what was recorded.

The model is a mock server that answers from the same record, so each model call of the loop is one of the recorded
run, made through the real client and observed as in anybody's program.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import openai
import orjson

import playhead
from playhead.testing import Trajectory

AGENT = "recorded_agent"
MODEL = "gpt-4o"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded run, and the run that it became."""

    trajectory: Trajectory
    run: str


def replay(client: openai.OpenAI, trajectory: Trajectory) -> Replayed:
    """Plays one recorded run; each of its tool calls is a call of an observed function."""
    agent = _RecordedAgent(client, trajectory, _RecordedTools())
    answer = playhead.observe(kind="agent", name=AGENT, session=trajectory.key)(agent.answer)
    answer(_task(trajectory))
    return Replayed(trajectory, agent.run or "")


@dataclass(slots=True)
class _RecordedAgent:
    client: openai.OpenAI
    trajectory: Trajectory
    tools: "_RecordedTools"
    run: str | None = None

    def answer(self, task: str) -> Any:
        """The agent loop; returns what the model said last."""
        self.run = playhead.current_run_id()
        messages: list[Any] = []
        for turn in self.trajectory.turns:
            for recorded in self.trajectory.messages[len(messages) : turn]:
                self.tools.answer(recorded)
                messages.append(recorded)
            message = self._ask(messages)
            self.tools.ask(self.trajectory.messages[turn])
            messages.append(message)
        for recorded in self.trajectory.messages[len(messages) :]:
            self.tools.answer(recorded)
        return messages[-1].content if self.trajectory.turns else None

    def _ask(self, messages: list[Any]) -> Any:
        tools: Any = list(self.trajectory.tools) or openai.omit
        completion = self.client.chat.completions.create(
            model=MODEL, messages=messages, tools=tools, extra_headers=self.trajectory.headers
        )
        return completion.choices[0].message


class _RecordedTools:
    """The tools of one run: each is an observed function that gives the next recorded result."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        self._asked: dict[str, tuple[str, Any]] = {}
        self._result: Any = None

    def ask(self, message: Mapping[str, Any]) -> None:
        """The model asked for the calls in this message."""
        calls: list[dict[str, Any]] = message.get("tool_calls") or []
        for call in calls:
            function: dict[str, Any] = call.get("function") or {}
            if isinstance(name := function.get("name"), str) and call.get("id"):
                self._asked[call["id"]] = (name, function.get("arguments"))

    def answer(self, message: Mapping[str, Any]) -> None:
        """If this is a result that was asked for, calls the tool that gives it."""
        asked = self._asked.pop(message.get("tool_call_id") or "", None)
        if asked is None:
            return
        name, arguments = asked
        self._result = message.get("content")
        given = _arguments(arguments)
        tool = self._tool(name)
        tool(**given) if isinstance(given, dict) else tool(given)

    def _tool(self, name: str) -> Callable[..., Any]:
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = playhead.observe(kind="tool", name=name)(self._recorded)
        return found

    def _recorded(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._result


def _arguments(text: Any) -> Any:
    """As a program reads them; what is not JSON stays as it is."""
    try:
        return orjson.loads(text)
    except (TypeError, ValueError):
        return text


def _task(trajectory: Trajectory) -> Any:
    """What the run was asked to do: the last message before the model's first answer."""
    first = trajectory.turns[0] if trajectory.turns else len(trajectory.messages)
    return trajectory.messages[first - 1].get("content") if first else None
