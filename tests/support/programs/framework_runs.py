"""An agent of a framework, run as a process of its own: killed, resumed, and what it recorded.

The programs stand beside the tests, as users would write them.  The model server kills them: it knows when they ask.
"""

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.model import names
from playhead.rewind import ASKED
from playhead.testing import (
    ChatRequest,
    MockModelServer,
    context_too_long,
    dropped_connection,
    sequence,
    text,
    tool_call,
    tool_calls,
    tool_result_received,
)
from playhead.testing.answers import Answer
from tests.support.journal_reader import Journaled, Recording, kind, read_journal
from tests.support.programs.processes import Running, started

ANSWER = "A1 is refunded."
LOOKED_UP = tool_calls(tool_call("look_up", {"order": "A1"}), tool_call("look_up", {"order": "B2"}))
REFUND = tool_call("refund", {"order": "A1", "amount": 5})
ALL_EFFECTS = ["look_up A1", "look_up B2", "refund A1 5.0"]


@dataclass
class Agent:
    """The program, how it is to run, its folder, and the model that it talks to."""

    program: Path
    variant: str
    folder: Path
    server: MockModelServer

    def run(self, **environ: str) -> tuple[int, str, str]:
        """Exit code, what it printed last, and its errors."""
        with self._started(environ) as process:
            ended = process.wait()
        return ended.code, ended.out.strip().rpartition("\n")[2], ended.errors

    def run_until_asked(self, number: int) -> None:
        """Killed with SIGKILL when it has sent the model its nth request, and before there is an answer."""
        with self._started({}) as process:

            def kill(_: ChatRequest) -> Answer:
                process.send_signal(signal.SIGKILL)
                return dropped_connection()

            self.server.when(sequence(number), kill)
            self.script()
            ended = process.wait()
        assert ended.code == -signal.SIGKILL, ended.errors

    def assert_is_recorded_well(self) -> None:
        """Its run, model calls and tools: see `assert_is_recorded_well`."""
        assert_is_recorded_well(self.recorded())

    def script(self) -> None:
        """What the model says: two look-ups at once, then the refund, then the answer."""
        self.server.when(~tool_result_received("look_up"), LOOKED_UP)
        self.server.when(~tool_result_received("refund"), REFUND)
        self.server.otherwise(text(ANSWER))

    def _started(self, environ: dict[str, str]) -> AbstractContextManager[Running]:
        return started(self.program, [self.variant], self.environ(environ))

    def environ(self, more: dict[str, str]) -> dict[str, str]:
        """The environment of its process: this one's without settings of clients, and where all of it is here."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_"))}
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(self.journal)}
        kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
        kept |= {"OPENAI_BASE_URL": self.server.base_url, "OPENAI_API_KEY": "none"}
        kept |= {"ANTHROPIC_BASE_URL": self.server.url, "ANTHROPIC_API_KEY": "none"}
        kept |= {"EFFECTS": str(self.folder / "effects"), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
        return kept | more

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    def effects(self) -> list[str]:
        """What its tools did, sorted: two of them run at the same time."""
        path = self.folder / "effects"
        return sorted(path.read_text().splitlines()) if path.exists() else []

    def recorded(self) -> Journaled:
        return read_journal(self.journal)

    def run_id(self) -> str:
        """The one run that there is."""
        [run] = {span.attributes[names.RUN_ID] for span in self.recorded().announced}
        return str(run)

    def resume(self, **options: str) -> tuple[int, str, str]:
        """As `playhead resume` starts it."""
        return self.run(**{ASKED: json.dumps({"resume": self.run_id(), "options": options})})

    def asked(self) -> list[tuple[str, int, str]]:
        """Of each request: the client, how many messages, and the last one."""
        asked = self.server.requests
        return [(one.headers.get("user-agent", ""), len(one.messages), str(one.messages[-1])) for one in asked]

    def asked_more_than_once(self) -> list[int]:
        """Of the questions that the model was asked several times, how long their conversations were."""
        times = Counter(repr(request.messages) for request in self.server.requests)
        lengths = {repr(request.messages): len(request.messages) for request in self.server.requests}
        return [lengths[question] for question, asked in times.items() if asked > 1]


def assert_is_killed_and_resumed(agent: Agent) -> None:
    """Killed while it waits for the model's third answer; resumed, it asks that again and nothing else."""
    agent.run_until_asked(3)
    assert agent.effects() == ALL_EFFECTS
    code, answer, errors = agent.run(PLAYHEAD_RESUME=agent.run_id())
    assert (code, answer) == (0, ANSWER), errors
    assert "live from here" not in errors
    assert agent.effects() == ALL_EFFECTS
    assert len(agent.server.requests) == 4, (agent.asked(), errors)
    [length] = agent.asked_more_than_once()
    assert length == max(len(request.messages) for request in agent.server.requests)
    agent.assert_is_recorded_well()


def assert_nothing_completed_is_repeated(agent: Agent, step: int) -> None:
    """Killed while it waits for the model's answer of this step, 1 to 3; resumed, it asks that again and nothing else,
    and runs no tool twice."""
    agent.run_until_asked(step)
    assert len(agent.server.requests) == step
    code, answer, errors = agent.run(PLAYHEAD_RESUME=agent.run_id())
    assert (code, answer) == (0, ANSWER), errors
    assert "live from here" not in errors
    assert agent.effects() == ALL_EFFECTS
    assert len(agent.server.requests) == 4, (agent.asked(), errors)
    [length] = agent.asked_more_than_once()
    assert length == len(agent.server.requests[step - 1].messages)
    agent.assert_is_recorded_well()


def assert_is_in_doubt_and_goes_on_when_told_to(agent: Agent) -> None:
    """Killed inside of a tool, after its effect: the resumed agent stops there, and nothing goes on without a word."""
    agent.script()
    code, _, errors = agent.run(DIE_INSIDE="1")
    assert code == -signal.SIGKILL, errors
    assert agent.effects() == ALL_EFFECTS
    requests = len(agent.server.requests)
    code, _, errors = agent.resume()
    assert code == 1
    assert "InDoubt" in errors
    assert "refund:tool had begun when the process died" in errors
    assert agent.effects() == ALL_EFFECTS
    assert [request.messages for request in agent.server.requests[requests:]] == []
    code, answer, errors = agent.resume(in_doubt="rerun")
    assert (code, answer) == (0, ANSWER), errors
    assert agent.effects() == [*ALL_EFFECTS, ALL_EFFECTS[-1]]
    assert agent.asked_more_than_once() == []
    agent.assert_is_recorded_well()


def assert_is_recorded_well(seen: Journaled) -> None:
    """One run; model calls and tools inside of its agent, each tool under the id that the model gave its call."""
    spans = {span.span_id: span for span in (*seen.announced, *seen.spans)}
    root = next(span for span in spans.values() if names.RUN_ROOT in span.attributes)
    by_kind = {kind: [s for s in spans.values() if s.attributes[names.KIND] == kind] for kind in ("llm", "tool")}
    assert len(by_kind["llm"]) == 3
    for span in (*by_kind["llm"], *by_kind["tool"]):
        assert names.UNRESTORABLE not in span.attributes
        above = spans[str(span.parent_id)]
        while above.parent_id is not None:
            above = spans[above.parent_id]
        assert above is root
    asked = {
        (part["id"], part["name"]): part["arguments"]
        for span in by_kind["llm"]
        if names.OUTPUT_MESSAGES_REF in span.attributes
        for message in seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
        for part in message["parts"]
        if part["type"] == "tool_call"
    }
    ran = {(span.attributes[names.TOOL_CALL_ID], span.attributes[names.TOOL_NAME]): span for span in by_kind["tool"]}
    assert len(asked) == len(by_kind["tool"]) == 3
    assert ran.keys() == asked.keys()
    for call, arguments in asked.items():
        given = seen.value(ran[call], names.TOOL_ARGUMENTS_REF)
        assert given == {**arguments, **({"verbose": False} if "verbose" in given else {})}
    last = max(by_kind["llm"], key=lambda span: span.attributes[names.CALL_ORDER])
    context = seen.messages(last.attributes[names.INPUT_MESSAGES_REF])
    results = [part["id"] for message in context for part in message["parts"] if part["type"] == "tool_call_response"]
    assert sorted(results) == sorted(call_id for call_id, _ in asked)


def killed(*variants: str, in_doubt: str = "plain") -> pytest.MarkDecorator:
    """Parameters `variant` and `check`: each variant is killed between its steps, and `in_doubt` inside of a tool."""
    cases = [(variant, assert_is_killed_and_resumed) for variant in variants]
    return pytest.mark.parametrize(
        ("variant", "check"), [*cases, (in_doubt, assert_is_in_doubt_and_goes_on_when_told_to)]
    )


def assert_contexts_are_the_requests(
    seen: Journaled, requests: Sequence[ChatRequest], *, has_tokens: bool, item_by_item: bool = False
) -> None:
    """The messages of each model call are those that the model server was sent. `has_tokens`: its tokens are known.
    `item_by_item`: the API has instructions apart, and items, each of which is recorded as a message, and of which the
    server makes messages.
    """
    calls = sorted(seen.of_kind("llm"), key=lambda span: span.attributes[names.CALL_ORDER])
    for call, request in zip(calls, requests, strict=True):
        thread = seen.messages(call.attributes[names.INPUT_MESSAGES_REF])
        recorded, sent = list(map(_recorded, thread)), list(map(_sent, request.messages))
        if item_by_item:
            instructions = str(seen.value(call, names.SYSTEM_INSTRUCTIONS_REF))
            assert _items(recorded) == [item for item in _items(sent) if item[0] != "system"]
            assert all(text in instructions for role, text in _items(sent) if role == "system")
        else:
            assert recorded == sent
        assert not has_tokens or call.attributes[names.INPUT_TOKENS] > 0


# Role; text, or a tool's result; and tool calls (id, name, arguments), or the id of the call with this result.
_Message = tuple[str, Any, list[Any]]


def _items(messages: list[_Message]) -> list[tuple[str, Any]]:
    """Each text and each tool call by itself, with its role."""
    return [(role, each) for role, text, calls in messages for each in (text, *calls) if each]


def _sent(message: Any) -> _Message:
    """A message of a request."""
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    if message["role"] == "tool":
        return "tool", _parsed(text), [message["tool_call_id"]]
    functions = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
    calls = [(call_id, function["name"], json.loads(function["arguments"])) for call_id, function in functions]
    role = "system" if message["role"] == "developer" else message["role"]  # one role, which newer models name so
    return role, text, calls


def _recorded(message: Any) -> _Message:
    """A recorded message."""
    parts = message["parts"]
    if message["role"] == "tool":
        [result] = parts
        return "tool", _parsed(result["response"]), [result["id"]]
    text = "".join(part["content"] for part in parts if part["type"] != "tool_call")
    calls = [(part["id"], part["name"], part["arguments"]) for part in parts if part["type"] == "tool_call"]
    return message["role"], text, calls


def _parsed(result: Any) -> Any:
    """A tool's result: some APIs have JSON in a text, in which spaces differ, and some have objects."""
    try:
        return json.loads(result) if isinstance(result, str) else result
    except ValueError:
        return result


def assert_fork_gives_a_tool_another_result(agent: Agent) -> None:
    """A fork of an agent's run at its last tool: the model is told the other result, and only asked what follows.
    The tools run as often as they did live.
    """
    agent.script()
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    live = len(agent.server.requests)
    what = {"fork": agent.run_id(), "options": {"at": "refund", "outcome": "refunded 5.0, by voucher"}}
    code, answer, errors = agent.run(**{ASKED: json.dumps(what)})
    assert (code, answer) == (0, ANSWER), errors
    assert "live from here" not in errors
    assert agent.effects() == ALL_EFFECTS
    [asked] = agent.server.requests[live:]
    assert "refunded 5.0, by voucher" in str(asked.messages[-1])
    assert asked.messages[:-1] == agent.server.requests[live - 1].messages[:-1]


def mcp_environ(folder: Path) -> dict[str, str]:
    """The environment of an MCP server over stdio that notes in the folder what it was asked to do."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "EFFECTS": str(folder / "effects")}


async def assert_mcp_tool_is_one_call(
    ask: Callable[[MockModelServer, Path], Awaitable[str]], recording: Recording, server: MockModelServer, folder: Path
) -> None:
    """The tool that an agent calls on an MCP server is recorded once, with the call's id, and not executed on resume.

    `ask` asks the agent how Paris is; its tool `forecast` is of the server `weather` and notes its calls in the folder.
    """
    server.when(~tool_result_received("forecast"), tool_call("forecast", {"city": "Paris"}))
    server.otherwise(text("It is sunny."))
    with playhead.run("r") as run:
        assert await ask(server, folder) == "It is sunny."
    seen = recording.read()
    [called] = [span for span in seen.spans if kind(span) == "tool"]
    assert (called.attributes[names.TOOL_NAME], called.attributes[names.MCP_SERVER]) == ("forecast", "weather")
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"city": "Paris"}
    assert "sunny in Paris" in str(seen.value(called, names.TOOL_RESULT_REF))
    asked = next(span for span in seen.spans if kind(span) == "llm")
    [message] = seen.messages(asked.attributes[names.OUTPUT_MESSAGES_REF])
    assert called.attributes[names.TOOL_CALL_ID] == message["parts"][0]["id"]
    requests, effects = len(server.requests), (folder / "effects").read_text()
    assert effects in ("forecast Paris\n", "forecast Paris 1\n")  # the second with the number of the attempt
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert await ask(server, folder) == "It is sunny."
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert (folder / "effects").read_text() == effects


def assert_a_refused_model_call_is_an_error(agent: Agent) -> None:
    """The provider refuses the second call: it, and the agent around it, have ended with an error; nothing else has."""
    agent.server.when(sequence(1), LOOKED_UP)
    agent.server.otherwise(context_too_long())
    code, _, errors = agent.run()
    assert code != 0
    assert "context_length_exceeded" in errors
    seen = agent.recorded()
    assert [span.status for span in seen.of_kind("tool")] == [0, 0]
    answered, refused = seen.of_kind("llm")
    assert (answered.status, refused.status) == (0, 2)
    assert refused.attributes[names.ERROR_TYPE].endswith("BadRequestError")
    [of_agent] = seen.of_kind("agent")
    assert of_agent.status == 2
    assert names.ERROR_TYPE in of_agent.attributes
    assert len(agent.server.requests) == 2
