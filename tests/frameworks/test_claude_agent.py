"""What is recorded of the Claude Agent SDK: the real Claude Code, as a process, asks the mock model server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    ThinkingBlock,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk._internal.client import InternalClient

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, contains, pytest_plugin, text, thinking, tool_call, tool_result_received
from tests.support.journal_reader import Journaled, Recording, kind, start_recording

server = pytest_plugin.mock_model_server
LOOK_UP = "mcp__shop__look_up"


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


class Shop:
    """The program's own tools, and how often they ran."""

    def __init__(self) -> None:
        self.looked_up: list[str] = []

        @observe(kind="step")
        def database(order: str) -> str:
            self.looked_up.append(order)
            return f"{order} is late"

        @tool("look_up", "Looks an order up", {"order": str})
        async def look_up(given: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": database(given["order"])}]}

        @tool("broken", "Fails", {"order": str})
        async def broken(given: dict[str, Any]) -> dict[str, Any]:
            raise LookupError(f"no {given['order']}")

        @tool("observed", "Is recorded by itself", {"order": str})
        @observe(kind="tool")
        async def observed(given: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": "it is there"}]}

        self.server = create_sdk_mcp_server("shop", tools=[look_up, broken, observed])


def options(server: MockModelServer, folder: Path, shop: Shop | None = None, **more: Any) -> ClaudeAgentOptions:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home)}
    servers: Any = {"shop": (shop or Shop()).server}
    how: dict[str, Any] = {"tools": [], "allowed_tools": ["mcp__shop"], "system_prompt": "Be kind.", **more}
    return ClaudeAgentOptions(
        mcp_servers=servers, model="claude-sonnet-4-5", setting_sources=[], cwd=str(folder), env=env, **how
    )


async def ask(options: ClaudeAgentOptions, prompt: Any = "Where is A1?") -> list[Any]:
    return [message async for message in query(prompt=prompt, options=options)]


def of_kind(seen: Journaled, wanted: str) -> list[Span]:
    found = [span for span in seen.spans if kind(span) == wanted]
    return sorted(found, key=lambda span: span.attributes[names.CALL_ORDER])


def texts_of(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content if block["type"] == "text"]


def said_in(request: Any) -> str:
    """All texts of a request's body, with the ids of calls and results."""
    return str(request.body)


def assert_context_is_in_what_the_server_got(seen: Journaled, server: MockModelServer) -> None:
    """What is recorded of a context was sent; what Claude Code adds besides is `playhead.elsewhere`."""
    for call, request in zip(of_kind(seen, "llm"), server.requests, strict=True):
        system, *messages = seen.messages(call.attributes[names.INPUT_MESSAGES_REF])
        assert [part["type"] for part in system["parts"]] == ["text", "playhead.elsewhere"]
        sent = [message for message in request.messages if message["role"] != "system"]
        roles = [message["role"] for message in messages]
        assert roles == [message["role"] for message in sent]
        for message, native in zip(messages, sent, strict=True):
            for part in message["parts"]:
                assert str(part.get("content", part.get("id"))) in str(native)


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "spans", "messages", "tools", "usage")
async def test_agent_model_calls_and_tools_are_recorded(recording: Recording, server: MockModelServer, tmp_path: Path):
    server.when(~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(text("it is late"))
    *_, result = await ask(options(server, tmp_path))
    assert (result.result, len(server.requests)) == ("it is late", 2)
    seen = recording.read()
    [root], [called], calls = of_kind(seen, "agent"), of_kind(seen, "tool"), of_kind(seen, "llm")
    assert seen.value(root, names.INPUT_REF) == {"input": "Where is A1?"}
    assert seen.value(root, names.OUTPUT_REF) == "it is late"
    assert root.attributes[names.CONVERSATION] == result.session_id
    assert root.attributes[names.REPORTED_COST] == result.total_cost_usd
    assert {span.parent_id for span in (called, *calls)} == {root.span_id}
    assert called.attributes[names.TOOL_NAME] == LOOK_UP
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"order": "A1"}
    assert seen.value(called, names.TOOL_RESULT_REF)["content"] == [{"type": "text", "text": "A1 is late"}]
    [inside] = seen.calls("database")
    assert inside.parent_id == called.span_id
    [asked] = seen.messages(calls[0].attributes[names.OUTPUT_MESSAGES_REF])
    assert [part["id"] for part in asked["parts"]] == [called.attributes[names.TOOL_CALL_ID]]
    assert_context_is_in_what_the_server_got(seen, server)
    told = result.usage
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert sum(call.attributes[names.INPUT_TOKENS] for call in calls) == sum(told[name] for name in read)
    assert sum(call.attributes.get(names.OUTPUT_TOKENS, 0) for call in calls) == told["output_tokens"]


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "reasoning")
async def test_thinking_is_recorded_as_reasoning(recording: Recording, server: MockModelServer, tmp_path: Path):
    server.otherwise(thinking("A1 left late.") + text("it is late"))
    messages = await ask(options(server, tmp_path, max_thinking_tokens=2_000))
    blocks = [block for message in messages if isinstance(message, AssistantMessage) for block in message.content]
    [thought] = [block for block in blocks if isinstance(block, ThinkingBlock)]
    seen = recording.read()
    [call] = of_kind(seen, "llm")
    assert seen.value(call, names.REASONING_REF) == thought.thinking == "A1 left late."
    [answer] = seen.messages(call.attributes[names.OUTPUT_MESSAGES_REF])
    assert [(part["type"], part["content"]) for part in answer["parts"]] == [
        ("reasoning", "A1 left late."),
        ("text", "it is late"),
    ]
    assert thought.signature
    assert answer["parts"][0]["extra"] == {"signature": thought.signature}


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "spans", "messages", "streaming")
async def test_each_prompt_to_a_client_is_a_run_of_one_session(
    recording: Recording, server: MockModelServer, tmp_path: Path
):
    server.when(~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(text("it is late"))

    async def prompts() -> Any:
        yield {"type": "user", "message": {"role": "user", "content": "And now?"}}

    async with ClaudeSDKClient(options(server, tmp_path)) as client:
        for prompt in ("Where is A1?", prompts()):
            await client.query(prompt)
            *_, last = [message async for message in client.receive_response()]
            assert isinstance(last, ResultMessage)
    seen = recording.read()
    turns = of_kind(seen, "agent")
    assert [seen.value(turn, names.INPUT_REF)["input"] for turn in turns] == ["Where is A1?", "And now?"]
    assert len({turn.attributes[names.RUN_ID] for turn in turns}) == 2
    assert len({turn.attributes[names.CONVERSATION] for turn in turns}) == 1
    [called] = of_kind(seen, "tool")
    assert called.parent_id == turns[0].span_id
    order = {turn.span_id: number for number, turn in enumerate(turns)}
    seen.spans.sort(key=lambda span: (order.get(str(span.parent_id), 0), span.attributes[names.CALL_ORDER]))
    calls = [span for span in seen.spans if kind(span) == "llm"]
    assert [call.parent_id for call in calls] == [turns[0].span_id] * 2 + [turns[1].span_id]
    for call, request in zip(calls, server.requests, strict=True):
        roles = [message["role"] for message in seen.messages(call.attributes[names.INPUT_MESSAGES_REF])]
        assert roles == [message["role"] for message in request.messages]


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "tools", "errors")
async def test_tools_of_claude_code_and_failing_ones_are_recorded(
    recording: Recording, server: MockModelServer, tmp_path: Path
):
    (tmp_path / "orders.txt").write_text("A1 is late")
    server.when(~tool_result_received("Read"), tool_call("Read", {"file_path": str(tmp_path / "orders.txt")}))
    server.when(~tool_result_received("mcp__shop__broken"), tool_call("mcp__shop__broken", {"order": "A1"}))
    server.when(~tool_result_received("mcp__shop__observed"), tool_call("mcp__shop__observed", {"order": "A1"}))
    server.otherwise(text("done"))
    await ask(options(server, tmp_path, tools=["Read"]))
    seen = recording.read()
    read, broken, observed = of_kind(seen, "tool")
    assert [span.attributes[names.TOOL_NAME] for span in (read, broken)] == ["Read", "mcp__shop__broken"]
    assert observed.attributes[names.TOOL_NAME].endswith("observed")
    assert "A1 is late" in str(seen.value(read, names.TOOL_RESULT_REF))
    assert (read.status, broken.status) == (0, 2)
    assert "no A1" in broken.status_message


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "tools", "resume", "fork")
async def test_tools_of_the_program_are_answered_from_the_record(server: MockModelServer, tmp_path: Path):
    shop = Shop()
    server.when(~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.otherwise(text("it is late"))
    with playhead.run("r") as run:
        await ask(options(server, tmp_path, shop))
    with playhead.resume(run.id, completed="rerun"), playhead.run("r"):
        messages = await ask(options(server, tmp_path, shop))
    assert messages[-1].result == "it is late"
    assert (shop.looked_up, len(server.requests)) == (["A1"], 4)  # the model is asked again: see the docs
    assert _results(messages) == ["A1 is late"]
    with playhead.fork(run.id, at=LOOK_UP, outcome="it is lost"), playhead.run("r"):
        messages = await ask(options(server, tmp_path, shop))
    assert (shop.looked_up, _results(messages)) == (["A1"], ["it is lost"])


def _results(messages: list[Any]) -> list[str]:
    found: list[str] = []
    for message in messages:
        for block in message.content if isinstance(message, UserMessage) else ():
            if isinstance(block, ToolResultBlock):
                found += texts_of(block.content)
    return found


def test_uninstrumented_it_is_as_it_was():
    assert hasattr(ClaudeSDKClient.query, "_self_wrapper")
    playhead.uninstrument()
    assert not hasattr(ClaudeSDKClient.query, "_self_wrapper")
    assert not hasattr(InternalClient.process_query, "_self_wrapper")


@pytest.mark.slow
@pytest.mark.covers("claude-agent", "spans", "tools")
async def test_an_agent_that_claude_code_starts_is_inside_the_call_that_starts_it(
    recording: Recording, server: MockModelServer, tmp_path: Path
):
    """It asks its model and calls its tools in Claude Code's process: its answers come with the id of that call."""
    start = {"subagent_type": "scout", "description": "find A1", "prompt": "Find A1.", "run_in_background": False}
    server.when(contains("You are a SCOUT") & ~tool_result_received(LOOK_UP), tool_call(LOOK_UP, {"order": "A1"}))
    server.when(contains("You are a SCOUT"), text("A1 is on its way"))
    server.when(~tool_result_received("Agent"), tool_call("Agent", start))
    server.otherwise(text("it is late"))
    scout = AgentDefinition(description="Finds orders", prompt="You are a SCOUT.", tools=[LOOK_UP])
    how = options(server, tmp_path, tools=["Agent"], allowed_tools=["mcp__shop", "Agent"], agents={"scout": scout})
    *_, result = await ask(how)
    assert result.result == "it is late"
    seen = recording.read()
    by_id = {span.span_id: span for span in seen.spans}
    [root, inner] = of_kind(seen, "agent")
    [started, looked_up] = of_kind(seen, "tool")
    assert (started.attributes[names.TOOL_NAME], inner.attributes[names.AGENT_NAME]) == ("Agent", "scout")
    assert by_id[str(started.parent_id)] is root
    assert by_id[str(inner.parent_id)] is started
    assert looked_up.attributes[names.TOOL_NAME] == LOOK_UP
    # Claude Code does not say for which agent it asks for a tool of the program.
    assert by_id[str(looked_up.parent_id)] is root
    assert "A1 is on its way" in str(seen.value(inner, names.OUTPUT_REF))
    # The last answer of such an agent comes as the result of the call that started it, and as no message.
    assert sorted(by_id[str(call.parent_id)].name for call in of_kind(seen, "llm")) == [
        root.name,
        root.name,
        inner.name,
    ]
    assert len(server.requests) == 4
