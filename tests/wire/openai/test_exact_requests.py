"""`context?exact=true`: the request's body as it went over the wire, compared value by value and key by key."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
)
from openai.types.responses import FunctionTool, ToolChoiceFunction
from openai.types.shared import FunctionDefinition, Reasoning, ResponseFormatJSONObject, ResponseFormatText
from pydantic import BaseModel

import playhead
from playhead.client import Client
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call
from playhead_collector.process import CollectorProcess

server = pytest_plugin.mock_model_server
HELLO: list[Any] = [{"role": "user", "content": "hello"}]


class Answer(BaseModel):
    n: int


@pytest.fixture
def client(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with Client(collector.url) as client:
        playhead.shutdown()
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "journal", record="always")
        playhead.instrument("openai")
        yield client
        playhead.shutdown()
        playhead.uninstrument("openai")


class ChatText(BaseModel):
    """A part of a message, as an object: the client has a dictionary for it only."""

    type: str
    text: str
    detail: str | None = None


class ChatTool(BaseModel):
    type: str
    function: FunctionDefinition


class Wire:
    """What the client sends, read from its HTTP requests."""

    def __init__(self, url: str) -> None:
        self.bodies: list[Any] = []
        hooks: Any = {"request": [self._sent]}
        http = openai.DefaultHttpxClient(trust_env=False, event_hooks=hooks)
        self.openai = openai.OpenAI(base_url=url, api_key="none", max_retries=0, http_client=http)
        self.url = url

    def later(self) -> openai.AsyncOpenAI:
        async def sent(request: Any) -> None:
            self._sent(request)

        http = openai.DefaultAsyncHttpxClient(trust_env=False, event_hooks={"request": [sent]})
        return openai.AsyncOpenAI(base_url=self.url, api_key="none", max_retries=0, http_client=http)

    def close(self) -> None:
        self.openai.close()

    def _sent(self, request: Any) -> None:
        self.bodies.append(json.loads(request.content))


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart, and a key that is null from one that is not there."""
    return json.dumps(value, sort_keys=True, indent=1)


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"b": 1.0,  "a": "\\u00e9"}'}}
HISTORY: list[Any] = [
    {"role": "system", "content": "Be brief.", "name": None},
    {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "text", "text": "And this?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None, "annotations": []},
    {"role": "tool", "tool_call_id": "c1", "content": "", "name": "look"},
    {"role": "assistant", "content": "", "tool_calls": []},
    {"role": "developer", "content": "Now answer."},
    {"role": "assistant", "content": "x", "tool_calls": None, "weight": 1, "audio": {"id": "a", "expires_at": None}},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "x": None}}]},
]  # fmt: skip
TOOL: Any = {
    "type": "function",
    "function": {"name": "look", "strict": None, "parameters": {"type": "object", "default": None}},
}


def growing(wire: Wire) -> None:
    for upto in range(1, len(HISTORY) + 1):
        wire.openai.chat.completions.create(model="m", messages=HISTORY[:upto], tools=[TOOL])


def own_objects(wire: Wire) -> None:
    create: Any = wire.openai.chat.completions.create
    messages: list[Any] = [*HELLO]
    tool: Any = openai.pydantic_function_tool(Answer)
    answered = wire.openai.chat.completions.parse(model="m", messages=messages, response_format=Answer, tools=[tool])
    messages.append(answered.choices[0].message)
    create(model="m", messages=messages)
    streamed = wire.openai.chat.completions.stream(model="m", messages=[*HELLO], tools=[tool])
    with streamed as stream:
        final = stream.get_final_completion()
    create(model="m", messages=[*messages, final.choices[0].message])


def settings(wire: Wire) -> None:
    create: Any = wire.openai.chat.completions.create
    extra = {"top_k": 5, "model": "other", "nothing": None, "left": openai.omit}
    create(model="m", messages=HELLO, tools=[], stop=None, temperature=1, top_p=1.0, extra_body=extra)
    create(model="m", messages=HELLO, tools=None, n=1, seed=openai.omit, extra_headers={"x-a": "1"}, timeout=60)
    create(model="m", messages=[{"role": "user", "content": ""}], logit_bias={"5": 2**70, "6": -1}, stream=False)
    create(model="m", messages=iter([*HELLO, {"role": "user", "content": []}]), response_format={"type": "text"})


def edited_history(wire: Wire) -> None:
    create: Any = wire.openai.chat.completions.create
    create(model="m", messages=HISTORY)
    create(model="m", messages=[*HISTORY[:2], {**HISTORY[2], "annotations": None}, *HISTORY[3:]])
    create(model="m", messages=[*HISTORY[3:], *HISTORY])


def streams(wire: Wire) -> None:
    options: Any = {"include_usage": True}
    for _ in wire.openai.chat.completions.create(model="m", messages=HELLO, stream=True, stream_options=options):
        pass
    with wire.openai.chat.completions.stream(model="m", messages=HISTORY, response_format=Answer) as stream:
        for _ in stream:
            pass


def raw(wire: Wire) -> None:
    wire.openai.chat.completions.with_raw_response.create(model="m", messages=HISTORY).parse()
    with wire.openai.chat.completions.with_streaming_response.create(model="m", messages=HISTORY) as response:
        response.read()


def later(wire: Wire) -> None:
    async def ask() -> None:
        async with wire.later() as client:
            create: Any = client.chat.completions.create
            await asyncio.gather(*(create(model="m", messages=HISTORY[:upto]) for upto in range(1, 9)))

    asyncio.run(ask())


ITEMS: list[Any] = [
    {"type": "message", "role": "user", "content": "hi", "status": "completed", "id": "msg_1"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"b": 1, "a": 2}'},
    {"type": "function_call_output", "call_id": "c1", "output": "found", "id": None},
    {"role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": [], "logprobs": None}]},
    {"role": "user", "content": [{"type": "input_text", "text": "so?"}]},
]


def responses(wire: Wire) -> None:
    create: Any = wire.openai.responses.create
    first = create(model="m", input="hello", instructions=None, tools=[])
    create(model="m", input=[*ITEMS, *first.output], instructions="", store=False, metadata=None)
    create(model="m", input=ITEMS[4:], previous_response_id=first.id, extra_body={"x": [None]})
    create(model="m", input="again", previous_response_id=first.id)
    wire.openai.responses.parse(model="m", input=ITEMS, text_format=Answer)
    wire.openai.responses.parse(model="m", input="n?", text_format=Answer, text={"verbosity": "low"})
    with wire.openai.responses.stream(model="m", input="n?", text_format=Answer) as stream:
        for _ in stream:
            pass


def given_objects(wire: Wire) -> None:
    """Settings, tools and parts of messages that are objects of classes, alone and in dictionaries."""
    answer, chat = wire.openai.responses.create, wire.openai.chat.completions.create
    ask: Any = answer
    tool = FunctionTool(type="function", name="look", parameters={"type": "object"}, strict=False)
    ask(model="m", input="hello", reasoning=Reasoning(effort="none"), tools=[tool])
    text_form = {"format": ResponseFormatText(type="text"), "verbosity": openai.omit}
    ask(model="m", input="hello", text=text_form, tool_choice=ToolChoiceFunction(type="function", name="look"))
    ask = chat
    messages = [{"role": "user", "content": [ChatText(type="text", text="hello")]}]
    ask(model="m", messages=messages, response_format=ResponseFormatJSONObject(type="json_object"))
    ask(model="m", messages=messages, tools=(ChatTool(type="function", function=FunctionDefinition(name="look")),))


def by_agents(wire: Wire) -> None:
    """OpenAI Agents gives the client objects of its classes."""

    async def ask() -> None:
        async with wire.later() as client:
            for model in (OpenAIResponsesModel("m", client), OpenAIChatCompletionsModel("m", client)):
                chosen = ModelSettings(reasoning=Reasoning(effort="none"), temperature=0.5, parallel_tool_calls=True)
                agent = Agent(name="clerk", model=model, model_settings=chosen, tools=[look], output_type=Answer)
                await Runner.run(agent, "hello", run_config=RunConfig(tracing_disabled=True))

    asyncio.run(ask())


@function_tool
def look(city: str) -> str:
    """Looks."""
    return city


# The client warns when it sends its own parsed objects back.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize(
    "ask",
    [growing, own_objects, settings, edited_history, streams, raw, later, responses, given_objects, by_agents],
    ids=lambda ask: ask.__name__,
)
def test_the_request_is_given_back_as_it_was_sent(client: Client, server: MockModelServer, ask: Callable[[Wire], None]):
    server.otherwise(text('{"n": 1}') + tool_call("Answer", {"n": 1}) if ask is own_objects else text('{"n": 1}'))
    with closing(Wire(server.base_url)) as wire, playhead.run("agent") as run:
        ask(wire)
    assert playhead.flush(60)
    assert run.id is not None
    calls = list(client.llm_calls(run.id))
    told = [client.context(run.id, at=call["seq"], exact=True).get("request") for call in calls]
    for rebuilt, sent in zip(sorted(map(as_text, told)), sorted(map(as_text, wire.bodies)), strict=True):
        assert rebuilt == sent
    assert len(told) >= 2


def test_a_call_that_somebody_else_recorded_has_no_exact_request(client: Client):
    @playhead.observe(kind="llm")
    def model(prompt: str) -> str:
        return prompt

    with playhead.run("agent") as run:
        model("hello")
    assert playhead.flush(60)
    with pytest.raises(playhead.PlayheadError, match="was recorded without its request"):
        client.context(run.id or "", exact=True)
    assert client.context(run.id or "")["input"] == {"prompt": "hello"}
