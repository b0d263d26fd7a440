"""Adapters of managed contexts for agents of frameworks: what they see, keep apart, accept, and never break."""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import openai
import pytest
from agents import Agent as OpenAIAgent
from agents import OpenAIResponsesModel, RunConfig, Runner, set_tracing_disabled
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from playhead.calls import runtime
from playhead.context import (
    AllOf,
    ClearToolResults,
    Compression,
    CompressionStart,
    Entry,
    Keep,
    LlmSummary,
    Messages,
    Plan,
    SlidingWindow,
)
from playhead.context.langchain import CompressionMiddleware, compression_of
from playhead.context.openai_agents import InputFilter, input_filter
from playhead.context.policy import AnyCompression
from playhead.context.pydantic_ai import history_processor
from playhead.models import MockModel, OpenAIModel
from playhead.models.langchain import LangChainModel
from playhead.models.model import ModelRequest
from playhead.testing import MockModelServer, contains
from playhead.testing import text as says

T = TypeVar("T")
LONG_PROMPT = "Be brief. " + "Never be rude. " * 120  # about 450 tokens, in no message that an adapter is given
SUMMARY = "The customer asked, and was answered."
Talk = Callable[[str], Awaitable[str]]
"""Says something in one conversation, and returns the answer."""


@pytest.fixture
def server() -> MockModelServer:
    server = MockModelServer(models=("mock-model",))
    server.when(contains("SUMMARISE"), says(SUMMARY))
    server.otherwise(lambda request: says(f"I heard: {str(request.messages[-1]['content'])[:12]} " + "word " * 30))
    return server


def chat_openai(server: MockModelServer) -> Any:
    options: Any = {"http_client": server.http_client(), "http_async_client": server.async_http_client()}
    options |= {"api_key": "k", "base_url": "http://mock/v1"}
    return ChatOpenAI(model="mock-model", **options)


def openai_client(server: MockModelServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url="http://mock/v1", api_key="k", http_client=server.async_http_client())


def langchain(server: MockModelServer, compression: AnyCompression) -> Callable[[], Talk]:
    model = chat_openai(server)
    agent: Any = create_agent(
        model, [], system_prompt=LONG_PROMPT, middleware=[CompressionMiddleware(compression=compression)]
    )

    def conversation() -> Talk:
        messages: Any = []

        async def talk(said: str) -> str:
            nonlocal messages
            state = await agent.ainvoke({"messages": [*messages, HumanMessage(said)]})
            messages = state["messages"]
            return messages[-1].text

        return talk

    return conversation


def pydantic_ai(server: MockModelServer, compression: AnyCompression) -> Callable[[], Talk]:
    provider = OpenAIProvider(openai_client=openai_client(server))
    agent = PydanticAgent(
        OpenAIChatModel("mock-model", provider=provider),
        instructions=LONG_PROMPT,
        capabilities=[ProcessHistory(history_processor(compression))],
    )

    def conversation() -> Talk:
        history: list[ModelMessage] = []

        async def talk(said: str) -> str:
            nonlocal history
            result = await agent.run(said, message_history=history)
            # As a program does that keeps conversations in a database.
            history = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
            return result.output

        return talk

    return conversation


def openai_agents(server: MockModelServer, compression: AnyCompression) -> Callable[[], Talk]:
    return with_filter(server, input_filter(compression), has_hooks=True)


def with_filter(server: MockModelServer, shorter: InputFilter, *, has_hooks: bool) -> Callable[[], Talk]:
    set_tracing_disabled(True)
    model = OpenAIResponsesModel("mock-model", openai_client(server))
    agent = OpenAIAgent("support", model=model, instructions=LONG_PROMPT)
    config = RunConfig(call_model_input_filter=shorter)

    def conversation() -> Talk:
        items: Any = []

        async def talk(said: str) -> str:
            nonlocal items
            asked = [*items, {"role": "user", "content": said}]
            result = await Runner.run(agent, asked, hooks=shorter.hooks if has_hooks else None, run_config=config)
            items = result.to_input_list()
            return str(result.final_output)

        return talk

    return conversation


ADAPTERS = pytest.mark.parametrize("adapter", [langchain, pydantic_ai, openai_agents])


def summary() -> LlmSummary:
    return LlmSummary(model=MockModel(SUMMARY))


def input_tokens(server: MockModelServer) -> list[str]:
    """What the model was sent, one text for each request."""
    return [str(request.messages) for request in server.requests]


@ADAPTERS
async def test_the_reported_usage_counts(adapter: Any, server: MockModelServer):
    """The messages alone have some 250 tokens in the sixth turn; the system prompt is known by the usage only."""
    begun: list[CompressionStart] = []
    policy = Compression(limit=1_000, keep=Keep(messages=1), strategy=summary(), before=begun.append)
    talk = adapter(server, policy)()
    for turn in range(6):
        await talk(f"turn {turn}")
    assert len(begun) >= 1
    assert begun[0].tokens >= 700


async def test_without_hooks_the_openai_agents_filter_estimates(server: MockModelServer):
    begun: list[CompressionStart] = []
    policy = Compression(limit=1_000, keep=Keep(messages=1), strategy=summary(), before=begun.append)
    talk = with_filter(server, input_filter(policy), has_hooks=False)()
    for turn in range(6):
        await talk(f"turn {turn}")
    assert begun == []


@ADAPTERS
async def test_conversations_that_take_turns_are_kept_apart(adapter: Any, server: MockModelServer):
    def by_rule(request: ModelRequest) -> str:
        asked = str(request.messages)
        return " and ".join(word for word in ("apples", "pears") if word in asked)

    model = MockModel(by_rule)
    policy = Compression(limit=2_000, threshold=Messages(6), keep=Keep(messages=1), strategy=LlmSummary(model=model))
    conversation = adapter(server, policy)
    about = {"apples": conversation(), "pears": conversation()}
    for turn in range(6):
        for word, talk in about.items():
            await talk(f"{word} {turn} " + "please " * 20)
    sent = input_tokens(server)
    summarised = [text for text in sent if "Summary of the conversation so far" in text]
    assert {word for word in about for text in summarised if word in text} == set(about)
    assert [text for text in sent if "apples" in text and "pears" in text] == []
    assert len(model.requests) == 4  # in the fourth turn of each, with seven messages, and in the sixth


@ADAPTERS
async def test_a_policy_that_fails_changes_nothing(adapter: Any, server: MockModelServer):
    def broken(request: ModelRequest) -> str:
        raise ConnectionError("the model is gone")

    policy = Compression(
        limit=1_000, threshold=200, strategy=LlmSummary(model=MockModel(broken)), fallback=None,
        count=lambda message: 1 // 0, preserve=lambda entry: bool(1 // 0),
    )  # fmt: skip
    talk = adapter(server, policy)()
    answers = [await talk(f"turn {turn}") for turn in range(4)]
    assert [answer[:15] for answer in answers] == [f"I heard: turn {turn}" for turn in range(4)]
    assert all(f"turn {turn}" in input_tokens(server)[-1] for turn in range(4))


@ADAPTERS
async def test_a_summary_is_asked_of_an_asynchronous_client(adapter: Any, server: MockModelServer):
    model = OpenAIModel("mock-model", client=openai_client(server))
    strategy = LlmSummary(model=model, prompt="SUMMARISE\n{messages}")
    policy = Compression(limit=2_000, threshold=Messages(6), strategy=strategy, keep=Keep(messages=3), fallback=None)
    talk = adapter(server, policy)()
    for turn in range(4):
        await talk(f"turn {turn} " + "please " * 40)
    assert SUMMARY in input_tokens(server)[-1]


async def test_a_chat_model_of_langchain_that_is_asynchronous_only_writes_summaries(server: MockModelServer):
    options: Any = {"http_async_client": server.async_http_client(), "max_retries": 0}
    model = ChatOpenAI(model="mock-model", api_key="k", base_url="http://mock/v1", **options)  # pyright: ignore[reportArgumentType]
    middleware = CompressionMiddleware(
        model, trigger=("messages", 6), keep=("messages", 3), summary_prompt="SUMMARISE\n{messages}"
    )
    agent: Any = create_agent(model, [], middleware=[middleware])
    state = await agent.ainvoke({"messages": [*chat(3), HumanMessage("and now?")]})
    assert SUMMARY in state["messages"][0].text


@ADAPTERS
async def test_a_window_drops_what_is_before_it(adapter: Any, server: MockModelServer):
    policy = Compression(limit=2_000, threshold=Messages(6), strategy=SlidingWindow(3))
    talk = adapter(server, policy)()
    for turn in range(6):
        await talk(f"turn {turn} " + "please " * 40)
    last = input_tokens(server)[-1]
    assert "'turn 5 " in last
    assert "'turn 1 " not in last
    assert "Summary" not in last


async def test_what_no_adapter_can_read_is_passed_on():
    middleware = CompressionMiddleware(compression=Compression(limit=10))
    odd: Any = {"messages": [object()]}
    assert middleware.before_model(odd, RUNTIME) is None
    messages: Any = [object()]
    context: Any = type("Context", (), {"model": type("Model", (), {"model_name": "m"})})
    assert await history_processor(Compression(limit=10))(context, messages) is messages
    items: Any = [object()]
    agent: Any = type("Agent", (), {"model": "m"})
    data: Any = type(
        "Data", (), {"model_data": type("Given", (), {"input": items, "instructions": "x"}), "agent": agent}
    )
    filtered = await input_filter(Compression(limit=10))(data)
    assert (filtered.input, filtered.instructions) == (items, "x")


# --- LangChain: in the place of SummarizationMiddleware ---------------------------------------------------------------


def chat(turns: int) -> list[Any]:
    """Two rounds of tools in each turn."""
    messages: list[Any] = []
    for turn in range(turns):
        messages.append(HumanMessage(f"question {turn} " + "word " * 20, id=f"q{turn}"))
        for side in "ab":
            call: Any = {"name": "look_up", "args": {"q": side}, "id": f"c{turn}{side}"}
            messages.append(AIMessage("", tool_calls=[call], id=f"c{turn}{side}"))
            messages.append(ToolMessage("found " * 20, tool_call_id=f"c{turn}{side}", id=f"r{turn}{side}"))
        messages.append(AIMessage(f"answer {turn} " + "word " * 20, id=f"a{turn}"))
    return messages


RUNTIME: Any = None


@pytest.mark.parametrize("keep", range(1, 12))
@pytest.mark.parametrize(
    "trigger",
    [
        ("messages", 10),
        ("tokens", 200),
        {"tokens": 100, "messages": 10},
        [("tokens", 100_000), ("messages", 10)],
        ("tokens", 100_000),
        {"tokens": 100, "messages": 1_000},
    ],
    ids=str,
)
def test_it_keeps_what_langchain_s_own_middleware_keeps(trigger: Any, keep: int, server: MockModelServer):
    options: Any = {"trigger": trigger, "keep": ("messages", keep), "summary_prompt": "SUMMARISE\n{messages}"}
    state: Any = {"messages": chat(4)}
    model = chat_openai(server)
    theirs = SummarizationMiddleware(model, **options).before_model(state, RUNTIME)
    ours = CompressionMiddleware(model, **options).before_model(state, RUNTIME)
    assert (ours is None) == (theirs is None)
    if ours is None or theirs is None:
        assert server.requests == []
        return
    (remove, summary, *rest), (their_remove, their_summary, *their_rest) = ours["messages"], theirs["messages"]
    assert remove == their_remove
    assert type(summary) is type(their_summary)
    assert summary.text.endswith(SUMMARY)
    kept, their_kept = [message.id for message in rest], [message.id for message in their_rest]
    if len(their_kept) > keep:  # the border is between a call and its result: theirs keeps more than asked
        their_kept = their_kept[2:]
    assert kept == their_kept
    mine, other = server.requests[1].messages, server.requests[0].messages
    assert [message["role"] for message in mine] == [message["role"] for message in other] == ["user"]


def test_all_arguments_become_a_policy():
    policy = compression_of(
        trigger=[("fraction", 0.8), {"tokens": 4_000, "messages": 10}],
        keep=("fraction", 0.2),
        summary_prompt="Be short.",
        token_counter=lambda messages: sum(7 for _ in messages),
        trim_tokens_to_summarize=500,
    )
    first, second = policy.thresholds
    assert first == 0.8
    assert isinstance(second, AllOf)
    assert second.thresholds == (4_000, Messages(10))
    assert policy.keep == Keep(share=0.2)
    assert policy.strategy == LlmSummary(prompt="Be short.", max_input_tokens=500)
    assert policy.count is not None
    assert policy.count({"role": "user", "parts": [{"type": "text", "content": "hello"}]}) == 7


@pytest.mark.parametrize(
    "wrong",
    [
        {"trigger": ("fraction", 1.5)},
        {"trigger": ("tokens", 0)},
        {"trigger": ("turns", 3)},
        {"trigger": "messages"},
        {"keep": ("turns", 3)},
        {"keep": ("messages", 4), "compression": Compression()},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(wrong: Any):
    with pytest.raises(ValueError, match=r"trigger=|keep=|threshold|CompressionMiddleware takes|at least"):
        CompressionMiddleware(**wrong)


def test_the_window_in_the_model_s_profile_is_the_limit():
    model = ChatOpenAI(model="unheard-of", api_key="k", profile={"max_input_tokens": 400})  # pyright: ignore[reportArgumentType]
    policy = Compression(strategy=SlidingWindow(3))
    state: Any = {"messages": chat(4)}
    changes = CompressionMiddleware(model, compression=policy).before_model(state, RUNTIME)
    assert changes is not None
    assert CompressionMiddleware(compression=policy).before_model(state, RUNTIME) is None  # no window is known


@pytest.fixture
def small_window() -> Iterator[None]:
    """As the setting PLAYHEAD_CONTEXT_WINDOWS says it."""
    before = runtime.current
    runtime.install(replace(before, context_windows={"mock-model": 600}))
    yield
    runtime.install(before)


class NewestOnly:
    """A policy in the place of ours: as soon as there are more than four messages, only two stay."""

    limits: ClassVar[list[int | None]] = []

    def plan(self, entries: Sequence[Entry], tokens: int, limit: int | None) -> Plan | None:
        self.limits.append(limit)
        return Plan.giving(entries, range(len(entries) - 2), "drop") if len(entries) > 4 else None


@pytest.mark.parametrize("policy", [SlidingWindow(2), NewestOnly()], ids=["strategy", "policy"])
@pytest.mark.parametrize("adapter", [langchain, pydantic_ai, openai_agents])
async def test_a_strategy_and_a_policy_of_ones_own_are_taken_too(
    adapter: Callable[..., Any], policy: Any, server: MockModelServer, small_window: None
):
    talk = adapter(server, policy)()
    for turn in range(6):
        await talk(f"turn {turn} " + "please " * 60)
    last = str(server.requests[-1].messages)
    assert "turn 5 " in last
    assert "turn 0 " not in last


def test_a_policy_of_ones_own_gets_the_window_in_the_model_s_profile():
    NewestOnly.limits.clear()
    model = ChatOpenAI(model="unheard-of", api_key="k", profile={"max_input_tokens": 400})  # pyright: ignore[reportArgumentType]
    state: Any = {"messages": chat(4)}
    assert CompressionMiddleware(model, compression=NewestOnly()).before_model(state, RUNTIME) is not None
    assert set(NewestOnly.limits) == {400}


def test_results_are_cleared_in_copies():
    state: Any = {"messages": chat(2)}
    policy = Compression(limit=200, strategy=ClearToolResults(keep=1), fallback=None)
    changes = CompressionMiddleware(compression=policy).before_model(state, RUNTIME)
    assert changes is not None
    results = [message for message in changes["messages"] if isinstance(message, ToolMessage)]
    assert [result.text.startswith("[result cleared:") for result in results] == [True, True, True, False]
    assert [result.id for result in results] == ["r0a", "r0b", "r1a", "r1b"]
    assert all(message.text.startswith("found") for message in state["messages"] if isinstance(message, ToolMessage))


def test_a_summary_in_the_system_prompt_is_a_system_message():
    state: Any = {"messages": chat(3)}
    policy = Compression(limit=300, keep=Keep(messages=2), strategy=summary(), summary_in="system")
    changes = CompressionMiddleware(compression=policy).before_model(state, RUNTIME)
    assert changes is not None
    assert isinstance(changes["messages"][1], SystemMessage)


async def test_a_summary_is_not_streamed_as_an_answer(server: MockModelServer):
    model = chat_openai(server)
    middleware = CompressionMiddleware(
        model, trigger=("messages", 10), keep=("messages", 3), summary_prompt="SUMMARISE\n{messages}"
    )
    agent: Any = create_agent(model, [], middleware=[middleware])
    asked = {"messages": [*chat(3), HumanMessage("and now?")]}
    pieces = [piece async for piece, _ in agent.astream(asked, stream_mode="messages")]
    said = "".join(piece.text for piece in pieces if isinstance(piece, AIMessage))  # chunks, too
    assert SUMMARY in str(server.requests[-1].messages)
    assert said.startswith("I heard: and now?")
    assert SUMMARY not in said


def test_a_chat_model_of_langchain_is_a_model(server: MockModelServer):
    model = LangChainModel(chat_openai(server))
    assert model.name == "mock-model"
    request = ModelRequest([{"role": "user", "parts": [{"type": "text", "content": "hello there"}]}], max_tokens=50)
    answer = model.complete(request)
    assert answer.text.startswith("I heard: hello there")
    assert answer.model == "mock-model"
    assert (answer.usage.input_tokens or 0) > 0
    assert (answer.usage.output_tokens or 0) > 0
    assert (answer.stop_reason, answer.provider_stop_reason) == ("end_turn", "stop")
    assert server.requests[0].body["max_completion_tokens"] == 50


# --- optional ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adapter", "library", "sentence"),
    [
        ("langchain", "langchain", "needs LangChain 1: pip install langchain"),
        ("pydantic_ai", "pydantic_ai", "needs pydantic-ai 2: pip install pydantic-ai-slim"),
        ("openai_agents", "agents", "needs OpenAI Agents: pip install openai-agents"),
    ],
)
def test_without_the_framework_an_adapter_says_what_to_install(adapter: str, library: str, sentence: str):
    code = f"""
import sys
import playhead.context
assert {{"langchain", "langchain_core", "pydantic_ai", "agents"}}.isdisjoint(sys.modules)
sys.modules[{library!r}] = None
import playhead.context.{adapter}
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert f"ImportError: playhead.context.{adapter} {sentence}" in done.stderr
