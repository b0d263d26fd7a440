"""What is recorded of AG2: agents, sub-tasks, handoffs, tools, messages; errors and forks."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from ag2 import Agent, Context, MemoryStream, TaskConfig, ToolResult
from ag2.config import OpenAIConfig, OpenAIResponsesConfig
from ag2.events import ImageInput, ModelMessageChunk, ToolErrorEvent, ToolResultEvent
from ag2.knowledge import MemoryKnowledgeStore
from ag2.network import Handoff, Hub, HubClient, LocalLink, Passport, Resume
from ag2.tools.final import FunctionTool

import playhead
from playhead import observe
from playhead.model import names
from playhead.testing import (
    MockModelServer,
    context_too_long,
    malformed_tool_call,
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


async def broken(order: str) -> str:
    """Fails."""
    raise LookupError(f"no {order}")


def pictured(order: str) -> ToolResult:
    """A text, and a picture."""
    return ToolResult(order, ImageInput("https://example.com/a1.png"), ImageInput(data=b"ab", media_type="image/png"))


def ending(order: str) -> ToolResult:
    """Says the last word."""
    return ToolResult(f"{order} is there", final=True, metadata={"by": "tool"})


def agent(server: MockModelServer, name: str = "clerk", tools: Any = (), streaming: bool = False, **more: Any) -> Agent:
    config = OpenAIConfig(model="m", api_key="none", base_url=server.base_url, max_retries=0, streaming=streaming)
    return Agent(name, "be kind", config=config, tools=list(tools), **more)


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


@pytest.mark.covers("ag2", "spans", "messages", "tools", "usage")
@pytest.mark.parametrize("api", [OpenAIConfig, OpenAIResponsesConfig])
async def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer, api: Any):
    both = tool_calls(tool_call("look_up", {"order": "A1"}), tool_call("look_up", {"order": "B2"}))
    server.when(~tool_result_received("look_up"), both)
    server.otherwise(text("it is delayed"))
    config = api(model="m", api_key="none", base_url=server.base_url)
    reply = await Agent("clerk", "be kind", config=config, tools=[look_up]).ask("where is A1?")
    assert reply.body == "it is delayed"
    seen = recording.read()
    [root] = of_kind(recording, "agent")
    assert root.attributes[names.AGENT_NAME] == "clerk"
    assert seen.value(root, names.INPUT_REF) == {"input": "where is A1?"}
    assert seen.value(root, names.OUTPUT_REF) == "it is delayed"
    tools, calls = of_kind(recording, "tool"), of_kind(recording, "llm")
    assert {seen.value(span, names.TOOL_RESULT_REF)["order"] for span in tools} == {"A1", "B2"}
    assert {span.parent_id for span in (*tools, *calls)} == {root.span_id}
    is_responses = api is OpenAIResponsesConfig
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True, item_by_item=is_responses)
    first = min(calls, key=lambda span: span.attributes[names.CALL_ORDER])
    asked = [part for each in seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF]) for part in each["parts"]]
    ran = {span.attributes[names.TOOL_CALL_ID]: seen.value(span, names.TOOL_ARGUMENTS_REF) for span in tools}
    assert ran == {part["id"]: part["arguments"] for part in asked}


@pytest.mark.covers("ag2", "streaming", "resume")
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))

    async def ask() -> tuple[str | None, list[str | None]]:
        stream = MemoryStream()
        chunks: list[str | None] = []

        async def keep(event: ModelMessageChunk) -> None:
            chunks.append(event.content)

        stream.where(ModelMessageChunk).subscribe(keep)
        async with agent(server, tools=[look_up], streaming=True).run("where is A1?", stream=stream) as run:
            run.start()
            return (await run.result()).body, chunks

    said, chunks = assert_resumed_is_equal(server, ask)
    assert said == "".join(filter(None, chunks)) == "it is delayed"
    [of_agent] = [span for span in of_kind(recording, "agent") if span.parent_id]
    assert recording.read().value(of_agent, names.OUTPUT_REF) == "it is delayed"


async def test_a_turn_that_is_left_is_cancelled(recording: Recording, server: MockModelServer):
    begun = asyncio.Event()

    async def endless() -> str:
        """Never ends."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    server.otherwise(tool_call("endless", {}))
    async with agent(server, tools=[endless]).run("go") as run:
        run.start()
        await begun.wait()
        assert playhead.current_run_id() is None
    spans = [*of_kind(recording, "agent"), *of_kind(recording, "tool")]
    assert [span.attributes[names.OUTCOME] for span in spans] == ["cancelled", "cancelled"]


@pytest.mark.covers("ag2", "spans")
async def test_a_reply_that_is_asked_on_is_a_run_of_its_own(recording: Recording, server: MockModelServer):
    server.otherwise(text("done"))
    reply = await agent(server).ask("one")
    assert (await reply.ask("two")).body == "done"
    seen = recording.read()
    assert [seen.value(span, names.INPUT_REF)["input"] for span in of_kind(recording, "agent")] == ["one", "two"]


@pytest.mark.covers("ag2", "errors", "resume")
def test_a_tool_that_fails_is_an_error_and_fails_again(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("broken"), tool_call("broken", {"order": "A1"}))
    server.otherwise(text("sorry"))

    async def ask() -> list[str]:
        reply = await agent(server, tools=[broken]).ask("where is A1?")
        return [str(event.error) for event in await reply.history.get_events() if isinstance(event, ToolErrorEvent)]

    with playhead.run("r") as run:
        assert asyncio.run(ask()) == ["no A1"]
    [failed] = of_kind(recording, "tool")
    assert (failed.status, failed.status_message) == (2, "no A1")
    told = server.requests[-1].messages[-1]["content"]
    assert "LookupError: no A1" in told
    assert str(Path(playhead.__file__).parent) not in told  # no lines of ours
    requests = len(server.requests)
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert "no A1" in asyncio.run(ask())[0]
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


@pytest.mark.covers("ag2", "errors", "resume")
@pytest.mark.parametrize("arguments", ['{"order": "A1', "[1]", "null"])
def test_a_request_that_is_no_json_object_fails_and_fails_again(
    recording: Recording, server: MockModelServer, arguments: str, caplog: pytest.LogCaptureFixture
):
    server.when(~tool_result_received("look_up"), malformed_tool_call("look_up", arguments))
    server.otherwise(text("sorry"))

    async def ask() -> list[str]:
        try:
            reply = await agent(server, tools=[look_up]).ask("where is A1?")
        except ValueError as error:  # what the framework does if it is no JSON at all
            return [repr(error)]
        return [str(event.error) for event in await reply.history.get_events() if isinstance(event, ToolErrorEvent)]

    with playhead.run("r") as run:
        live = asyncio.run(ask())
    [failed] = of_kind(recording, "tool")
    assert recording.read().value(failed, names.TOOL_ARGUMENTS_REF) == {"arguments": arguments}
    requests = len(server.requests)
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert asyncio.run(ask()) == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert [entry for entry in caplog.records if entry.name == "playhead"] == []


@pytest.mark.covers("ag2", "errors")
async def test_a_refused_model_call_is_an_error_of_the_agent(recording: Recording, server: MockModelServer):
    server.otherwise(context_too_long())
    with pytest.raises(Exception, match="context"):
        await agent(server).ask("where is A1?")
    [root], [refused] = of_kind(recording, "agent"), of_kind(recording, "llm")
    assert (root.status, refused.status) == (2, 2)
    assert refused.attributes[names.ERROR_TYPE].endswith("BadRequestError")


@pytest.mark.covers("ag2", "tools", "resume")
@pytest.mark.parametrize("function", [look_up, pictured, ending])
def test_a_tools_result_comes_back(server: MockModelServer, function: Any):
    server.when(~tool_result_received(function.__name__), tool_call(function.__name__, {"order": "A1"}))
    server.otherwise(text("done"))

    async def ask() -> list[Any]:
        results: list[Any] = []
        stream = MemoryStream()

        async def keep(event: ToolResultEvent) -> None:
            results.append((event.name, event.result, event.result.final))

        stream.where(ToolResultEvent).subscribe(keep)
        reply = await Agent("clerk", config=responses(server), tools=[function]).ask("where is A1?", stream=stream)
        return [*results, reply.body]

    assert len(assert_resumed_is_equal(server, ask)) == 2


def responses(server: MockModelServer) -> OpenAIResponsesConfig:
    return OpenAIResponsesConfig(model="m", api_key="none", base_url=server.base_url)


@pytest.mark.covers("ag2", "tools", "resume")
def test_what_a_tool_changes_in_the_contexts_variables_is_changed_again(server: MockModelServer):
    server.when(~tool_result_received("note"), tool_call("note", {"order": "A1"}))
    server.otherwise(text("done"))

    def note(order: str, ctx: Context) -> str:
        """Note an order."""
        ctx.variables["order"] = order
        ctx.variables["all"].append(order)
        ctx.variables.pop("old")
        return "noted"

    async def ask() -> dict[str, Any]:
        variables: dict[Any, Any] = {"old": 1, "kept": 2, "all": []}
        reply = await agent(server, tools=[note]).ask("note A1", variables=variables)
        return {name: reply.context.variables.get(name) for name in ("order", "all", "old", "kept")}

    assert assert_resumed_is_equal(server, ask) == {"order": "A1", "all": ["A1"], "old": None, "kept": 2}


async def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("observed"), tool_call("observed", {"order": "A1"}))
    server.otherwise(text("done"))

    @observe(kind="tool")
    def observed(order: str) -> str:
        """Is recorded by itself."""
        return f"{order} is there"

    await agent(server, tools=[observed]).ask("where is A1?")
    assert len(of_kind(recording, "tool")) == 1


@pytest.mark.covers("ag2", "fork")
async def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        await agent(server, tools=[look_up]).ask("where is A1?")
    for outcome, sent in (("it is lost", "it is lost"), ({"lost": True}, '{"lost":true}')):
        with playhead.fork(str(run.id), at="look_up", outcome=outcome), playhead.run("r"):
            await agent(server, tools=[look_up]).ask("where is A1?")
        assert server.requests[-1].messages[-1]["content"].replace(" ", "") == sent.replace(" ", "")


@pytest.mark.covers("ag2", "spans", "tools", "resume", "fork")
def test_an_agent_that_is_a_tool_is_inside_the_tools_call(recording: Recording, server: MockModelServer):
    asked_clerk = tool_call("task_clerk", {"objective": "Where is A1?"})
    server.when(tool_offered("task_clerk") & ~tool_result_received("task_clerk"), asked_clerk)
    server.when(tool_offered("look_up") & ~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))

    async def ask() -> str | None:
        clerk = agent(server, tools=[look_up]).as_tool(description="Looks orders up.")
        return (await agent(server, "desk", [clerk]).ask("where is A1?")).body

    assert_resumed_is_equal(server, ask)
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    [asked] = [span for span in of_kind(recording, "tool") if span.attributes[names.TOOL_NAME] == "task_clerk"]
    assert (by_name["clerk"].parent_id, asked.parent_id) == (asked.span_id, by_name["desk"].span_id)
    assert asked.attributes[names.IDEMPOTENT] is True
    with playhead.fork(asked.attributes[names.RUN_ID], at="task_clerk", outcome="it is lost"), playhead.run("r"):
        asyncio.run(ask())
    assert "it is lost" in str(server.requests[-1].messages[-1])


@pytest.mark.covers("ag2", "spans", "resume")
def test_sub_tasks_at_the_same_time_are_agents_of_the_run(recording: Recording, server: MockModelServer):
    server.when(
        tool_offered("run_subtasks") & ~tool_result_received("run_subtasks"),
        tool_call("run_subtasks", {"tasks": ["one", "two"]}),
    )
    server.otherwise(text("done"))

    async def ask() -> str | None:
        return (await agent(server, "desk", tasks=TaskConfig()).ask("both")).body

    assert_resumed_is_equal(server, ask)
    [asked] = of_kind(recording, "tool")
    inside = [span for span in of_kind(recording, "agent") if span.parent_id == asked.span_id]
    assert sorted(recording.read().value(span, names.INPUT_REF)["input"] for span in inside) == ["one", "two"]
    assert asked.attributes[names.IDEMPOTENT] is True


@pytest.mark.covers("ag2", "tools", "resume")
def test_a_handoff_that_a_tool_decides_is_recorded(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("route"), tool_call("route", {}))
    server.otherwise(text("done"))

    def route() -> Handoff:
        """Picks who goes on."""
        return Handoff(target="clerk", reason="knows orders")

    async def ask() -> list[Any]:
        reply = await agent(server, tools=[route]).ask("go")
        events = await reply.history.get_events()
        return [part.data for each in events if isinstance(each, ToolResultEvent) for part in each.result.parts]

    with playhead.run("r") as run:
        live = asyncio.run(ask())
    [handed] = [event for event in recording.read().logs if event.name == names.HANDOFF]
    assert handed.attributes[names.HANDOFF_TO] == "clerk"
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert asyncio.run(ask()) == live
    assert (resumed.report.live, resumed.report.divergences) == (0, [])


@pytest.mark.covers("ag2", "spans", "tools", "resume")
def test_agents_of_a_network_are_agents_of_the_run(recording: Recording, server: MockModelServer):
    delegated = tool_call("delegate", {"target": "clerk", "prompt": "Where is A1?"})
    server.when(~tool_offered("look_up") & ~tool_result_received("delegate"), delegated)
    server.when(tool_offered("look_up") & ~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))

    async def ask() -> str | None:
        hub = await Hub.open(MemoryKnowledgeStore())
        async with HubClient(LocalLink(hub)) as client:
            await client.register(agent(server, tools=[look_up]), Passport(name="clerk"), Resume())
            desk = await client.register(agent(server, "desk"), Passport(name="desk"), Resume())
            return (await desk.agent.ask("where is A1?")).body

    assert assert_resumed_is_equal(server, ask) == "done"
    inside = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    assert inside.keys() == {"desk", "clerk"}
    [looked_up] = [span for span in of_kind(recording, "tool") if span.attributes[names.TOOL_NAME] == "look_up"]
    assert looked_up.parent_id == inside["clerk"].span_id


@pytest.mark.covers("ag2", "reasoning")
async def test_reasoning_is_recorded(recording: Recording, server: MockModelServer):
    server.otherwise(thinking("It must be late.") + text("done"))
    await Agent("clerk", config=responses(server)).ask("where is A1?")
    [asked] = of_kind(recording, "llm")
    assert "It must be late." in str(recording.read().value(asked, names.REASONING_REF))


async def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    server.otherwise(text("done"))
    assert not any(hasattr(function, "_self_wrapper") for function in (Agent._turn_scope, FunctionTool.__call__))
    await agent(server).ask("hello")
    assert recording.read().spans == []
