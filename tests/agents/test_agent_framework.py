"""What is recorded of Microsoft's Agent Framework: agents, workflows, handoffs, tools, messages; errors and forks."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from agent_framework import (
    Agent,
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    BaseAgent,
    Content,
    FunctionInvocationContext,
    FunctionTool,
    ResponseStream,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    tool,
)
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient

import playhead
from playhead import observe
from playhead.model import names
from playhead.testing import (
    MockModelServer,
    context_too_long,
    pytest_plugin,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_offered,
    tool_result_received,
)
from tests.support.journal_reader import Recording, start_recording
from tests.support.programs.framework_runs import assert_contexts_are_the_requests

server = pytest_plugin.mock_model_server
T = TypeVar("T")


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    return {"order": order, "status": "delayed"}


def broken(order: str) -> str:
    """Fails."""
    raise LookupError(f"no {order}")


def pictured(order: str) -> list[Content]:
    """A text, and a picture."""
    return [Content.from_text(order), Content.from_uri("https://example.com/a1.png", media_type="image/png")]


def agent(server: MockModelServer, name: str = "clerk", tools: Any = (), **options: Any) -> Agent:
    client = OpenAIChatCompletionClient(model="m", api_key="none", base_url=server.base_url)
    return Agent(client, "be kind", name=name, tools=list(tools), **options)


def of_kind(recording: Recording, kind: str) -> list[Any]:
    return [span for span in recording.read().spans if span.attributes[names.KIND] == kind]


def assert_resumed_is_equal(server: MockModelServer, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs it, and again from the record: nothing is asked or executed, and what comes out is equal."""
    with playhead.run("r") as run:
        live = asyncio.run(ask())
    requests = len(server.requests)
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert asyncio.run(ask()) == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    return live


@pytest.mark.covers("agent-framework", "spans", "messages", "tools", "usage")
@pytest.mark.parametrize("api", [OpenAIChatCompletionClient, OpenAIChatClient])
async def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer, api: Any):
    both = tool_calls(tool_call("look_up", {"order": "A1"}), tool_call("look_up", {"order": "B2"}))
    server.when(~tool_result_received("look_up"), both)
    server.otherwise(text("it is delayed"))
    client = api(model="m", api_key="none", base_url=server.base_url)
    clerk = Agent(client, "be kind", name="clerk", tools=[look_up])
    assert (await clerk.run("where is A1?", session=AgentSession(session_id="s1"))).text == "it is delayed"
    seen = recording.read()
    [root] = of_kind(recording, "agent")
    assert (root.attributes[names.AGENT_NAME], root.attributes[names.CONVERSATION]) == ("clerk", "s1")
    assert seen.value(root, names.INPUT_REF) == {"input": "where is A1?"}
    assert seen.value(root, names.OUTPUT_REF) == "it is delayed"
    tools, calls = of_kind(recording, "tool"), of_kind(recording, "llm")
    assert {json.loads(seen.value(span, names.TOOL_RESULT_REF))["order"] for span in tools} == {"A1", "B2"}
    assert {span.parent_id for span in (*tools, *calls)} == {root.span_id}
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True, item_by_item=api is OpenAIChatClient)
    first = min(calls, key=lambda span: span.attributes[names.CALL_ORDER])
    asked = [part for each in seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF]) for part in each["parts"]]
    ran = {span.attributes[names.TOOL_CALL_ID]: seen.value(span, names.TOOL_ARGUMENTS_REF) for span in tools}
    assert ran == {part["id"]: part["arguments"] for part in asked}


@pytest.mark.covers("agent-framework", "streaming", "resume")
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))

    async def ask() -> list[str]:
        stream = agent(server, tools=[look_up]).run("where is A1?", stream=True)
        texts = [update.text async for update in stream]
        return [*texts, (await stream.get_final_response()).text]

    assert "".join(assert_resumed_is_equal(server, ask)) == "it is delayed" * 2
    [of_agent] = [span for span in of_kind(recording, "agent") if span.parent_id]
    assert recording.read().value(of_agent, names.OUTPUT_REF) == "it is delayed"
    assert {span.parent_id for span in (*of_kind(recording, "tool"), *of_kind(recording, "llm"))} == {of_agent.span_id}


@pytest.mark.covers("agent-framework", "streaming")
async def test_a_stream_that_is_left_early_ends_its_agent(recording: Recording, server: MockModelServer):
    server.otherwise(text("it is delayed"))
    async with agent(server).run("where is A1?", stream=True) as stream:
        await anext(stream)
        assert playhead.current_run_id() is None
    [root] = of_kind(recording, "agent")
    assert root.attributes[names.OUTCOME] == "aborted"


@pytest.mark.covers("agent-framework", "streaming", "errors")
async def test_a_stream_that_fails_is_an_error(recording: Recording, server: MockModelServer):
    server.otherwise(context_too_long())
    with pytest.raises(Exception, match="context"):
        await agent(server).run("where is A1?", stream=True).get_final_response()
    assert [span.status for span in of_kind(recording, "agent")] == [2]


class Gated(BaseAgent):
    """Its updates are held back until all of them have been looked at."""

    def run(self, messages: Any = None, *, stream: bool = False, **options: Any) -> Any:
        updates = [AgentResponseUpdate(contents=[Content.from_text(text)]) for text in ("it is ", "delayed")]

        async def consume() -> Any:
            return updates, AgentResponse.from_updates(updates)

        async def gate(_: Any, final: Any) -> Any:
            return final, False

        def whole(final: Any) -> Any:
            return [AgentResponseUpdate(contents=[Content.from_text(final.text)])]

        return ResponseStream.buffered_and_gated(consume, gate, whole)


async def test_a_stream_behind_a_gate_gives_the_same_updates(recording: Recording):
    texts = [update.text async for update in Gated(name="clerk").run("where is A1?", stream=True)]
    assert texts == ["it is ", "delayed"]
    [root] = of_kind(recording, "agent")
    assert (root.status, names.OUTCOME in root.attributes) == (0, False)


def test_a_stream_that_nobody_reads_is_no_run(recording: Recording, server: MockModelServer):
    agent(server).run("where is A1?", stream=True)
    assert recording.read().spans == []


@pytest.mark.covers("agent-framework", "errors", "resume")
def test_a_tool_that_fails_is_an_error_and_fails_again(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("broken"), tool_call("broken", {"order": "A1"}))
    server.otherwise(text("sorry"))

    async def ask() -> list[Any]:
        done = await agent(server, tools=[broken]).run("where is A1?")
        return [content.exception for message in done.messages for content in message.contents]

    assert "no A1" in assert_resumed_is_equal(server, ask)
    [failed] = of_kind(recording, "tool")
    assert (failed.status, failed.status_message) == (2, "no A1")


@pytest.mark.covers("agent-framework", "errors")
async def test_a_refused_model_call_is_an_error_of_the_agent(recording: Recording, server: MockModelServer):
    server.otherwise(context_too_long())
    with pytest.raises(Exception, match="context"):
        await agent(server).run("where is A1?")
    [root], [refused] = of_kind(recording, "agent"), of_kind(recording, "llm")
    assert (root.status, refused.status) == (2, 2)
    assert refused.attributes[names.ERROR_TYPE].endswith("BadRequestError")


@pytest.mark.covers("agent-framework", "tools", "resume")
@pytest.mark.parametrize("function", [look_up, pictured])
def test_a_tools_contents_come_back(server: MockModelServer, function: Any):
    name = function.__name__
    server.when(~tool_result_received(name), tool_call(name, {"order": "A1"}))
    server.otherwise(text("done"))

    async def ask() -> list[Any]:
        done = await agent(server, tools=[function]).run("where is A1?")
        results = [content for message in done.messages for content in message.contents if content.call_id]
        return [content.to_dict(exclude={"id"}) for content in results]  # the framework makes other ids each time

    assert len(assert_resumed_is_equal(server, ask)) == 2


def test_a_tool_that_the_program_calls_returns_what_its_function_returns(recording: Recording):
    async def ask() -> Any:
        return await tool(look_up).invoke(arguments={"order": "A1"}, skip_parsing=True)

    with playhead.run("r") as run:
        assert asyncio.run(ask()) == {"order": "A1", "status": "delayed"}
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert asyncio.run(ask()) == {"order": "A1", "status": "delayed"}
    assert resumed.report.live == 0


@pytest.mark.covers("agent-framework", "tools", "resume")
def test_what_a_tool_changes_in_the_sessions_state_is_changed_again(server: MockModelServer):
    server.when(~tool_result_received("note"), tool_call("note", {"order": "A1"}))
    server.otherwise(text("done"))

    def note(order: str, ctx: FunctionInvocationContext) -> str:
        """Note an order."""
        assert ctx.session is not None
        ctx.session.state["order"] = order
        ctx.session.state["all"].append(order)
        ctx.session.state.pop("old")
        return "noted"

    async def ask() -> dict[str, Any]:
        session = AgentSession(session_id="s")
        session.state |= {"old": 1, "kept": 2, "all": []}
        await agent(server, tools=[note]).run("note A1", session=session)
        return {name: session.state.get(name) for name in ("order", "all", "old", "kept")}

    assert assert_resumed_is_equal(server, ask) == {"order": "A1", "all": ["A1"], "old": None, "kept": 2}


async def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("observed"), tool_call("observed", {"order": "A1"}))
    server.otherwise(text("done"))

    @observe(kind="tool")
    def observed(order: str) -> str:
        """Is recorded by itself."""
        return f"{order} is there"

    await agent(server, tools=[observed]).run("where is A1?")
    assert len(of_kind(recording, "tool")) == 1


@pytest.mark.covers("agent-framework", "fork")
async def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        await agent(server, tools=[look_up]).run("where is A1?")
    for outcome, sent in (("it is lost", "it is lost"), ({"lost": True}, '{"lost": true}')):
        with playhead.fork(str(run.id), at="look_up", outcome=outcome), playhead.run("r"):
            done = await agent(server, tools=[look_up]).run("where is A1?")
        assert [content.result for message in done.messages for content in message.contents if content.result] == [sent]
        assert server.requests[-1].messages[-1]["content"] == sent


@pytest.mark.covers("agent-framework", "spans", "tools", "resume", "fork")
def test_an_agent_that_is_a_tool_is_inside_the_tools_call(recording: Recording, server: MockModelServer):
    server.when(tool_offered("clerk") & ~tool_result_received("clerk"), tool_call("clerk", {"task": "Where is A1?"}))
    server.when(tool_offered("look_up") & ~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))

    async def ask() -> str:
        return (await agent(server, "desk", [agent(server, tools=[look_up]).as_tool()]).run("where is A1?")).text

    assert_resumed_is_equal(server, ask)
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    [asked] = [span for span in of_kind(recording, "tool") if span.attributes[names.TOOL_NAME] == "clerk"]
    assert (by_name["clerk"].parent_id, asked.parent_id) == (asked.span_id, by_name["desk"].span_id)
    with playhead.fork(asked.attributes[names.RUN_ID], at="clerk", outcome="it is lost"), playhead.run("r"):
        asyncio.run(ask())
    assert "it is lost" in str(server.requests[-1].messages[-1])


def handoff(server: MockModelServer) -> Any:
    """A desk that hands over to a clerk."""
    from agent_framework.orchestrations import HandoffBuilder

    desk = agent(server, "desk", require_per_service_call_history_persistence=True)
    clerk = agent(server, "clerk", [look_up], require_per_service_call_history_persistence=True)
    builder = HandoffBuilder(
        name="support", participants=[desk, clerk], termination_condition=lambda said: "delayed" in said[-1].text
    )
    return builder.with_start_agent(desk).add_handoff(desk, [clerk]).add_handoff(clerk, [desk]).build()


@pytest.mark.covers("agent-framework", "spans", "resume")
@pytest.mark.parametrize("stream", [False, True])
def test_agents_that_hand_over_are_agents_of_one_run(recording: Recording, server: MockModelServer, stream: bool):
    server.when(~tool_offered("look_up"), tool_call("handoff_to_clerk", {}))
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))

    async def ask() -> str:
        if not stream:
            return str((await handoff(server).run("where is A1?")).get_outputs()[-1].text)
        events = handoff(server).run("where is A1?", stream=True)
        return "".join([event.data.text async for event in events if event.type == "output"])

    assert assert_resumed_is_equal(server, ask) == "it is delayed"
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    assert by_name.keys() == {"support", "desk", "clerk"}
    assert {by_name[name].parent_id for name in ("desk", "clerk")} == {by_name["support"].span_id}
    [looked_up] = of_kind(recording, "tool")
    assert looked_up.parent_id == by_name["clerk"].span_id
    [handed] = [event for event in recording.read().logs if event.name == names.HANDOFF]
    assert handed.attributes[names.HANDOFF_TO] == "clerk"


@pytest.mark.covers("agent-framework", "spans", "resume")
def test_the_executors_of_a_workflow_are_its_steps(recording: Recording, server: MockModelServer):
    server.otherwise(text("done"))

    @executor(id="upper")
    async def upper(said: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(said.upper())

    async def ask() -> list[str]:
        ends = [agent(server, name) for name in ("left", "right")]
        flow = WorkflowBuilder(start_executor=upper, name="flow").add_fan_out_edges(upper, ends).build()
        return sorted(output.text for output in (await flow.run("go")).get_outputs())

    assert assert_resumed_is_equal(server, ask) == ["done", "done"]
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    assert {by_name[name].parent_id for name in ("left", "right")} == {by_name["flow"].span_id}
    assert [span.name for span in of_kind(recording, "step")] == ["upper"]
    assert {request.messages[-1]["content"] for request in server.requests} == {"GO"}


@pytest.mark.covers("agent-framework", "spans", "resume")
def test_a_function_that_is_a_workflow_is_one_run(recording: Recording, server: MockModelServer):
    from agent_framework import step, workflow

    server.otherwise(text("done"))

    async def ask() -> list[Any]:
        @step
        async def upper(said: str) -> str:
            return said.upper()

        @workflow
        async def flow(said: str) -> str:
            return (await agent(server).run(await upper(said))).text

        return (await flow.build().run("go")).get_outputs()

    assert assert_resumed_is_equal(server, ask) == ["done"]
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    assert by_name["clerk"].parent_id == by_name["flow"].span_id
    [shouted] = of_kind(recording, "step")
    assert recording.read().value(shouted, names.OUTPUT_REF) == "GO"


@pytest.mark.covers("agent-framework", "reasoning")
async def test_reasoning_is_recorded(recording: Recording, server: MockModelServer):
    server.otherwise(thinking("It must be late.") + text("done"))
    client = OpenAIChatClient(model="m", api_key="none", base_url=server.base_url)
    await Agent(client, name="clerk").run("where is A1?")
    [asked] = of_kind(recording, "llm")
    assert "It must be late." in str(recording.read().value(asked, names.REASONING_REF))


async def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    server.otherwise(text("done"))
    assert not any(hasattr(function, "_self_wrapper") for function in (Agent.run, FunctionTool.invoke))
    await agent(server).run("hello")
    assert recording.read().spans == []
