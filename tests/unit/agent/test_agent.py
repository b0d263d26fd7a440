"""The agent's loop, with a model that is a function: what it asks, what it executes, and what is recorded."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import BaseModel

import playhead
from playhead.agent.agent_context import AgentContext
from playhead.agent.results import Ask
from playhead.agent.streams import AnswerArrived, TextDelta, ToolEnded, ToolStarted
from playhead.context import Compression, Keep, LlmSummary, SlidingWindow
from playhead.errors import MaxTurnsExceeded, OutputInvalid
from playhead.model.event import LlmCalled, OrchestrationDecision, RunStarted, TokenUsage
from playhead.models import ContextTooLong, MockModel, ModelRequest, ModelResponse, mock_answer, portable
from playhead.models.api_requests import anthropic_arguments, chat_arguments, gemini_arguments, instructed
from playhead.testing.recorder import RunRecorder


@playhead.tool(writes=False)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@playhead.tool(writes=True)
def save(name: str) -> str:
    """Saves a file."""
    return f"saved {name}"


def answers(*script: str | ModelResponse | Exception) -> MockModel:
    """A model that gives these answers one after the other."""
    left = list(script)
    return MockModel(lambda _: left.pop(0), name="gpt-4o")


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> ModelResponse:
    return mock_answer(text, calls=[(f"c{at}", tool, arguments) for at, (tool, arguments) in enumerate(calls)])


def roles(request: ModelRequest) -> list[str]:
    return [message["role"] for message in request.messages]


def tool_texts(request: ModelRequest) -> list[str]:
    return [message["parts"][0]["response"] for message in request.messages if message["role"] == "tool"]


def test_tools_are_executed_until_the_model_asks_for_none(playhead_recorder: RunRecorder):
    usage = TokenUsage(1_000, 100)
    model = answers(
        mock_answer(calls=[("c1", "add", {"a": 1, "b": 2})], usage=usage, model="gpt-4o"),
        mock_answer("It is 3.", usage=usage, model="gpt-4o"),
    )
    agent = playhead.Agent(name="adder", instructions="You add.", model=model, tools=[add])
    out = agent.run_sync("1 + 2?", session="s-1")
    assert (out.response, out.output, out.turns) == ("It is 3.", "It is 3.", 2)
    assert [(call.name, call.arguments, call.result) for call in out.tool_calls] == [("add", {"a": 1, "b": 2}, "3")]
    assert (out.usage.total, out.cost) == (2_200, pytest.approx(2 * (1_000 * 2.5 + 100 * 10) / 1e6))
    assert roles(model.requests[1]) == ["system", "user", "assistant", "tool"]
    assert [tool.name for tool in model.requests[0].tools] == ["add"]
    run = playhead_recorder.last
    assert (run.id, run.name) == (out.run, "adder")
    assert [event.turn for event in run.events if isinstance(event, LlmCalled)] == [1, 2]
    assert run.input == "1 + 2?"
    assert run.output == "It is 3."
    run.assert_tool_calls([("add", {"a": 1, "b": 2})])
    [begun] = [event for event in run.events if isinstance(event, RunStarted)]
    assert begun.session == "s-1"


def test_an_unknown_price_and_unreported_tokens_are_not_zero(playhead_recorder: RunRecorder):
    out = playhead.Agent(model=answers(mock_answer("Hello", model="nobody-knows"))).run_sync("Hi")
    assert (out.cost, out.usage.total) == (None, None)


def test_results_stand_in_the_order_in_which_the_model_asked(playhead_recorder: RunRecorder):
    gate = asyncio.Event

    @playhead.tool
    async def first() -> str:
        await done.wait()
        return "first"

    @playhead.tool
    async def second() -> str:
        done.set()
        return "second"

    model = answers(calling(("first", {}), ("second", {})), "Done.")
    agent = playhead.Agent[None](model=model, tools=[first, second])

    @agent.execute
    async def side_by_side(ctx: AgentContext[None], ask: Ask) -> str:
        ctx.add("user", ask.prompt)
        while True:
            answer = await ctx.call()
            await asyncio.gather(*(ctx.execute(call) for call in answer.tool_calls))
            if answer.done:
                return answer.text

    async def main() -> Any:
        nonlocal done
        done = gate()
        return await agent.run("Go")

    done: Any = None
    out = asyncio.run(main())
    assert out.response == "Done."
    assert [call.name for call in out.tool_calls] == ["second", "first"]  # as they ended
    assert tool_texts(model.requests[1]) == ["first", "second"]


def test_a_call_that_the_loop_leaves_out_gets_a_result_all_the_same(playhead_recorder: RunRecorder):
    model = answers(calling(("add", {"a": 1, "b": 1}), ("save", {"name": "x"})), "Done.")
    agent = playhead.Agent[None](model=model, tools=[add, save])

    @agent.execute
    async def only_the_first(ctx: AgentContext[None], ask: Ask) -> str:
        ctx.add("user", ask.prompt)
        await ctx.execute((await ctx.call()).tool_calls[0])
        return (await ctx.call()).text

    agent.run_sync("Go")
    assert tool_texts(model.requests[1]) == ["2", "This call was not executed."]


def test_errors_of_tools_go_to_the_model(playhead_recorder: RunRecorder):
    @playhead.tool
    def divide(a: int, b: int) -> float:
        return a / b

    model = answers(
        calling(("divide", {"a": 1, "b": 0}), ("divide", {"a": "x", "b": 1}), ("multiply", {}), ("divide", {})), "Oh."
    )
    broken = calling(("divide", {}))
    broken.message["parts"][0]["arguments"] = '{"a": 1,'
    out = playhead.Agent(model=answers(broken, "Oh."), tools=[divide]).run_sync("Go")
    assert "no JSON object" in out.tool_calls[0].result
    out = playhead.Agent(model=model, tools=[divide]).run_sync("Go")
    assert out.response == "Oh."
    assert tool_texts(model.requests[1]) == [
        "Error: ZeroDivisionError: division by zero",
        "Error: ToolArgumentsInvalid: a: Input should be a valid integer, unable to parse string as an integer "
        "(given: 'x')",
        "Error: there is no tool 'multiply'; the tools are divide.",
        "Error: ToolArgumentsInvalid: a: Field required (given: {})\nb: Field required (given: {})",
    ]
    assert all(call.is_error for call in out.tool_calls)
    errors = [call.error.type for call in playhead_recorder.last.tool_calls if call.error]
    assert errors[0] == "ZeroDivisionError"
    assert len(errors) == 3


def test_too_many_turns_are_refused(playhead_recorder: RunRecorder):
    model = MockModel(lambda _: calling(("add", {"a": 1, "b": 1})))
    with pytest.raises(MaxTurnsExceeded, match="has made 3 model calls"):
        playhead.Agent(model=model, tools=[add], max_turns=3).run_sync("Go")
    assert len(model.requests) == 3
    assert playhead_recorder.last.status == "failed"


# --- deps, instructions ------------------------------------------------------------------------------------------


@dataclass
class Deps:
    user: str


@playhead.tool
def whoami(ctx: AgentContext[Deps]) -> str:
    """Says who the user is."""
    return ctx.deps.user


def test_deps_reach_tools_and_instructions(playhead_recorder: RunRecorder):
    model = answers(calling(("whoami", {})), "You are Ann.")
    agent = playhead.Agent[Deps](model=model, tools=[whoami], instructions=lambda ctx: f"You help {ctx.deps.user}.")
    out = agent.run_sync("Who am I?", deps=Deps("Ann"))
    assert out.tool_calls[0].result == "Ann"
    assert model.requests[0].messages[0]["parts"][0]["content"] == "You help Ann."
    assert playhead_recorder.last.tool_calls[0].arguments == {}


def test_instructions_may_change_from_call_to_call(playhead_recorder: RunRecorder):
    class Sections:
        def render(self, *, message: str, tools: Any) -> str:
            return f"{message}: {', '.join(tools) or 'nothing yet'}"

    model = answers(calling(("add", {"a": 1, "b": 1})), "2")
    playhead.Agent(model=model, tools=[add], instructions=Sections()).run_sync("Sum")
    systems = [request.messages[0]["parts"][0]["content"] for request in model.requests]
    assert systems == ["Sum: nothing yet", "Sum: add"]
    assert roles(model.requests[1]).count("system") == 1


def test_an_ask_begins_with_what_was_said_before(playhead_recorder: RunRecorder):
    model = answers("Ann.")
    earlier: Any = [{"role": "user", "content": "I am Ann."}, {"role": "assistant", "content": "Hello Ann."}]
    playhead.Agent(model=model).run_sync(Ask("Who am I?", messages=earlier))
    assert roles(model.requests[0]) == ["user", "assistant", "user"]


# --- output -----------------------------------------------------------------------------------------------------


class Verdict(BaseModel):
    guilty: bool
    years: int = 0


def test_the_answer_has_the_type_that_was_asked_for(playhead_recorder: RunRecorder):
    model = answers(calling(("add", {"a": 1, "b": 2})), '```json\n{"guilty": true, "years": 3}\n```')
    out = playhead.Agent(model=model, tools=[add], output=Verdict).run_sync("Guilty?")
    assert out.output == Verdict(guilty=True, years=3)
    assert model.requests[0].output is not None
    assert playhead_recorder.last.output == {"guilty": True, "years": 3}


def test_an_answer_of_another_type_is_asked_for_again_with_the_error(playhead_recorder: RunRecorder):
    model = answers("Yes!", '{"guilty": "perhaps"}', '{"guilty": false}')
    out = playhead.Agent(model=model, output=Verdict).run_sync("Guilty?")
    assert out.output == Verdict(guilty=False)
    said = [request.messages[-1]["parts"][0]["content"] for request in model.requests]
    assert "the answer is no JSON" in said[1]
    assert "guilty: Input should be a valid boolean" in said[2]
    with pytest.raises(OutputInvalid, match="no JSON"):
        playhead.Agent(model=answers("a", "b", "c"), output=Verdict).run_sync("Guilty?")


@pytest.mark.parametrize(("given", "output"), [('{"result": null}', None), ('{"result": {"guilty": true}}', Verdict)])
def test_an_output_may_be_of_any_type(given: str, output: Any, playhead_recorder: RunRecorder):
    out = playhead.Agent(model=answers(given), output=Verdict | None).run_sync("Guilty?")
    assert (out.output is None) == (output is None)


# --- approval ---------------------------------------------------------------------------------------------------


def test_what_writes_is_approved_first(playhead_recorder: RunRecorder):
    playhead_recorder.approve("save", details={"name": "a"})
    playhead_recorder.deny("save", details={"name": "b"}, by="ann", reason="not that one")
    model = answers(calling(("add", {"a": 1, "b": 1}), ("save", {"name": "a"}), ("save", {"name": "b"})), "Done.")
    out = playhead.Agent(model=model, tools=[add, save], approval="writes").run_sync("Go")
    assert [call.result for call in out.tool_calls[:2]] == ["2", "saved a"]
    assert out.tool_calls[2].is_error
    assert "Denied: ann has denied 'run save': not that one" in out.tool_calls[2].result
    kinds = [event.kind for event in playhead_recorder.last.events if event.kind.startswith("approval")]
    assert kinds == ["approval_requested", "approval_granted", "approval_requested", "approval_denied"]


def test_a_tools_own_rule_counts_and_asks_once(playhead_recorder: RunRecorder):
    @playhead.tool(approval="always")
    def look(at: str) -> str:
        return at

    playhead_recorder.approve("look", times=1)
    out = playhead.Agent(model=answers(calling(("look", {"at": "x"})), "Ok."), tools=[look], approval="none").run_sync(
        "?"
    )
    assert out.tool_calls[0].result == "x"
    requested = [event for event in playhead_recorder.last.events if event.kind == "approval_requested"]
    assert len(requested) == 1


# --- which model ------------------------------------------------------------------------------------------------


def decisions(recorder: RunRecorder) -> list[dict[str, Any]]:
    run = recorder.last
    return [run.content(event.annotation) for event in run.events if isinstance(event, OrchestrationDecision)]


def test_another_model_for_a_call_a_phase_and_a_result(playhead_recorder: RunRecorder):
    normal = answers(calling(("add", {"a": 1, "b": 1}), ("save", {"name": "x"})))
    large = MockModel(lambda _: calling(("add", {"a": 2, "b": 2})), name="large")
    reader = MockModel("read", name="reader")
    agent = playhead.Agent[None](
        name="chooser", model=normal, tools=[add, save], tool_models={"save": reader}, max_turns=9
    )

    @agent.execute
    async def loop(ctx: AgentContext[None], ask: Ask) -> str:
        ctx.add("user", ask.prompt)
        first = await ctx.call()
        for call in first.tool_calls:
            await ctx.execute(call)
        await ctx.call()  # the reader of what save returned
        with ctx.model(large, reason="the hard part"):
            second = await ctx.call()
            await ctx.execute(second.tool_calls[0], model=reader)
            await ctx.call()
        return (await ctx.call(model=reader)).text

    assert agent.run_sync("Go").turns == 5
    assert [
        (choice["decision"], choice["reason"], choice["alternatives"]) for choice in decisions(playhead_recorder)
    ] == [
        ("reader", "reads the result of save", ["gpt-4o"]),
        ("large", "the hard part", ["gpt-4o"]),
        ("reader", "reads the result of add", ["gpt-4o"]),
        ("reader", "chosen for this call", ["gpt-4o"]),
    ]
    assert (len(normal.requests), len(large.requests), len(reader.requests)) == (1, 1, 3)
    run = playhead_recorder.last
    places = [event.kind for event in run.events if event.kind in ("orchestration_decision", "llm_called")]
    assert places == ["llm_called", *["orchestration_decision", "llm_called"] * 4]


def test_thoughts_leave_for_no_other_provider(playhead_recorder: RunRecorder):
    class Claude(MockModel):
        @property
        def provider(self) -> str:
            return "anthropic"

    def think(_: ModelRequest) -> ModelResponse:
        thought: Any = {"type": "reasoning", "content": "hm", "extra": {"signature": "s"}}
        call: Any = {
            "type": "tool_call",
            "id": "c1",
            "name": "add",
            "arguments": {"a": 1, "b": 1},
            "extra": {"caller": 1},
        }
        return ModelResponse({"role": "assistant", "parts": [thought, call]}, "claude", provider="anthropic")

    claude = Claude(think, name="claude", supports_thinking=True)
    other = MockModel("4", name="other")
    agent = playhead.Agent[None](model=claude, tools=[add])

    @agent.execute
    async def loop(ctx: AgentContext[None], ask: Ask) -> str:
        ctx.add("user", ask.prompt)
        await ctx.execute((await ctx.call()).tool_calls[0])
        await ctx.execute((await ctx.call()).tool_calls[0])
        return (await ctx.call(model=other)).text

    agent.run_sync("Go")
    assert claude.requests[0].thinking
    assert not other.requests[0].thinking
    [own] = [message for message in claude.requests[1].messages if message["role"] == "assistant"]
    assert [part["type"] for part in own["parts"]] == ["reasoning", "tool_call"]
    for message in other.requests[0].messages:
        assert all("extra" not in part and part["type"] != "reasoning" for part in message["parts"])


# --- the context ------------------------------------------------------------------------------------------------


def test_a_long_run_is_compressed_and_goes_on(playhead_recorder: RunRecorder):
    def answer(request: ModelRequest) -> str | ModelResponse:
        if "Summarise" in str(request.thread[0]):
            return "They added numbers."
        return "Done." if len(model.requests) > 12 else calling(("add", {"a": 1, "b": 1}), text="word " * 40)

    model = MockModel(answer, name="mock-model")
    policy = Compression(limit=600, keep=Keep(messages=3), strategy=LlmSummary())
    out = playhead.Agent(model=model, tools=[add], compression=policy).run_sync("Add a lot.")
    assert out.response == "Done."
    events = [event.kind for event in playhead_recorder.last.events]
    assert "context_compressed" in events
    assert any("Summary of the conversation" in str(request.messages) for request in model.requests)


def test_a_refused_context_is_compressed_and_sent_again(playhead_recorder: RunRecorder):
    model = answers(*[calling(("add", {"a": 1, "b": 1}), text="word " * 60)] * 6, ContextTooLong("too long"), "Done.")
    policy = Compression(limit=1_000_000, keep=Keep(messages=2), strategy=SlidingWindow(4))
    out = playhead.Agent(model=model, tools=[add], compression=policy).run_sync("Add.")
    assert out.response == "Done."
    assert len(model.requests[-1].messages) < len(model.requests[-2].messages)
    assert out.turns == 7


# --- asynchronous, streamed ---------------------------------------------------------------------------------------


def test_several_runs_of_one_agent_at_once(playhead_recorder: RunRecorder):
    def answer(request: ModelRequest) -> str | ModelResponse:
        number = int(request.messages[0]["parts"][0]["content"])
        if request.messages[-1]["role"] == "tool":
            return f"{request.messages[-1]['parts'][0]['response']}"
        return calling(("add", {"a": number, "b": number}))

    agent = playhead.Agent(model=MockModel(answer), tools=[add])

    async def main() -> list[str]:
        return [out.response for out in await asyncio.gather(*(agent.run(str(number)) for number in range(5)))]

    assert asyncio.run(main()) == ["0", "2", "4", "6", "8"]
    assert len(playhead_recorder.runs) == 5
    assert all(len(run.tool_calls) == 1 for run in playhead_recorder.runs)


def test_a_run_can_be_watched(playhead_recorder: RunRecorder):
    agent = playhead.Agent(
        model=answers(calling(("add", {"a": 1, "b": 2}), text="Let me add."), "It is 3."), tools=[add]
    )

    async def main() -> tuple[list[Any], Any]:
        async with agent.run_stream("1 + 2?") as stream:
            return [event async for event in stream], stream.result

    events, out = asyncio.run(main())
    assert [type(event) for event in events] == [
        TextDelta, AnswerArrived, ToolStarted, ToolEnded, TextDelta, AnswerArrived,
    ]  # fmt: skip
    assert events[3].result == "3"
    assert out.response == "It is 3."
    assert [call.answer for call in playhead_recorder.last.llm_calls] != []
    assert [event.turn for event in playhead_recorder.last.events if isinstance(event, LlmCalled)] == [1, 2]


def test_leaving_a_stream_early_cancels_the_run(playhead_recorder: RunRecorder):
    begun: list[str] = []

    @playhead.tool
    async def wait_for_ever() -> str:
        begun.append("begun")
        await asyncio.Event().wait()
        return ""

    agent = playhead.Agent(model=answers(calling(("wait_for_ever", {}))), tools=[wait_for_ever])

    async def main() -> None:
        async with agent.run_stream("Go") as stream:
            async for event in stream:
                if isinstance(event, ToolStarted):
                    while not begun:
                        await asyncio.sleep(0)
                    break

    asyncio.run(main())
    assert playhead_recorder.last.status in ("failed", "cancelled")


def test_an_error_of_the_model_ends_stream_and_run(playhead_recorder: RunRecorder):
    agent = playhead.Agent(model=answers(ValueError("no")))

    async def main() -> None:
        async with agent.run_stream("Go") as stream:
            async for _ in stream:
                pass

    with pytest.raises(ValueError, match="no"):
        asyncio.run(main())
    with pytest.raises(ValueError, match="no"):
        playhead.Agent(model=answers(ValueError("no"))).run_sync("Go")


def test_a_plain_tool_blocks_no_event_loop_and_no_thread_changes_in_run_sync(playhead_recorder: RunRecorder):
    import threading

    threads: list[Any] = []

    @playhead.tool
    def where() -> str:
        threads.append(threading.get_ident())
        return "here"

    def agent() -> Callable[..., Any]:
        made = playhead.Agent(model=answers(calling(("where", {})), "Done."), tools=[where])
        return made.run_sync if not threads else made.run

    agent()("Go")
    asyncio.run(agent()("Go"))
    assert threads[0] == threading.get_ident() != threads[1]


def test_inside_a_run_it_is_an_agent_of_that_run(playhead_recorder: RunRecorder):
    with playhead.run("outer"):
        playhead.Agent(name="inner", model=answers(calling(("add", {"a": 1, "b": 1})), "2"), tools=[add]).run_sync("?")
    [run] = playhead_recorder.runs
    assert run.name == "outer"
    assert {event.actor for event in run.events if isinstance(event, LlmCalled)} == {"inner"}


def test_in_an_event_loop_it_has_to_be_awaited(playhead_recorder: RunRecorder):
    async def main() -> None:
        playhead.Agent(model=answers("Hi")).run_sync("?")

    with pytest.raises(RuntimeError, match="await run"):
        asyncio.run(main())


def test_calls_without_ids_keep_their_results_apart(playhead_recorder: RunRecorder):
    asked = mock_answer(
        calls=[("", "add", {"a": 1, "b": 1}), ("", "add", {"a": 2, "b": 2}), ("", "add", {"a": 1, "b": 1})]
    )
    model = answers(asked, "Done.")
    playhead.Agent(model=model, tools=[add]).run_sync("?")
    assert tool_texts(model.requests[1]) == ["2", "4", "2"]


def test_a_tool_under_observe_is_recorded_once_as_it_says(playhead_recorder: RunRecorder):
    @playhead.observe(kind="tool", redact=lambda value: {"secret": "***"} if isinstance(value, dict) else value)
    def login(secret: str) -> str:
        """Logs in."""
        return f"in, by {len(secret)} letters"

    for tool in (login, playhead.tool(login)):
        model = answers(calling(("login", {"secret": "hunter2"})), "Done.")
        out = playhead.Agent(model=model, tools=[tool]).run_sync("?")
        assert out.tool_calls[0].result == "in, by 7 letters"
        [call] = playhead_recorder.last.tool_calls
        assert call.arguments == {"secret": "***"}


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two tools have one name"):
        playhead.Agent(model=answers(), tools=[add, add])


def test_a_message_that_a_tool_adds_comes_after_its_result(playhead_recorder: RunRecorder):
    @playhead.tool
    def remember(ctx: AgentContext[None], fact: str) -> str:
        """Remembers a fact."""
        ctx.add("user", f"noted: {fact}")
        return "done"

    model = answers(calling(("remember", {"fact": "a"}), ("add", {"a": 1, "b": 2})), "ok")
    playhead.Agent(model=model, tools=[remember, add]).run_sync("go")
    assert roles(model.requests[1]) == ["user", "assistant", "tool", "tool", "user"]
    assert tool_texts(model.requests[1]) == ["done", "3"]
    assert model.requests[1].messages[-1]["parts"][0]["content"] == "noted: a"


def test_a_tool_cannot_go_on_with_the_context_that_waits_for_its_result(playhead_recorder: RunRecorder):
    @playhead.tool
    async def think(ctx: AgentContext[None]) -> str:
        """Thinks."""
        return (await ctx.call()).text

    model = answers(calling(("think", {})), "ok")
    out = playhead.Agent(model=model, tools=[think]).run_sync("go")
    assert out.response == "ok"
    [result] = tool_texts(model.requests[1])
    assert "while a tool is executed" in result


async def test_a_stream_that_was_read_to_its_end_has_no_more_events(playhead_recorder: RunRecorder):
    async with playhead.Agent(model=answers("ok")).run_stream("go") as events:
        assert [type(event) async for event in events] == [TextDelta, AnswerArrived]
        async with asyncio.timeout(60):
            assert [event async for event in events] == []
    assert events.result.response == "ok"


def test_an_answer_without_text_is_not_sent_back_empty(playhead_recorder: RunRecorder):
    """A model that reached its limit while it thought: providers refuse a message without content."""
    thought = mock_answer(reasoning="Let me see")
    model = answers(thought, '{"result": 3}')
    out = playhead.Agent(model=model, output=int).run_sync("1 + 2?")
    assert out.output == 3
    thread = [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}, portable(thought.message)]
    request = ModelRequest(thread)
    assert chat_arguments(request, "gpt-4o", max_tokens="max_tokens")["messages"] == [{"role": "user", "content": "Hi"}]
    assert len(gemini_arguments(request, "gemini-2.5-flash")["contents"]) == 1
    assert len(anthropic_arguments(request, "claude-haiku-4-5")["messages"]) == 1
    assert len(instructed(replace(request, output={"type": "object"}))) == 2  # with the instruction
