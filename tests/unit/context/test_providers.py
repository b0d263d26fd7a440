"""A managed context with each provider's real client: tools in flight, a stream, and a compression in between."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest
from google import genai

from playhead.context import Compression, Context, Keep, LlmSummary
from playhead.models import MockModel
from playhead.models.apis import ApiName
from playhead.testing import MockModelServer, Rule, thinking, tool_call
from playhead.testing import text as says
from tests.support.managed_contexts import check_valid

PARAMETERS: Any = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
AFTER_A_TOOL = Rule("after a tool", lambda request: request.messages[-1]["role"] == "tool")


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer(models=("mock-model",)) as server:
        server.when(AFTER_A_TOOL, says("It is on its way. " + "word " * 60))
        server.otherwise(thinking("Let me look.") + tool_call("look_up", {"q": "A1"}))
        yield server


Ask = Callable[[MockModelServer, Context, bool], Any]
"""Asks the model with what the context says, and returns the client's answer; with True, the chunks of a stream."""


def chat(server: MockModelServer, context: Context, streamed: bool) -> Any:
    tools: Any = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]
    messages: Any = context.for_model()
    options: Any = {"stream": True, "stream_options": {"include_usage": True}} if streamed else {}
    with openai.OpenAI(base_url=server.base_url, api_key="k") as client:
        answer = client.chat.completions.create(model="mock-model", messages=messages, tools=tools, **options)
        return list(answer) if streamed else answer


def responses(server: MockModelServer, context: Context, streamed: bool) -> Any:
    tools: Any = [{"type": "function", "name": "look_up", "parameters": PARAMETERS, "strict": False}]
    items: Any = context.for_model()
    options: Any = {"stream": True} if streamed else {}
    with openai.OpenAI(base_url=server.base_url, api_key="k") as client:
        answer = client.responses.create(model="mock-model", input=items, tools=tools, **options)
        return list(answer) if streamed else answer


def claude(server: MockModelServer, context: Context, streamed: bool) -> Any:
    tools: Any = [{"name": "look_up", "input_schema": PARAMETERS}]
    request: Any = {"messages": context.for_model(), "system": context.system, "tools": tools, "max_tokens": 3_000}
    request |= {"thinking": {"type": "enabled", "budget_tokens": 1_024}}
    with anthropic.Anthropic(base_url=server.url, api_key="k") as client:
        answer = client.messages.create(model="mock-model", stream=streamed, **request)
        return list(answer) if streamed else answer


def gemini(server: MockModelServer, context: Context, streamed: bool) -> Any:
    declared = {"name": "look_up", "parameters_json_schema": PARAMETERS}
    contents: Any = context.for_model()
    config: Any = {"system_instruction": context.system, "tools": [{"function_declarations": [declared]}]}
    with genai.Client(api_key="k", http_options={"base_url": server.url}) as client:
        if streamed:
            return list(client.models.generate_content_stream(model="mock-model", contents=contents, config=config))
        return client.models.generate_content(model="mock-model", contents=contents, config=config)


ASKED: dict[ApiName, Ask] = {"chat": chat, "responses": responses, "anthropic": claude, "gemini": gemini}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", ASKED)
def test_an_agent_with_tools_goes_over_its_threshold_and_on(api: ApiName, streamed: bool, server: MockModelServer):
    policy = Compression(limit=500, keep=Keep(share=0.3), strategy=LlmSummary(model=MockModel("The user asked.")))
    context = Context(system="Be brief.", compression=policy, api=api)
    for turn in range(6):
        context.add("user", f"Where is order A{turn}? {'please ' * 20}")
        context.answered(ASKED[api](server, context, streamed))
        calls = [call for entry in context.messages[-3:] for call in entry.calls]
        assert len(calls) == 1
        context.add("tool", json.dumps({"found": turn, "more": "word " * 30}), call=calls[0] or None)
        entry = context.answered(ASKED[api](server, context, streamed))
        assert entry is not None
        assert "on its way" in entry.text
        check_valid(context.messages)
    assert context.stats.compressions >= 2
    assert context.stats.basis == "calibrated"
    assert [entry.role for entry in context.messages if entry.kind == "summary"] == ["user"]
