"""Tools that a model asked for and that were executed outside the record are named before they are executed again."""

import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

import playhead
from playhead import observe
from playhead.errors import ReplayError, UnrecordedTools
from playhead.testing import ChatRequest, MockModelServer, contains, text, tool_call, tool_calls, tool_result_received
from playhead.testing.answers import AssistantMessage

executed: list[str] = []
Tools = dict[str, Callable[..., Any]]


class CutOff(Exception):
    """Ends a run before it has completed."""


def shell(command: str) -> str:
    executed.append(command)
    return f"ran {command}"


def read(path: str) -> str:
    executed.append(path)
    return f"read {path}"


PLAIN: Tools = {"shell": shell, "read": read}
ANSWERS = (
    tool_calls(tool_call("shell", {"command": "make"}, call_id="c1"), tool_call("read", {"path": "x"}, call_id="c2")),
    tool_call("shell", {"command": "ls"}, call_id="c3"),
    tool_call("read", {"path": "y"}, call_id="c4"),
    text("done"),
)


@pytest.fixture(autouse=True)
def script(server: MockModelServer) -> None:
    executed.clear()
    server.otherwise(answer)


def answer(request: ChatRequest) -> AssistantMessage:
    """By what the model has been told so far: a process that goes on asks on."""
    return ANSWERS[sum(message["role"] == "assistant" for message in request.messages)]


def dispatched(tools: Tools) -> Callable[[str, str, dict[str, Any]], Any]:
    return lambda _, name, arguments: tools[name](**arguments)


def agent(client: openai.OpenAI, call: Callable[[str, str, dict[str, Any]], Any], *, until: int = 9) -> str:
    """The model and its tools in turn; cut off before the model is asked for the time after `until`."""
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for turn in range(10):
        if turn == until:
            raise CutOff
        answer = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append(answer)
        for asked in answer.tool_calls or ():
            assert asked.type == "function"
            said = call(asked.id, asked.function.name, json.loads(asked.function.arguments))
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": said})
        if not answer.tool_calls:
            break
    return str(messages[-1].content)


def record(client: openai.OpenAI, call: Any, *, until: int = 9) -> str:
    with contextlib.suppress(CutOff), playhead.run("agent") as run:
        agent(client, call, until=until)
    assert run.id is not None
    executed.clear()
    return run.id


def again(client: openai.OpenAI, run_id: str, call: Any, **how: Any) -> str:
    with playhead.resume(run_id, **how), playhead.run("agent"):
        return agent(client, call)


def test_they_are_named_before_anything_runs(client: openai.OpenAI, server: MockModelServer) -> None:
    run_id = record(client, dispatched(PLAIN), until=2)
    asked = len(server.requests)
    with pytest.raises(UnrecordedTools) as stopped:
        again(client, run_id, dispatched(PLAIN))
    said = str(stopped.value)
    assert said.startswith("3 tool calls that a model asked for were executed outside the record")
    assert "at recorded call 2: shell({'command': 'make'}), read({'path': 'x'})" in said
    assert "at recorded call 3: shell({'command': 'ls'})" in said
    assert "unrecorded='rerun' (playhead resume --unrecorded rerun)" in said
    assert (executed, len(server.requests)) == ([], asked)


def test_they_are_executed_again_where_that_is_asked_for(
    client: openai.OpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "playhead")
    run_id = record(client, dispatched(PLAIN), until=2)
    assert again(client, run_id, dispatched(PLAIN), unrecorded="rerun") == "done"
    assert executed == ["make", "x", "ls", "y"]
    assert "3 tool calls that a model asked for were executed outside the record" in caplog.text


def test_a_fork_names_those_before_the_call_at_which_it_parts(client: openai.OpenAI) -> None:
    run_id = record(client, dispatched(PLAIN))
    with pytest.raises(UnrecordedTools, match=r"^3 tool calls"):  # noqa: SIM117
        with playhead.fork(run_id, at="chat#3", outcome="no"):
            pass
    with playhead.fork(run_id, at="chat#1", outcome="no"), playhead.run("agent"):
        assert agent(client, dispatched(PLAIN)) == "no"
    assert executed == []
    with playhead.fork(run_id, at="chat#2", outcome="no", unrecorded="rerun"), playhead.run("agent"):
        assert agent(client, dispatched(PLAIN)) == "no"
    assert executed == ["make", "x"]


def test_a_completed_run_executes_them_again_too(client: openai.OpenAI) -> None:
    run_id = record(client, dispatched(PLAIN))
    with pytest.raises(UnrecordedTools, match=r"^4 tool calls"):
        again(client, run_id, dispatched(PLAIN))
    assert executed == []


def test_a_fork_that_goes_on_names_them(client: openai.OpenAI) -> None:
    run_id = record(client, dispatched(PLAIN))
    with contextlib.suppress(CutOff), playhead.fork(run_id, at="chat#2", unrecorded="rerun") as fork:  # noqa: SIM117
        with playhead.run("agent"):
            agent(client, dispatched(PLAIN), until=2)
    executed.clear()
    with pytest.raises(UnrecordedTools):
        again(client, fork.id, dispatched(PLAIN))
    assert executed == []


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(ReplayError, match="expected 'raise' or 'rerun'"):
        playhead.resume("0" * 32, unrecorded="again")  # pyright: ignore[reportArgumentType]


# --- tools that are recorded ------------------------------------------------------------------------------------------


def by_name() -> Any:
    return dispatched({name: observe(kind="tool")(tool) for name, tool in PLAIN.items()})


def by_another_name() -> Any:
    return dispatched({name: observe(kind="tool", name=f"do_{name}")(tool) for name, tool in PLAIN.items()})


def as_methods() -> Any:
    class Tools:
        @observe(kind="tool")
        def shell(self, command: str) -> str:
            return shell(command)

        @observe(kind="tool")
        def read(self, path: str) -> str:
            return read(path)

    tools = Tools()
    return dispatched({"shell": tools.shell, "read": tools.read})


def by_a_dispatcher() -> Any:
    @observe(kind="tool")
    def execute(name: str, arguments: dict[str, Any]) -> str:
        return PLAIN[name](**arguments)

    return lambda _, name, arguments: execute(name, arguments)


def by_a_dispatcher_of_texts() -> Any:
    @observe(kind="tool")
    def execute(name: str, arguments: str) -> str:
        return PLAIN[name](**json.loads(arguments))

    return lambda _, name, arguments: execute(name, json.dumps(arguments))


def by_id() -> Any:
    called: dict[str, tuple[str, dict[str, Any]]] = {}

    @observe(kind="tool")
    def execute(call: str) -> str:
        name, arguments = called[call]
        return PLAIN[name](**arguments)

    def call(call_id: str, name: str, arguments: dict[str, Any]) -> str:
        called[call_id] = name, arguments
        return execute(call_id)

    return call


def inside_of_a_step() -> Any:
    tools = {name: observe(kind="tool", name=f"_{name}")(tool) for name, tool in PLAIN.items()}
    return dispatched(
        {name: observe(name=name)(lambda _tool=tool, **given: _tool(**given)) for name, tool in tools.items()}
    )


WAYS = [by_name, by_another_name, as_methods, by_a_dispatcher, by_a_dispatcher_of_texts, by_id, inside_of_a_step]


@pytest.mark.parametrize("until", range(1, 4))
@pytest.mark.parametrize("way", WAYS)
def test_tools_that_are_recorded_need_no_option(client: openai.OpenAI, way: Any, until: int) -> None:
    call = way()
    run_id = record(client, call, until=until)
    assert again(client, run_id, call) == "done"
    assert executed == ["make", "x", "ls", "y"][[2, 3, 4][until - 1] :]


def test_one_tool_of_several_that_is_not_recorded_is_named(client: openai.OpenAI) -> None:
    call = dispatched({"shell": observe(kind="tool")(shell), "read": read})
    run_id = record(client, call, until=3)
    with pytest.raises(UnrecordedTools, match=r"^2 tool calls[^/]*read\(\{'path': 'x'\}\)[^/]*read\(\{'path': 'y'\}\)"):
        again(client, run_id, call)


def test_a_step_that_is_a_tool_is_named(client: openai.OpenAI) -> None:
    call = dispatched({name: observe(tool) for name, tool in PLAIN.items()})
    run_id = record(client, call, until=2)
    with pytest.raises(UnrecordedTools, match=r"^3 tool calls"):
        again(client, run_id, call)
    assert executed == []


# --- what nobody knows to have been executed --------------------------------------------------------------------------


def test_what_the_last_answer_asks_for_may_not_have_begun(client: openai.OpenAI) -> None:
    def dies(_: str, name: str, arguments: dict[str, Any]) -> str:
        raise CutOff

    run_id = record(client, dies)
    assert again(client, run_id, by_name()) == "done"


def test_what_the_last_answer_asks_for_counts_where_the_tool_is_known_to_run_unrecorded(client: openai.OpenAI) -> None:
    def dies(call_id: str, name: str, arguments: dict[str, Any]) -> str:
        if call_id == "c3":
            raise CutOff
        return PLAIN[name](**arguments)

    run_id = record(client, dies)
    with pytest.raises(UnrecordedTools, match=r"^3 tool calls"):
        again(client, run_id, dies)


def offering(client: openai.OpenAI, name: str) -> str | None:
    """The model was offered `read`, asks for a tool of this name, and is told what came of it."""
    asked: Any = {"id": "c9", "type": "function", "function": {"name": name, "arguments": '{"path": "x"}'}}
    messages: list[Any] = [{"role": "user", "content": f"call {name}"}]
    tools: list[Any] = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    with playhead.run("agent") as run:
        for _ in range(2):
            client.chat.completions.create(model="m", messages=messages, tools=tools)
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [asked]},
                {"role": "tool", "tool_call_id": "c9", "content": "it is so"},
            ]
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "sum it up"}])
    return run.id


@pytest.mark.parametrize(("name", "is_refused"), [("write", False), ("functions.read", True), ("read", True)])
def test_a_tool_that_the_model_was_not_offered_was_not_executed(
    client: openai.OpenAI, server: MockModelServer, name: str, is_refused: bool
) -> None:
    server.when(contains("call ") & ~tool_result_received(), tool_call(name, {"path": "x"}, call_id="c9"))
    server.when(contains("call ") | contains("sum"), text("done"))
    run_id = offering(client, name)
    assert run_id is not None
    with pytest.raises(UnrecordedTools) if is_refused else contextlib.nullcontext(), playhead.resume(run_id):
        offering(client, name)
    assert len(server.requests) == 3


def test_a_form_that_the_model_fills_in_is_no_tool(client: openai.OpenAI) -> None:
    def run() -> tuple[str | None, list[Any]]:
        with playhead.run("agent") as run:
            said = [
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"go {number}"}])
                for number in range(2)
            ]
            return run.id, [answer.choices[0].message.tool_calls for answer in said]

    run_id, first = run()
    assert run_id is not None
    with playhead.resume(run_id):
        assert run()[1] == first


def test_what_was_asked_inside_of_a_tool_is_not_asked_again(client: openai.OpenAI) -> None:
    @observe(kind="tool")
    def whole() -> str:
        return agent(client, dispatched(PLAIN))

    with contextlib.suppress(CutOff), playhead.run("outer") as run:
        whole()
        raise CutOff
    assert run.id is not None
    executed.clear()
    with playhead.resume(run.id), playhead.run("outer"):
        assert whole() == "done"
    assert executed == []


# --- another client ---------------------------------------------------------------------------------------------------


@pytest.fixture
def claude(server: MockModelServer) -> Iterator[anthropic.Anthropic]:
    playhead.instrument("anthropic")
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as claude:
        yield claude
    playhead.uninstrument("anthropic")


def test_messages_of_anthropic_are_read_too(claude: anthropic.Anthropic) -> None:
    def turns(until: int = 9) -> None:
        messages: list[Any] = [{"role": "user", "content": "go"}]
        for turn in range(10):
            if turn == until:
                raise CutOff
            answer = claude.messages.create(model="m", max_tokens=99, messages=messages)
            asked = [block for block in answer.content if block.type == "tool_use"]
            if not asked:
                return
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": PLAIN[block.name](**dict(block.input))}
                for block in asked
            ]
            messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]

    with contextlib.suppress(CutOff), playhead.run("agent") as run:
        turns(until=2)
    assert run.id is not None
    executed.clear()
    with pytest.raises(UnrecordedTools, match=r"^3 tool calls"), playhead.resume(run.id):
        pass
    assert executed == []
