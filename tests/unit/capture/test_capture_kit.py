"""The public contract of captures, over a made-up framework whose methods are of each kind."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import playhead
import playhead.capture_kit
from playhead.capture_kit import (
    CapturedAgent,
    CapturedTool,
    Instrumentation,
    MethodCall,
    ToolResults,
    WrapSubclasses,
    agents,
    tool_wrapper,
    tools,
)
from playhead.errors import CannotRestore
from playhead.model import names
from tests.support.journal_reader import Recording, start_recording

FRAMEWORK = """
class Output:
    def __init__(self, text):
        self.text = text

class Tool:
    calls = []

    def execute(self, arguments, call_id):
        self.calls.append(arguments)
        if "fail" in arguments:
            raise ValueError("refused")
        return Output("did " + str(arguments))

    async def execute_async(self, arguments, call_id):
        return self.execute(arguments, call_id)

class Agent:
    def run(self, question):
        return "plain " + Tool().execute({"q": question}, "c1").text

    async def run_async(self, question):
        return "async " + (await Tool().execute_async({"q": question}, "c1")).text

    def steps(self, question):
        got = yield "thinking"
        yield Output(f"step {got} " + Tool().execute({"q": question}, "c1").text)
        return "returned"

    async def steps_async(self, question):
        yield "thinking"
        yield Output("async step " + (await Tool().execute_async({"q": question}, "c1")).text)

class Skill:
    def act(self, arguments, call_id):
        raise NotImplementedError
"""


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture
def framework(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType("made_up_framework")
    exec(FRAMEWORK, vars(module))
    monkeypatch.setitem(sys.modules, "made_up_framework", module)
    return module


def read_agent(called: MethodCall) -> CapturedAgent:
    return CapturedAgent("clerk", called.argument(0, "question"), session="s1")


def read_tool(called: MethodCall) -> CapturedTool:
    return CapturedTool("search", called.argument(0, "arguments"), called.argument(1, "call_id"))


def text_of(value: Any, _: MethodCall | None = None) -> str | None:
    return getattr(value, "text", None)


def made_again(recorded: Any, _: MethodCall) -> Any:
    return sys.modules["made_up_framework"].Output(recorded)


RESULTS = ToolResults(text_of, made_again)


def patched(*patches: Any) -> Iterator[None]:
    instrumentation = Instrumentation(patches)
    instrumentation.patch()
    yield
    instrumentation.unpatch()


@pytest.fixture
def capture(framework: Any) -> Iterator[None]:
    name = "made_up_framework"
    yield from patched(
        *(agents(name, f"Agent.{method}", read_agent) for method in ("run", "run_async")),
        *(agents(name, f"Agent.{method}", read_agent, text_of) for method in ("steps", "steps_async")),
        *(tools(name, f"Tool.{method}", read_tool, RESULTS) for method in ("execute", "execute_async")),
    )


def stepped(steps: Any) -> list[Any]:
    """The items of a generator that is sent a value, and what it returned."""
    items = [next(steps)]
    try:
        items.append(steps.send("sent"))
        items.append(next(steps))
    except StopIteration as end:
        items.append(end.value)
    return items


async def collected(steps: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in steps]


def run_kind(framework: Any, kind: str) -> Any:
    agent = framework.Agent()
    match kind:
        case "run":
            return agent.run("x")
        case "run_async":
            return asyncio.run(agent.run_async("x"))
        case "steps":
            return [getattr(item, "text", item) for item in stepped(agent.steps("x"))]
        case _:
            return [getattr(item, "text", item) for item in asyncio.run(collected(agent.steps_async("x")))]


RESULT_OF = {
    "run": "plain did {'q': 'x'}",
    "run_async": "async did {'q': 'x'}",
    "steps": ["thinking", "step sent did {'q': 'x'}", "returned"],
    "steps_async": ["thinking", "async step did {'q': 'x'}"],
}


@pytest.mark.usefixtures("capture")
@pytest.mark.parametrize("kind", RESULT_OF)
def test_agents_and_tools_of_each_kind_are_recorded_and_nothing_is_changed(
    recording: Recording, framework: Any, kind: str
):
    assert run_kind(framework, kind) == RESULT_OF[kind]
    seen = recording.read()
    agent, tool = seen.call("clerk"), seen.call("search")
    assert (agent.attributes[names.KIND], agent.attributes[names.CONVERSATION]) == ("agent", "s1")
    assert seen.input("clerk") == {"input": "x"}
    answer = RESULT_OF[kind] if isinstance(RESULT_OF[kind], str) else RESULT_OF[kind][1]
    assert seen.output("clerk") == answer
    assert (tool.parent_id, tool.attributes[names.TOOL_CALL_ID]) == (agent.span_id, "c1")
    assert (seen.input("search"), seen.output("search")) == ({"q": "x"}, "did {'q': 'x'}")


@pytest.mark.usefixtures("capture")
@pytest.mark.parametrize("kind", RESULT_OF)
def test_a_resumed_run_gets_the_frameworks_own_results(recording: Recording, framework: Any, kind: str):
    run_kind(framework, kind)
    [root] = [span for span in recording.read().spans if names.RUN_ROOT in span.attributes]
    with playhead.resume(root.attributes[names.RUN_ID]) as resumed:
        assert run_kind(framework, kind) == RESULT_OF[kind]
    assert framework.Tool.calls == [{"q": "x"}]
    assert resumed.report.divergences == []


@pytest.mark.usefixtures("capture", "recording")
def test_a_tool_outside_of_a_run_is_not_recorded(recording: Recording, framework: Any):
    assert framework.Tool().execute({}, "c").text == "did {}"
    assert recording.read().spans == []


@pytest.mark.usefixtures("capture")
def test_an_error_of_a_tool_is_recorded_and_raised_again(recording: Recording, framework: Any):
    with playhead.run("r") as run, pytest.raises(ValueError, match="refused"):
        framework.Tool().execute({"fail": 1}, "c")
    assert recording.read().call("search").status == 2
    with playhead.resume(str(run.id)), playhead.run("r"), pytest.raises(ValueError, match="refused"):
        framework.Tool().execute({"fail": 1}, "c")
    assert len(framework.Tool.calls) == 1


def broken(*_: Any) -> Any:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "patches",
    [
        pytest.param([("Agent.run", broken)], id="reads no agent"),
        pytest.param([("Agent.run", read_agent, broken)], id="reads no answer"),
    ],
)
def test_a_reader_of_agents_that_fails_changes_nothing(
    recording: Recording, framework: Any, patches: list[Any], caplog: pytest.LogCaptureFixture
):
    for _ in patched(*(agents("made_up_framework", *patch) for patch in patches)):
        assert run_kind(framework, "run") == RESULT_OF["run"]
    assert "your program is unaffected" in caplog.text


@pytest.mark.parametrize(
    ("read", "results"),
    [
        pytest.param(broken, None, id="reads no tool"),
        pytest.param(read_tool, ToolResults(to_record=broken), id="reads no result"),
        pytest.param(read_tool, ToolResults(error_in=broken), id="reads no error"),
    ],
)
@pytest.mark.parametrize("kind", ["run", "run_async"])
def test_a_reader_of_tools_that_fails_changes_nothing(
    recording: Recording, framework: Any, read: Any, results: Any, kind: str, caplog: pytest.LogCaptureFixture
):
    methods = ("Tool.execute", "Tool.execute_async")
    for _ in patched(*(tools("made_up_framework", method, read, results) for method in methods)):
        with playhead.run("r"):
            assert run_kind(framework, kind) == RESULT_OF[kind]
    assert "your program is unaffected" in caplog.text


def test_a_result_that_cannot_be_made_again_says_so(recording: Recording, framework: Any):
    for _ in patched(tools("made_up_framework", "Tool.execute", read_tool, ToolResults(text_of, broken))):
        with playhead.run("r") as run:
            framework.Tool().execute({}, "c")
        with playhead.resume(str(run.id)), playhead.run("r"), pytest.raises(CannotRestore, match="ZeroDivisionError"):
            framework.Tool().execute({}, "c")


def test_methods_of_subclasses_are_wrapped_where_they_are_defined(recording: Recording, framework: Any):
    wrapper = tool_wrapper(read_tool, RESULTS)
    for _ in patched(WrapSubclasses("made_up_framework", "Skill", {"act": wrapper})):

        class Later(framework.Skill):
            def act(self, arguments: Any, call_id: str) -> Any:
                return framework.Output("acted")

        with playhead.run("r"):
            assert Later().act({"a": 1}, "c").text == "acted"
    assert recording.read().output("search") == "acted"


def test_the_public_names_are_these():
    assert playhead.capture_kit.__all__ == [
        "Capture",
        "CapturedAgent",
        "CapturedTool",
        "Instrumentation",
        "MethodCall",
        "Patch",
        "ToolResults",
        "Wrap",
        "WrapSubclasses",
        "Wrapper",
        "agent_wrapper",
        "agents",
        "intercepted",
        "is_inside_run",
        "is_observed",
        "tool_wrapper",
        "tools",
    ]
    for name in playhead.capture_kit.__all__:
        assert getattr(playhead.capture_kit, name) is not None
