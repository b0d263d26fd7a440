"""What is recorded of DSPy: modules, tools, calls of its own client of models; errors and forks."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest

import playhead
from playhead import observe
from playhead.compat.dspy import serializer
from playhead.model import names
from playhead.testing import (
    MockModelServer,
    contains,
    context_too_long,
    pytest_plugin,
    text,
    thinking,
    tool_call,
    tool_result_received,
)
from tests.support.journal_reader import Recording, start_recording
from tests.support.programs.framework_runs import assert_contexts_are_the_requests

server = pytest_plugin.mock_model_server


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


@observe(kind="tool")
def observed(order: str) -> str:
    """Is recorded by itself."""
    return f"{order} is there"


def fields(**values: str) -> str:
    """A model's answer in the form that DSPy asks for."""
    return "\n\n".join([f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()] + ["[[ ## completed ## ]]"])


def script(server: MockModelServer, name: str = "look_up") -> None:
    """The model asks for this tool, ends, and answers."""
    for number, (tool, arguments) in enumerate([(name, '{"order": "A1"}'), ("finish", "{}")]):
        turn = fields(next_thought="On.", next_tool_name=tool, next_tool_args=arguments)
        server.when(~contains(f"observation_{number}"), text(turn))
    server.otherwise(text(fields(reasoning="Done.", answer="it is delayed")))


# Before 3.4 it has no client of models of its own, and calls them through LiteLLM.
ENGINE = {"engine": "lm15"} if hasattr(dspy, "lm15") else {}


def lm(server: MockModelServer, **options: Any) -> dspy.LM:
    how: dict[str, Any] = {"num_retries": 0, "cache": False, **ENGINE, **options}
    return dspy.LM("openai/m", api_base=server.base_url, api_key="none", **how)


def ask(server: MockModelServer, tool: Any = look_up, **options: Any) -> Any:
    with dspy.context(lm=lm(server, **options)):
        return dspy.ReAct("question -> answer", tools=[tool])(question="where is A1?").toDict()


def of_kind(recording: Recording, kind: str) -> list[Any]:
    return [span for span in recording.read().spans if span.attributes[names.KIND] == kind]


@pytest.mark.covers("dspy", "spans", "messages", "tools", "usage")
def test_modules_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    script(server)
    live = ask(server)
    seen = recording.read()
    [root] = of_kind(recording, "agent")
    assert root.attributes[names.AGENT_NAME] == "ReAct"
    assert seen.value(root, names.INPUT_REF) == {"input": {"question": "where is A1?"}}
    assert seen.value(root, names.OUTPUT_REF) == live
    [called] = of_kind(recording, "tool")
    assert (called.attributes[names.TOOL_NAME], called.parent_id) == ("look_up", root.span_id)
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"order": "A1"}
    assert seen.value(called, names.TOOL_RESULT_REF) == {"order": "A1", "status": "delayed"}
    steps = {span.span_id: span for span in of_kind(recording, "step")}
    assert [span.name.split()[-1] for span in steps.values() if span.parent_id == root.span_id] == [
        "Predict", "Predict", "ChainOfThought",
    ]  # fmt: skip
    calls = of_kind(recording, "llm")
    assert all(span.parent_id in steps for span in calls)
    assert all(span.attributes[names.REQUEST_MODEL].rpartition("/")[2] == "m" for span in calls)
    assert all(span.attributes[names.OUTPUT_TOKENS] > 0 for span in calls)
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True)


@pytest.mark.covers("dspy", "resume")
@pytest.mark.parametrize("cache", [False, True])
def test_it_comes_back_from_the_record(recording: Recording, server: MockModelServer, cache: bool):
    script(server)
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    dspy.cache.reset_memory_cache()
    with playhead.run("r") as run:
        live = ask(server, cache=cache)
    requests = len(server.requests)
    assert requests == 3
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert ask(server, cache=cache) == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


@pytest.mark.covers("dspy", "streaming", "resume")
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    server.otherwise(text(fields(answer="it is delayed, and will come tomorrow")))

    async def stream() -> list[Any]:
        listeners = [dspy.streaming.StreamListener(signature_field_name="answer")]
        with dspy.context(lm=lm(server)):
            made = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=listeners)
            return [
                item.chunk if isinstance(item, dspy.streaming.StreamResponse) else item.toDict()
                async for item in made(question="where is A1?")
            ]

    with playhead.run("r") as run:
        live = asyncio.run(stream())
    assert len(live) > (2 if ENGINE else 1)
    assert live[-1] == {"answer": "it is delayed, and will come tomorrow"}
    [called] = of_kind(recording, "llm")
    [message] = recording.read().messages(called.attributes[names.OUTPUT_MESSAGES_REF])
    assert "it is delayed, and will come tomorrow" in str(message["parts"])
    if ENGINE:  # LiteLLM streams no usage unless it is asked to
        assert called.attributes[names.OUTPUT_TOKENS] > 0
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert asyncio.run(stream()) == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (1, 0, [])


@pytest.mark.covers("dspy", "reasoning", "resume")
def test_a_models_thought_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    server.otherwise(thinking("It says delayed.") + text("It is late."))
    with playhead.run("r") as run:
        live = lm(server)("where is A1?")
    [called] = of_kind(recording, "llm")
    assert recording.read().value(called, names.REASONING_REF) == "It says delayed."
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert lm(server)("where is A1?") == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (1, 0, [])


@pytest.mark.covers("dspy", "tools", "resume")
def test_calls_that_a_model_asks_for_with_ids_have_them(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(tool_call("submit", {"answer": "it is delayed"}))

    def ask() -> Any:
        with dspy.context(lm=lm(server), adapter=dspy.ChatAdapter(use_native_function_calling=True)):
            return dspy.ReActV2("question -> answer", tools=[look_up])(question="where is A1?").answer

    with playhead.run("r") as run:
        assert ask() == "it is delayed"
    [called] = of_kind(recording, "tool")
    first = min(of_kind(recording, "llm"), key=lambda span: span.attributes[names.CALL_ORDER])
    [message] = recording.read().messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    [asked] = [part for part in message["parts"] if part["type"] == "tool_call"]
    assert called.attributes[names.TOOL_CALL_ID] == asked["id"]
    assert_contexts_are_the_requests(recording.read(), server.requests, has_tokens=True)
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert ask() == "it is delayed"
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


@pytest.mark.covers("dspy", "errors")
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording: Recording, server: MockModelServer):
    script(server, "broken")
    playhead.uninstrument()
    unrecorded = ask(server, broken)
    playhead.instrument()
    with playhead.run("r") as run:
        live = ask(server, broken)
    assert live == unrecorded  # also the traceback that the model is told
    assert 'raise LookupError(f"no {order}")' in live["trajectory"]["observation_0"]
    [failed] = of_kind(recording, "tool")
    assert (failed.status, failed.attributes[names.ERROR_TYPE]) == (2, "LookupError")
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        again = ask(server, broken)
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert again["answer"] == live["answer"]


@pytest.mark.covers("dspy", "errors")
def test_a_refused_model_call_is_an_error(recording: Recording, server: MockModelServer):
    server.otherwise(context_too_long())
    with pytest.raises(Exception, match="maximum context length"), dspy.context(lm=lm(server)):
        dspy.Predict("question -> answer")(question="where is A1?")
    [root] = of_kind(recording, "agent")
    assert {span.status for span in (root, *of_kind(recording, "llm"))} == {2}


@pytest.mark.covers("dspy", "fork")
def test_a_fork_gives_a_tool_another_result(recording: Recording, server: MockModelServer):
    script(server)
    with playhead.run("r") as run:
        ask(server)
    with playhead.fork(run.id, at="look_up", outcome="it is lost"), playhead.run("r"):
        assert ask(server)["trajectory"]["observation_0"] == "it is lost"
    assert "it is lost" in str(server.requests[-1].messages)


@pytest.mark.covers("dspy", "fork")
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_fork_gives_a_model_another_answer(recording: Recording, server: MockModelServer, is_streamed: bool):
    server.otherwise(text(fields(answer="it is delayed")))

    async def stream() -> str:
        made = dspy.streamify(dspy.Predict("question -> answer"))
        items = [item async for item in made(question="where is A1?")]
        return str(items[-1].answer)

    def ask() -> str:
        with dspy.context(lm=lm(server)):
            if is_streamed:
                return asyncio.run(stream())
            return str(dspy.Predict("question -> answer")(question="where is A1?").answer)

    with playhead.run("r") as run:
        assert ask() == "it is delayed"
    [called] = of_kind(recording, "llm")
    with playhead.fork(run.id, at=called.span_id, outcome=fields(answer="it is lost")), playhead.run("r"):
        assert ask() == "it is lost"


def test_calls_in_threads_of_its_own_are_of_the_same_run(recording: Recording, server: MockModelServer):
    server.otherwise(text(fields(answer="it is delayed")))
    module = dspy.Predict("question -> answer")
    with playhead.run("r"), dspy.context(lm=lm(server)):
        examples = [dspy.Example(question=f"where is {order}?").with_inputs("question") for order in ("A1", "B2")]
        dspy.Parallel(num_threads=2, disable_progress_bar=True)([(module, example) for example in examples])
    assert len(of_kind(recording, "llm")) == 2
    assert len({span.attributes[names.RUN_ID] for span in recording.read().spans}) == 1


def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    script(server, "observed")
    ask(server, observed)
    assert len(of_kind(recording, "tool")) == 1


def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    script(server)
    assert not hasattr(dspy.Module.__call__, "_self_wrapper")
    ask(server)
    assert recording.read().spans == []


def test_the_private_names_that_are_read_are_there():
    request = dspy.lm15.Request(model="m", messages=(dspy.lm15.Message.user("where is A1?"),))
    assert serializer().request_from_dict(serializer().request_to_dict(request)) == request
