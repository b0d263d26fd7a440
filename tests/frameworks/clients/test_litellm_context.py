"""A managed context with LiteLLM: its messages, its answers, streams and usage, and its models for summaries."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import litellm
import pytest

import playhead
from playhead import observe
from playhead.context import Compression, Context, Keep, LlmSummary
from playhead.model import names
from playhead.models import LiteLLMModel
from playhead.testing import MockModelServer, Rule, contains, pytest_plugin, tool_call
from playhead.testing import text as says
from tests.support.journal_reader import Recording, start_recording
from tests.support.managed_contexts import check_valid

server = pytest_plugin.mock_model_server
SUMMARY = "The customer asked where the orders are."
PARAMETERS: Any = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]
AFTER_A_TOOL = Rule("after a tool", lambda request: request.messages[-1]["role"] == "tool")


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


@pytest.fixture
def at(server: MockModelServer) -> dict[str, Any]:
    """Arguments that say where the model is."""
    server.when(contains("Summarise the conversation"), says(SUMMARY))
    server.when(AFTER_A_TOOL, says("It is on its way. " + "word " * 60))
    server.otherwise(tool_call("look_up", {"q": "A1"}))
    return {"api_base": server.base_url, "api_key": "k", "num_retries": 0, "max_retries": 0}


def ask(context: Context, at: dict[str, Any], *, streamed: bool) -> tuple[Any, int]:
    """The answer as LiteLLM gives it, and the input tokens that the provider reported."""
    options: Any = {"stream": True, "stream_options": {"include_usage": True}} if streamed else {}
    answer = litellm.completion(model="openai/mock-model", messages=context.for_model(), tools=TOOLS, **options, **at)
    if not streamed:
        return answer, answer.usage.prompt_tokens
    chunks = list(answer)
    return chunks, next(chunk.usage.prompt_tokens for chunk in reversed(chunks) if getattr(chunk, "usage", None))


@observe(kind="tool")
def look_up(q: str) -> str:
    return json.dumps({"found": q, "more": "word " * 30})


def talk(at: dict[str, Any], *, streamed: bool) -> Context:
    summariser = LlmSummary(model=LiteLLMModel("openai/mock-model", **at))
    policy = Compression(limit=500, keep=Keep(share=0.3), strategy=summariser)
    context = Context(system="Be brief.", compression=policy, model="openai/mock-model")
    for turn in range(6):
        context.add("user", f"Where is order A{turn}? {'please ' * 20}")
        answer, _ = ask(context, at, streamed=streamed)
        asked = context.answered(answer)
        assert asked is not None
        [call] = asked.calls
        assert call
        context.add("tool", look_up("A1"), call=call)
        answer, tokens = ask(context, at, streamed=streamed)
        said = context.answered(answer)
        assert said is not None
        assert said.text.startswith("It is on its way.")
        assert context.stats.tokens > tokens > 0  # what was sent, and the answer on top of it
        assert context.stats.basis == "calibrated"
        check_valid(context.messages)
    return context


@pytest.mark.covers("litellm", "messages", "usage", "streaming")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_an_agent_goes_over_its_threshold_and_on(
    streamed: bool, server: MockModelServer, at: dict[str, Any], recording: Recording
):
    with playhead.run("support"):
        context = talk(at, streamed=streamed)
    assert context.stats.compressions >= 2
    summaries = [request for request in server.requests if "Summarise the conversation" in str(request.messages)]
    assert len(summaries) == context.stats.checkpoints == context.stats.compressions
    assert SUMMARY in str(server.requests[-1].messages)
    seen = recording.read()
    calls = [span for span in seen.spans if span.attributes[names.KIND] == "llm"]
    assert len(calls) == len(server.requests)  # each is recorded once, those for summaries too


def test_the_usage_is_learned(at: dict[str, Any]):
    """The definitions of the tools are in no message."""
    tools: Any = [
        {"type": "function", "function": {"name": "look_up", "description": "x " * 900, "parameters": PARAMETERS}}
    ]
    for streamed in (False, True):
        context = Context(compression=Compression(limit=10_000))
        context.add("user", "Where is order A1?")
        estimate = context.stats.tokens
        options: Any = {"stream": True, "stream_options": {"include_usage": True}} if streamed else {}
        answer = litellm.completion(
            model="openai/mock-model", messages=context.for_model(), tools=tools, **options, **at
        )
        context.answered(list(answer) if streamed else answer)
        assert estimate < 50
        assert context.stats.tokens > 400


@pytest.mark.covers("litellm", "resume")
def test_a_resumed_run_compresses_where_it_did(server: MockModelServer, at: dict[str, Any]):
    with playhead.run("support") as run:
        context = talk(at, streamed=False)
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("support"):
        again = talk(at, streamed=False)
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert again.native_messages() == context.native_messages()
    assert again.stats == context.stats
