"""LangGraph's nodes as steps, its thread ids as sessions, and graphs that wait for a person."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

import playhead
from playhead import observe
from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import Span
from tests.support.journal_reader import Recording, kind, start_recording
from tests.support.projected import projected

pytestmark = pytest.mark.slow


def added(one: list[str], other: list[str]) -> list[str]:
    return [*one, *other]


class State(TypedDict, total=False):
    said: Annotated[list[str], added]
    answer: str


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("langchain_core", "langgraph")
        yield recording
        playhead.uninstrument()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if "could not" in record.message] == []


def graph_of(nodes: dict[str, Any], name: str = "desk", **options: Any) -> Any:
    graph: Any = StateGraph(State)
    before = START
    for node, function in nodes.items():
        graph.add_node(node, function, **options)
        graph.add_edge(before, node)
        before = node
    graph.add_edge(before, END)
    return graph.compile(name=name, checkpointer=InMemorySaver())


def config(thread: str = "t1") -> Any:
    return {"configurable": {"thread_id": thread}}


def steps(recording: Recording) -> list[Span]:
    return [span for span in recording.read().spans if kind(span) == "step"]


@observe(kind="tool")
def look_up(order: str) -> str:
    return f"{order} is late"


@pytest.mark.covers("langgraph", "spans")
def test_a_node_is_a_step_with_what_it_wrote(recording: Recording):
    compiled = graph_of({"ask": lambda state: {"said": [look_up("A1")]}, "answer": lambda state: {"answer": "late"}})
    assert compiled.invoke({"said": []}, config())["answer"] == "late"
    seen = recording.read()
    ask, answer = steps(recording)
    assert [span.attributes[names.CALL_KEY] for span in (ask, answer)] == ["desk/ask:step#1", "desk/answer:step#1"]
    assert [span.attributes[names.GRAPH_NODE] for span in (ask, answer)] == ["ask", "answer"]
    assert seen.value(ask, names.OUTPUT_REF) == {"said": ["A1 is late"]}
    assert seen.value(answer, names.OUTPUT_REF) == {"answer": "late"}
    assert seen.parent("look_up") == "ask"
    assert {span.span_id for span in (ask, answer)} <= {span.span_id for span in seen.announced}


@pytest.mark.covers("langgraph", "spans", "errors")
def test_nodes_in_tasks_and_threads_retries_and_errors(recording: Recording):
    tries: list[int] = []

    async def flaky(state: State) -> State:
        tries.append(1)
        if len(tries) < 2:
            raise ConnectionError("not now")
        return {"answer": await asyncio.to_thread(look_up, "A1")}

    def broken(state: State) -> State:
        raise ValueError("never")

    compiled = graph_of({"flaky": flaky}, retry_policy=RetryPolicy(initial_interval=0.0, jitter=False))
    asyncio.run(compiled.ainvoke({"said": []}, config()))
    [step] = steps(recording)  # all tries are one execution of the node
    assert names.ERROR_TYPE not in step.attributes
    with pytest.raises(ValueError, match="never"):
        graph_of({"broken": broken}, name="other").invoke({"said": []}, config())
    assert steps(recording)[1].attributes[names.ERROR_TYPE] == "ValueError"


@pytest.mark.covers("langgraph", "spans")
def test_a_graph_inside_a_node_is_an_agent_and_no_step_besides(recording: Recording):
    inner: Any = StateGraph(State)
    inner.add_node("think", lambda state: {"answer": "x"})
    inner.add_edge(START, "think")
    graph_of({"expert": inner.compile()}).invoke({"said": []}, config())
    kinds = {span.attributes[names.CALL_KEY]: kind(span) for span in recording.read().spans}
    assert kinds == {"desk:agent#1": "agent", "desk/expert:agent#1": "agent", "desk/expert/think:step#1": "step"}


@pytest.mark.covers("langgraph", "spans")
def test_the_thread_id_is_the_session_unless_the_program_has_set_one(recording: Recording):
    compiled = graph_of({"ask": lambda state: {"answer": "x"}})

    @observe
    def agent(thread: str) -> None:
        compiled.invoke({"said": []}, config(thread))

    compiled.invoke({"said": []}, config("alone"))
    agent("inside")
    with playhead.run("own", session="mine"):
        compiled.invoke({"said": []}, config("inside"))
    roots = [span for span in recording.read().spans if names.RUN_ROOT in span.attributes]
    assert [span.attributes[names.CONVERSATION] for span in roots] == ["alone", "inside", "mine"]


def waiting_graph() -> Any:
    def ask(state: State) -> State:
        return {"said": [interrupt({"question": "which branch?"})]}

    inner: Any = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    return graph_of({"expert": inner.compile(), "answer": lambda state: {"answer": look_up(state["said"][-1])}})


@pytest.mark.covers("langgraph", "spans", "resume")
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_a_graph_that_waits_says_for_what_and_goes_on_in_the_same_session(recording: Recording, way: str):
    compiled = waiting_graph()

    async def streamed(given: Any) -> None:
        async for _ in compiled.astream(given, config()):
            pass

    def call(given: Any) -> None:
        if way == "astream":
            asyncio.run(streamed(given))
        elif way == "ainvoke":
            asyncio.run(compiled.ainvoke(given, config()))
        else:
            done = getattr(compiled, way)(given, config())
            _ = done if way == "invoke" else list(done)

    call({"said": []})
    call(Command(resume="main"))
    seen = recording.read()
    first, second = [span for span in seen.spans if names.RUN_ROOT in span.attributes]
    assert first.attributes[names.CONVERSATION] == second.attributes[names.CONVERSATION] == "t1"
    assert names.ERROR_TYPE not in first.attributes
    waits, goes_on = (projected(seen, span.attributes[names.RUN_ID]) for span in (first, second))
    assert waits.row.status == goes_on.row.status == "completed"
    assert (waits.row.errors, goes_on.row.errors) == (0, 0)
    [asked] = [event for event in waits.events if isinstance(event, ev.InputRequested)]
    [answered] = [event for event in goes_on.events if isinstance(event, ev.InputReceived)]
    prompts = [seen.value(log, names.PROMPT_REF) for log in seen.logs if log.name == names.INPUT_REQUESTED]
    values = [seen.value(log, names.VALUE_REF) for log in seen.logs if log.name == names.INPUT_RECEIVED]
    assert (prompts, values) == ([{"question": "which branch?"}], ["main"])
    assert len(asked.wait) == 32
    assert asked.actor == "expert"
    assert asked.seq < waits.events[-1].seq
    assert 1 < answered.seq < goes_on.events[-1].seq
    assert [event for event in goes_on.events if isinstance(event, ev.InputRequested)] == []


def test_answers_to_several_interrupts_are_told_by_the_ids_of_these(recording: Recording):
    graph: Any = StateGraph(State)
    for node in ("one", "two"):
        graph.add_node(node, lambda state, node=node: {"said": [interrupt(node)]})
        graph.add_edge(START, node)
    compiled = graph.compile(checkpointer=InMemorySaver())
    waiting = compiled.invoke({"said": []}, config())["__interrupt__"]
    compiled.invoke(Command(resume={each.id: each.value.upper() for each in waiting}), config())
    seen = recording.read()
    asked = {
        log.attributes[names.WAIT_ID]: seen.value(log, names.PROMPT_REF)
        for log in seen.logs
        if names.PROMPT_REF in log.attributes
    }
    answered = {
        log.attributes[names.WAIT_ID]: seen.value(log, names.VALUE_REF)
        for log in seen.logs
        if names.VALUE_REF in log.attributes
    }
    assert sorted(asked.values()) == ["one", "two"]
    assert answered == {wait: prompt.upper() for wait, prompt in asked.items()}


@pytest.mark.covers("langgraph", "resume")
def test_a_resumed_run_has_its_nodes_and_what_it_waited_for_once(recording: Recording):
    def agent() -> Any:
        compiled = waiting_graph()
        compiled.invoke({"said": []}, config())
        return compiled.invoke(Command(resume="main"), config())["answer"]

    assert observe(agent)() == "main is late"
    before = recording.read()
    run_id = before.spans[0].attributes[names.RUN_ID]
    with playhead.resume(run_id):
        assert observe(agent)() == "main is late"
    after = recording.read()
    assert len(after.spans) == len(before.spans)
    assert [log.name for log in after.logs if "input" in log.name] == [names.INPUT_REQUESTED, names.INPUT_RECEIVED]
