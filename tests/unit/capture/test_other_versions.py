"""Agent frameworks of a version that is made otherwise: their programs go on, and are not observed there."""

import asyncio
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import playhead
from playhead.calls.lifecycle import current_span
from playhead.capture import langchain, langgraph, openai_agents, pydantic_ai
from playhead.capture.langchain import chat_models, embeddings
from tests.support.journal_reader import Recording, start_recording


class Strange:
    """Whatever is asked of it, it fails."""

    def __getattribute__(self, name: str) -> Any:
        if name in {"__class__", "__dict__"}:
            return object.__getattribute__(self, name)
        raise RuntimeError(f"no {name} in this version")


@pytest.fixture(autouse=True)
def recording(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    modules: list[Any] = [langchain, langgraph, openai_agents, pydantic_ai]
    for module in modules:
        module.patch()
    yield from start_recording(tmp_path_factory.mktemp("journal"), monkeypatch)
    for module in modules:
        module.unpatch()
    assert current_span() is None


def answer(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    return args, kwargs


async def answer_later(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    return args, kwargs


TOOLS = [langchain._run_tool, langchain._arun_tool, pydantic_ai._call_tool]
[CHAT], [VECTORS] = (
    [patch.wrappers for patch in patches] for patches in (chat_models.CHAT_MODELS, embeddings.EMBEDDINGS)
)
AGENTS = [
    langgraph._invoke,
    langgraph._stream,
    openai_agents._run_agent,
    openai_agents._run_streamed,
    pydantic_ai._iter,
]
named = pytest.mark.parametrize("wrapper", TOOLS, ids=["langchain run", "langchain arun", "pydantic-ai"])
begun = pytest.mark.parametrize("wrapper", AGENTS, ids=["invoke", "stream", "run", "run_streamed", "iter"])


@named
def test_a_tool_of_another_version_runs_unobserved(wrapper: Any, caplog: pytest.LogCaptureFixture) -> None:
    with playhead.run("outside"):
        assert wrapper(answer, Strange(), (Strange(),), {"x": 1})[1] == {"x": 1}
    assert "your program is unaffected" in caplog.text


MODELS = [CHAT["_generate"], CHAT["_stream"], VECTORS["embed_query"], langchain._invoke_retriever]


@pytest.mark.parametrize("wrapper", MODELS, ids=["generate", "stream", "embed_query", "retriever"])
def test_a_model_of_another_version_runs_unobserved(wrapper: Any, caplog: pytest.LogCaptureFixture) -> None:
    strange = Strange()
    result = wrapper(answer, strange, (strange,), {})
    assert (tuple(result) if wrapper is CHAT["_stream"] else result) == ((strange,), {})
    assert "your program is unaffected" in caplog.text


@begun
def test_an_agent_of_another_version_runs_unobserved(wrapper: Any, caplog: pytest.LogCaptureFixture) -> None:
    strange = Strange()
    assert wrapper(answer, strange, (strange, strange), {}) == ((strange, strange), {})
    assert "your program is unaffected" in caplog.text


def test_a_streamed_run_without_its_task_is_over_when_it_was_started(recording: Recording) -> None:
    assert openai_agents._run_streamed(answer, None, (ModuleType("triage"), "hi"), {})[1] == {}
    assert current_span() is None
    assert [span.end_ns is None for span in recording.read().spans] == [False]


def test_a_result_of_another_version_is_the_programs_all_the_same() -> None:
    async def result() -> Any:
        return strange

    strange = Strange()
    made = openai_agents._run_agent(lambda *args: result(), None, (ModuleType("triage"), "hi"), {})
    assert asyncio.run(made) is strange


def test_tools_that_have_no_place_for_it_are_left_alone() -> None:
    class FunctionTool:
        __slots__ = ("on_invoke_tool",)

    module: Any = ModuleType("agents.tool")
    module.FunctionTool = FunctionTool
    before = FunctionTool.on_invoke_tool
    with pytest.raises(TypeError, match="no place"):  # which the hook that calls it catches
        openai_agents._ToolFunctions().apply(module, lambda: True)
    assert FunctionTool.on_invoke_tool is before
