"""Recorded runs (`PLAYHEAD_TRAJECTORIES` names their folder), and playing them again on the SDK of this checkout.

An agent loop like any other, except that users and tools say what was recorded.

The model is a mock server that answers from the same record, so each model call of the loop is one of the recorded
run, made through the real client and observed as in anybody's program.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import openai
import orjson

import playhead
from playhead.testing import MockModelServer, Trajectories, Trajectory

T = TypeVar("T")
R = TypeVar("R")

FOLDER = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", "../shared/data"))
AGENT = "recorded_agent"
MODEL = "gpt-4o"
# Two cores: more would only wait for each other.
_THREADS = 2


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded run, and the run that it became."""

    trajectory: Trajectory
    run: str


@dataclass(frozen=True, slots=True)
class NotPlayed:
    """A run that could not be played again, and why."""

    trajectory: Trajectory
    why: str


@cache
def recorded_runs() -> tuple[Trajectory, ...]:
    """All of them; none where the folder is not there."""
    return tuple(Trajectories.load(FOLDER)) if FOLDER.is_dir() else ()


def record(runs: Sequence[Trajectory]) -> Iterator[Replayed | NotPlayed]:
    """Plays the runs through the real client, against a mock model server that says what was recorded."""
    # Not through a proxy that the environment may name: the server is on this machine.
    http = openai.DefaultHttpxClient(trust_env=False)
    server = MockModelServer(trajectories=Trajectories(runs), keep_requests=False)
    with server, openai.OpenAI(base_url=server.base_url, api_key="none", http_client=http) as client:
        yield from in_threads(lambda run: _replay(client, run), runs)


def in_threads(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Results in order.  When one fails, or nobody wants more, what has not begun is not begun any more."""
    with ThreadPoolExecutor(_THREADS) as threads:
        waiting = deque(threads.submit(work, item) for item in items)
        try:
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _replay(client: openai.OpenAI, run: Trajectory) -> Replayed | NotPlayed:
    try:
        return replay(client, run)
    except Exception as error:  # noqa: BLE001 - whatever one run holds, the others are played
        return NotPlayed(run, f"cannot be played again: {type(error).__name__}: {error}")


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
