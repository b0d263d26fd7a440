"""What is recorded of Semantic Kernel: agents, chats, handoffs, functions, prompts, messages; errors and forks."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from openai import AsyncOpenAI
from semantic_kernel import Kernel
from semantic_kernel.agents import (
    AgentGroupChat,
    ChatCompletionAgent,
    ChatHistoryAgentThread,
    HandoffOrchestration,
    OrchestrationHandoffs,
)
from semantic_kernel.agents.runtime import InProcessRuntime
from semantic_kernel.agents.strategies import DefaultTerminationStrategy
from semantic_kernel.connectors.ai import FunctionChoiceBehavior, PromptExecutionSettings
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.contents import ChatHistory, FunctionResultContent
from semantic_kernel.functions import KernelArguments, KernelFunction, kernel_function

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
LOOK_UP = "Orders-look_up"


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


class Orders:
    """Functions, as a plug-in."""

    @kernel_function
    def look_up(self, order: str) -> dict[str, str]:
        """Look an order up."""
        return {"order": order, "status": "delayed"}

    @kernel_function
    def broken(self, order: str) -> str:
        """Fails."""
        raise LookupError(f"no {order}")

    @kernel_function
    @observe(kind="tool")
    def observed(self, order: str) -> str:
        """Is recorded by itself."""
        return f"{order} is there"


class SecondFirst:
    """A plug-in whose call for A1 ends after that for B2."""

    def __init__(self) -> None:
        self._is_done = asyncio.Event()

    @kernel_function
    async def look_up(self, order: str) -> dict[str, str]:
        """Look an order up."""
        if order == "A1":
            await self._is_done.wait()
        self._is_done.set()
        return {"order": order, "status": "delayed"}


def service(server: MockModelServer) -> OpenAIChatCompletion:
    client = AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)
    return OpenAIChatCompletion(ai_model_id="m", async_client=client)


def agent(server: MockModelServer, name: str = "clerk", plugins: Any = (), **more: Any) -> ChatCompletionAgent:
    return ChatCompletionAgent(
        service=service(server), name=name, instructions="be kind", plugins=list(plugins), **more
    )


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


async def results_in(thread: Any) -> list[Any]:
    """The results of functions in a thread, in their order."""
    messages = [message async for message in thread.get_messages()]
    return [item.result for message in messages for item in message.items if isinstance(item, FunctionResultContent)]


@pytest.mark.covers("semantic-kernel", "spans", "messages", "tools", "usage", "resume")
def test_agent_functions_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    called = "SecondFirst-look_up"
    both = tool_calls(tool_call(called, {"order": "A1"}), tool_call(called, {"order": "B2"}))
    server.when(~tool_result_received(called), both)
    server.otherwise(text("it is delayed"))

    async def ask() -> list[Any]:
        response = await agent(server, plugins=[SecondFirst()]).get_response("where is A1?")
        return [str(response.message), *await results_in(response.thread)]

    said, *results = assert_resumed_is_equal(server, ask)
    assert said == "it is delayed"
    assert [result["order"] for result in results] == ["B2", "A1"]  # as they came
    seen = recording.read()
    [of_agent] = [span for span in of_kind(recording, "agent") if span.parent_id]
    assert of_agent.attributes[names.AGENT_NAME] == "clerk"
    assert seen.value(of_agent, names.INPUT_REF) == {"input": "where is A1?"}
    assert seen.value(of_agent, names.OUTPUT_REF) == "it is delayed"
    tools, calls = of_kind(recording, "tool"), of_kind(recording, "llm")
    assert {seen.value(span, names.TOOL_RESULT_REF)["order"] for span in tools} == {"A1", "B2"}
    assert {span.parent_id for span in (*tools, *calls)} == {of_agent.span_id}
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True)
    first = min(calls, key=lambda span: span.attributes[names.CALL_ORDER])
    [asked] = seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    ran = {span.attributes[names.TOOL_CALL_ID]: seen.value(span, names.TOOL_ARGUMENTS_REF) for span in tools}
    assert ran == {part["id"]: part["arguments"] for part in asked["parts"]}


@pytest.mark.covers("semantic-kernel", "streaming", "resume")
@pytest.mark.parametrize("way", ["invoke", "invoke_stream"])
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer, way: str):
    server.when(~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(text("it is delayed"))

    async def ask() -> list[str]:
        items = getattr(agent(server, plugins=[Orders()]), way)("where is A1?")
        return [str(item.message) async for item in items]

    assert "".join(assert_resumed_is_equal(server, ask)) == "it is delayed"
    [of_agent] = [span for span in of_kind(recording, "agent") if span.parent_id]
    assert recording.read().value(of_agent, names.OUTPUT_REF) == "it is delayed"
    assert {span.parent_id for span in (*of_kind(recording, "tool"), *of_kind(recording, "llm"))} == {of_agent.span_id}


@pytest.mark.covers("semantic-kernel", "streaming")
async def test_a_stream_that_is_left_early_ends_its_agent(recording: Recording, server: MockModelServer):
    server.otherwise(text("it is delayed"))
    items = agent(server).invoke_stream("where is A1?")
    await anext(items)
    assert playhead.current_run_id() is None
    await items.aclose()
    [root] = of_kind(recording, "agent")
    assert root.attributes[names.OUTCOME] == "aborted"


async def test_the_thread_of_an_agent_is_the_session_of_its_run(recording: Recording, server: MockModelServer):
    server.otherwise(text("done"))
    await agent(server).get_response("hello", thread=ChatHistoryAgentThread(thread_id="t1"))
    [root] = of_kind(recording, "agent")
    assert root.attributes[names.CONVERSATION] == "t1"


@pytest.mark.covers("semantic-kernel", "errors", "resume")
def test_a_function_that_fails_is_an_error_and_fails_again(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("Orders-broken"), tool_call("Orders-broken", {"order": "A1"}))
    server.otherwise(text("sorry"))

    async def ask() -> list[Any]:
        response = await agent(server, plugins=[Orders()]).get_response("where is A1?")
        return await results_in(response.thread)

    assert "no A1" in assert_resumed_is_equal(server, ask)[0]
    [failed] = of_kind(recording, "tool")
    assert (failed.status, failed.status_message) == (2, "no A1")


@pytest.mark.covers("semantic-kernel", "errors")
async def test_a_refused_model_call_is_an_error_of_the_agent(recording: Recording, server: MockModelServer):
    server.otherwise(context_too_long())
    with pytest.raises(Exception, match="context"):
        await agent(server).get_response("where is A1?")
    [root], [refused] = of_kind(recording, "agent"), of_kind(recording, "llm")
    assert (root.status, refused.status) == (2, 2)
    assert refused.attributes[names.ERROR_TYPE].endswith("BadRequestError")


async def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("Orders-observed"), tool_call("Orders-observed", {"order": "A1"}))
    server.otherwise(text("done"))
    await agent(server, plugins=[Orders()]).get_response("where is A1?")
    assert len(of_kind(recording, "tool")) == 1


@pytest.mark.covers("semantic-kernel", "fork")
async def test_a_fork_gives_a_function_another_result(server: MockModelServer):
    server.when(~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        await agent(server, plugins=[Orders()]).get_response("where is A1?")
    with playhead.fork(str(run.id), at=LOOK_UP, outcome="it is lost"), playhead.run("r"):
        await agent(server, plugins=[Orders()]).get_response("where is A1?")
    assert server.requests[-1].messages[-1]["content"] == "it is lost"


@pytest.mark.covers("semantic-kernel", "spans", "tools", "resume", "fork")
def test_an_agent_that_is_a_function_is_inside_its_call(recording: Recording, server: MockModelServer):
    called = "clerk-clerk"
    server.when(tool_offered(called) & ~tool_result_received(called), tool_call(called, {"messages": "Where is A1?"}))
    server.when(tool_offered(LOOK_UP) & ~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(text("done"))

    async def ask() -> str:
        desk = agent(server, "desk", [agent(server, plugins=[Orders()])])
        return str((await desk.get_response("where is A1?")).message)

    assert_resumed_is_equal(server, ask)
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    [asked] = [span for span in of_kind(recording, "tool") if span.attributes[names.TOOL_NAME] == called]
    assert (by_name["clerk"].parent_id, asked.parent_id) == (asked.span_id, by_name["desk"].span_id)
    assert asked.attributes[names.IDEMPOTENT] is True
    with playhead.fork(asked.attributes[names.RUN_ID], at=called, outcome="it is lost"), playhead.run("r"):
        asyncio.run(ask())
    assert "it is lost" in str(server.requests[-1].messages[-1])


@pytest.mark.covers("semantic-kernel", "spans", "resume")
@pytest.mark.parametrize("way", ["invoke", "invoke_stream"])
def test_agents_of_a_group_chat_are_agents_of_one_run(recording: Recording, server: MockModelServer, way: str):
    server.otherwise(text("done"))

    async def ask() -> list[str]:
        chat = AgentGroupChat(
            agents=[agent(server, "left"), agent(server, "right")],
            termination_strategy=DefaultTerminationStrategy(maximum_iterations=2),
        )
        await chat.add_chat_message("go")
        return [str(message) async for message in getattr(chat, way)()]

    assert "".join(assert_resumed_is_equal(server, ask)) == "donedone"
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    assert {by_name[name].parent_id for name in ("left", "right")} == {by_name["AgentGroupChat"].span_id}


@pytest.mark.covers("semantic-kernel", "spans", "resume")
def test_agents_that_hand_over_are_agents_of_the_run(recording: Recording, server: MockModelServer):
    server.when(
        tool_offered("Handoff-transfer_to_clerk") & ~tool_offered(LOOK_UP), tool_call("Handoff-transfer_to_clerk", {})
    )
    server.when(~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(tool_call("Handoff-complete_task", {"task_summary": "it is delayed"}))

    async def ask() -> str:
        desk, clerk = agent(server, "desk"), agent(server, "clerk", [Orders()])
        handoffs = OrchestrationHandoffs().add(desk, clerk, description="knows orders")
        runtime = InProcessRuntime()
        runtime.start()
        team = HandoffOrchestration(members=[desk, clerk], handoffs=handoffs)
        result = await team.invoke("where is A1?", runtime)
        said = str(await result.get())
        await runtime.stop_when_idle()
        return said

    assert "it is delayed" in assert_resumed_is_equal(server, ask)
    inside = [span for span in of_kind(recording, "agent") if span.parent_id]
    assert {span.attributes[names.AGENT_NAME] for span in inside} == {"desk", "clerk"}
    [looked_up] = of_kind(recording, "tool")
    assert looked_up.attributes[names.TOOL_NAME] == LOOK_UP
    [handed] = [event for event in recording.read().logs if event.name == names.HANDOFF]
    assert handed.attributes[names.HANDOFF_TO] == "clerk"


def kernel(server: MockModelServer) -> Kernel:
    made = Kernel(services=[service(server)])
    made.add_plugin(Orders(), plugin_name="Orders")
    return made


@pytest.mark.covers("semantic-kernel", "spans", "tools", "resume")
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_prompt_that_calls_functions_is_a_run(recording: Recording, server: MockModelServer, is_streamed: bool):
    server.when(~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    settings = PromptExecutionSettings(function_choice_behavior=FunctionChoiceBehavior.Auto())

    async def ask() -> str:
        arguments = KernelArguments(settings=settings, order="A1")
        how: Any = {"prompt": "Where is {{$order}}?", "arguments": arguments, "plugin_name": "p", "function_name": "f"}
        if is_streamed:
            return "".join([str(each[0]) async for each in kernel(server).invoke_prompt_stream(**how)])
        return str(await kernel(server).invoke_prompt(**how))

    assert asyncio.run(ask()) == "it is delayed"
    [root] = of_kind(recording, "agent")
    assert recording.read().value(root, names.OUTPUT_REF) == "it is delayed"
    assert {span.parent_id for span in (*of_kind(recording, "tool"), *of_kind(recording, "llm"))} == {root.span_id}
    assert_resumed_is_equal(server, ask)


@pytest.mark.covers("semantic-kernel", "spans", "tools")
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_service_that_calls_functions_is_a_run(
    recording: Recording, server: MockModelServer, is_streamed: bool
):
    server.when(~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    chat = service(server)
    settings = chat.get_prompt_execution_settings_class()(function_choice_behavior=FunctionChoiceBehavior.Auto())
    history = ChatHistory()
    history.add_user_message("where is A1?")
    if is_streamed:
        chunks = chat.get_streaming_chat_message_contents(history, settings, kernel=kernel(server))
        said = "".join([str(each[0]) async for each in chunks if each and each[0].content])
    else:
        said = str(await chat.get_chat_message_content(history, settings, kernel=kernel(server)))
    assert said == "it is delayed"
    [root] = of_kind(recording, "agent")
    assert recording.read().value(root, names.INPUT_REF) == {"input": "where is A1?"}
    assert recording.read().value(root, names.OUTPUT_REF) == "it is delayed"
    assert {span.parent_id for span in (*of_kind(recording, "tool"), *of_kind(recording, "llm"))} == {root.span_id}


def test_a_function_that_the_program_calls_comes_back(recording: Recording, server: MockModelServer):
    async def ask() -> Any:
        result = await kernel(server).invoke(plugin_name="Orders", function_name="look_up", order="A1")
        return result.value if result else None

    assert assert_resumed_is_equal(server, ask) == {"order": "A1", "status": "delayed"}
    assert [span.attributes[names.TOOL_NAME] for span in of_kind(recording, "tool")] == [LOOK_UP]


@pytest.mark.covers("semantic-kernel", "reasoning")
async def test_reasoning_is_recorded(recording: Recording, server: MockModelServer):
    server.otherwise(thinking("It must be late.") + text("done"))
    await agent(server).get_response("where is A1?")
    [asked] = of_kind(recording, "llm")
    assert "It must be late." in str(recording.read().value(asked, names.REASONING_REF))


async def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    server.otherwise(text("done"))
    wrapped = (ChatCompletionAgent.get_response, KernelFunction.invoke, AgentGroupChat.invoke)
    assert not any(hasattr(function, "_self_wrapper") for function in wrapped)
    await agent(server).get_response("hello")
    assert recording.read().spans == []
