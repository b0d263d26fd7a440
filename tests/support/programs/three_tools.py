"""An agent with three tools, the second of which is slow, in a process of its own: killed at every request to the model
and inside every tool, and resumed.

The programs have no line of Playhead's: `playhead run` records them, but for the variant "observed". A tool notes what
it does in the file EFFECTS. It dies after that, in the place of being slow, if DIE_IN names it.

All kills with PLAYHEAD_EVERY_STEP=1; else a sample.
"""

import os
import signal
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from playhead.model import names
from playhead.testing import text, tool_call, tool_result_received
from tests.support.programs.framework_runs import Agent
from tests.support.programs.processes import Running, started, started_playhead

EVERY_STEP = bool(os.environ.get("PLAYHEAD_EVERY_STEP"))
TOOLS = ("look_up", "weigh", "refund")
EFFECTS = ["look_up A1", "refund A1", "weigh A1"]
ANSWER = "A1 is refunded."


def killed_everywhere(requests: int) -> pytest.MarkDecorator:
    """Parameter `kill`: where to kill an agent that makes so many requests, by a request's number or a tool's name."""
    return pytest.mark.parametrize("kill", (*range(1, requests + 1), *TOOLS) if EVERY_STEP else (3, "weigh"))


def killed_variants(*variants: str) -> pytest.MarkDecorator:
    """Parameter `variant`: all of them with PLAYHEAD_EVERY_STEP=1, else the first."""
    return pytest.mark.parametrize("variant", variants if EVERY_STEP else variants[:1])


@dataclass
class ThreeTools(Agent):
    """The agent's program, and the model that it talks to."""

    is_recorded: bool = True
    """Whether it is started by `playhead run`."""
    models: ClassVar[int] = 4
    """How many requests it makes."""
    prefix: ClassVar[str] = ""
    """Before the names of its tools, where the framework puts that of a group of tools there."""

    def script(self) -> None:
        """One tool after the other, then the answer."""
        for name in TOOLS:
            called = self.prefix + name
            self.server.when(~tool_result_received(called), tool_call(called, {"order": "A1"}, call_id=f"call_{name}"))
        self.server.otherwise(text(ANSWER))

    def check(self, kill: int | str) -> None:
        """Kills it there, and resumes it: the record answers all that had completed, and names the tool in doubt."""
        if isinstance(kill, int):
            self._check_killed_at_request(kill)
        else:
            self._check_killed_inside_tool(kill)
        self.assert_is_recorded_well()

    def _check_killed_at_request(self, number: int) -> None:
        self.run_until_asked(number)
        assert len(self.server.requests) == number
        code, answer, errors = self.run(PLAYHEAD_RESUME=self.run_id())
        assert (code, answer) == (0, ANSWER), errors
        assert "live from here" not in errors
        assert self.effects() == EFFECTS
        assert len(self.server.requests) == self.models + 1, (self.asked(), errors)
        [length] = self.asked_more_than_once()
        assert length == len(self.server.requests[number - 1].messages)

    def _check_killed_inside_tool(self, name: str) -> None:
        self.script()
        code, _, errors = self.run(DIE_IN=name)
        assert code == -signal.SIGKILL, errors
        before, requests = self.effects(), len(self.server.requests)
        _, answer, errors = self.resume()
        assert answer != ANSWER
        assert "InDoubt" in errors
        assert f"{name}:tool had begun when the process died" in errors
        assert (self.effects(), len(self.server.requests)) == (before, requests)
        code, answer, errors = self.resume(in_doubt="rerun")
        assert (code, answer) == (0, ANSWER), errors
        assert self.effects() == sorted([*EFFECTS, *(effect for effect in EFFECTS if effect.startswith(name))])
        assert len(self.server.requests) == self.models
        assert self.asked_more_than_once() == []

    def assert_is_recorded_well(self) -> None:
        """One run; each tool inside of its agent, under the id that the model gave its call."""
        seen = self.recorded()
        spans = {span.span_id: span for span in (*seen.announced, *seen.spans)}
        assert len({span.attributes[names.RUN_ID] for span in spans.values()}) == 1
        assert [span for span in spans.values() if names.UNRESTORABLE in span.attributes] == []
        ran = {
            span.attributes[names.TOOL_NAME]: span for span in spans.values() if span.attributes[names.KIND] == "tool"
        }
        assert sorted(ran) == sorted(self.prefix + name for name in TOOLS)
        assert {span.attributes.get(names.TOOL_CALL_ID) for span in ran.values()} == self.requested_ids()
        agents = {span.span_id for span in spans.values() if span.attributes[names.KIND] == "agent"}
        assert {str(span.parent_id) for span in ran.values()} <= agents

    def requested_ids(self) -> set[Any]:
        """The ids under which the model has asked for the tools."""
        seen = self.recorded()
        return {
            part["id"]
            for span in seen.of_kind("llm")
            if names.OUTPUT_MESSAGES_REF in span.attributes
            for message in seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
            for part in message["parts"]
            if part["type"] == "tool_call"
        }

    def _started(self, environ: dict[str, str]) -> AbstractContextManager[Running]:
        arguments = [str(self.program), self.variant]
        if not self.is_recorded or self.variant == "observed":
            return started(self.program, arguments[1:], self.environ(environ))
        return started_playhead("run", "--", sys.executable, *arguments, environ=self.environ(environ))


def assert_is_recorded_without_a_line(agent: ThreeTools) -> None:
    """`playhead run` alone makes one run of it, and it prints what it prints without Playhead."""
    agent.script()
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    agent.assert_is_recorded_well()
    requests, effects = [request.messages for request in agent.server.requests], agent.effects()
    assert (effects, len(requests)) == (EFFECTS, agent.models)
    agent.is_recorded = False
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    assert [request.messages for request in agent.server.requests[agent.models :]] == requests
    assert agent.effects() == sorted(effects * 2)
