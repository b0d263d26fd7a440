"""The real `openai` client's Responses over loopback: what its calls record, and that a record answers them again."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import ParsedResponse, Response
from pydantic import BaseModel

import playhead
from playhead import observe
from playhead.errors import ReplayDiverged
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import (
    MockModelServer,
    any_request,
    contains,
    dropped_connection,
    pytest_plugin,
    rate_limit,
    text,
    thinking,
    tool_call,
    tool_result_received,
)
from tests.support.journal_reader import Journaled, Recording, start_recording

server = pytest_plugin.mock_model_server
LONG = "Here is an answer that is long enough for a number of events, so that a stream can be left in the middle."
TOOLS: list[Any] = [{"type": "function", "name": "lookup", "parameters": {"type": "object"}, "strict": False}]


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai")
        yield recording
        playhead.uninstrument("openai")


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if record.name == "playhead"] == []


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    server.otherwise(text(LONG))
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def async_client(server: MockModelServer) -> openai.AsyncOpenAI:
    server.otherwise(text(LONG))
    return openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)


def model_calls(seen: Journaled) -> list[Span]:
    return [span for span in seen.spans if span.attributes[names.KIND] == "llm"]


def only_call(recording: Recording) -> tuple[Journaled, Span]:
    seen = recording.read()
    [span] = model_calls(seen)
    return seen, span


def asked(seen: Journaled, span: Span) -> list[Any]:
    return seen.messages(span.attributes[names.INPUT_MESSAGES_REF])


def answered(seen: Journaled, span: Span) -> list[Any]:
    return seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])


def texts(messages: list[Any]) -> list[Any]:
    return [part.get("content") for message in messages for part in message["parts"]]


def again(server: MockModelServer, program: Callable[[], Any]) -> tuple[Any, Any]:
    """What the program gave live, and what it gives from the record; no request is made for the second."""
    with playhead.run("r") as run:
        live = program()
    requests = len(server.requests)
    assert run.id is not None
    with playhead.resume(run.id) as resumed, playhead.run("r"):
        replayed = program()
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    return live, replayed


# --- one answer -------------------------------------------------------------------------------------------------------


@pytest.mark.covers("openai", "spans", "messages")
def test_a_call_records_what_was_asked_and_what_came_back(recording: Recording, client: openai.OpenAI):
    response = client.responses.create(
        model="m", input="hello", instructions="be kind", tools=TOOLS, temperature=0.5, max_output_tokens=100
    )
    seen, span = only_call(recording)
    said = span.attributes
    assert (span.name, span.kind, span.status) == ("chat m", 3, 0)
    assert (said[names.REQUEST_TEMPERATURE], said[names.REQUEST_MAX_TOKENS]) == (0.5, 100)
    assert (said[names.RESPONSE_ID], said[names.RESPONSE_MODEL]) == (response.id, "m")
    assert said[names.FINISH_REASONS] == ["stop"]
    assert response.usage is not None
    assert said[names.INPUT_TOKENS] == response.usage.input_tokens
    assert said[names.OUTPUT_TOKENS] == response.usage.output_tokens
    assert (said[names.CACHE_READ_TOKENS], said[names.REASONING_TOKENS]) == (0, 0)
    assert asked(seen, span) == [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
    assert texts(answered(seen, span)) == [LONG]
    assert seen.value(span, names.SYSTEM_INSTRUCTIONS_REF) == "be kind"
    assert seen.value(span, names.TOOL_DEFINITIONS_REF) == TOOLS
    assert seen.value(span, names.REQUEST_REF) == {"model": "m", "temperature": 0.5, "max_output_tokens": 100}
    assert seen.value(span, names.RESPONSE_REF) == response.model_dump(mode="json", exclude_unset=True)


async def test_the_asynchronous_client_is_the_same(recording: Recording, server: MockModelServer):
    async with async_client(server) as client:
        response = await client.responses.create(model="m", input=[{"role": "user", "content": "hello"}])
    assert (type(response), response.output_text) == (Response, LONG)
    seen, span = only_call(recording)
    assert texts(answered(seen, span)) == [LONG]


def test_results_are_what_they_are_without_playhead(client: openai.OpenAI):
    observed = client.responses.create(model="m", input="hello")
    playhead.uninstrument("openai")
    bare = client.responses.create(model="m", input="hello")
    ignored = {"id", "created_at", "usage", "output"}
    assert type(observed) is type(bare) is Response
    assert observed.model_dump(exclude=ignored) == bare.model_dump(exclude=ignored)
    assert observed.output_text == bare.output_text


@pytest.mark.covers("openai", "reasoning")
def test_what_a_model_thinks_stands_apart_and_stays_in_the_conversation(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    server.when(any_request(), thinking("let me see") + text("done"))
    client.responses.create(model="m", input="hello")
    seen, span = only_call(recording)
    assert seen.value(span, names.REASONING_REF) == "let me see"
    assert texts(answered(seen, span)) == ["let me see", "done"]


def test_reasoning_is_left_out_of_the_answer_where_it_is_not_to_be_recorded(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    recording.configure(capture_reasoning=False)
    server.when(any_request(), thinking("let me see") + text("done"))
    client.responses.create(model="m", input="hello")
    seen, span = only_call(recording)
    assert names.REASONING_REF not in span.attributes
    assert texts(answered(seen, span)) == ["done"]


def test_an_answer_that_was_cut_off_says_why(recording: Recording, client: openai.OpenAI, server: MockModelServer):
    server.when(any_request(), text("cut", finish_reason="length"))
    client.responses.create(model="m", input="hello")
    assert only_call(recording)[1].attributes[names.FINISH_REASONS] == ["length"]


# --- conversations ----------------------------------------------------------------------------------------------------


def agent(client: openai.OpenAI, **more: Any) -> str:
    """Sends the whole history each time, as the client's objects."""
    history: list[Any] = [{"role": "user", "content": "Where is A1?"}]
    while True:
        response = client.responses.create(model="m", input=history, tools=TOOLS, **more)
        history += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        for call in calls:
            found = lookup(**json.loads(call.arguments))
            history.append({"type": "function_call_output", "call_id": call.call_id, "output": found})


def chained(client: openai.OpenAI) -> str:
    """Lets the server keep the history."""
    response = client.responses.create(model="m", input="Where is A1?", tools=TOOLS)
    while calls := [item for item in response.output if item.type == "function_call"]:
        results: list[Any] = [
            {"type": "function_call_output", "call_id": call.call_id, "output": lookup(**json.loads(call.arguments))}
            for call in calls
        ]
        response = client.responses.create(model="m", input=results, tools=TOOLS, previous_response_id=response.id)
    return response.output_text


@observe(kind="tool")
def lookup(order: str, verbose: bool = False) -> str:
    return f"{order} is late"


@pytest.mark.covers("openai", "tools")
@pytest.mark.parametrize("converse", [agent, chained])
def test_the_answer_of_one_call_is_part_of_the_next_and_tools_meet_their_calls(
    recording: Recording, client: openai.OpenAI, server: MockModelServer, converse: Callable[[openai.OpenAI], str]
):
    server.when(~tool_result_received("lookup"), thinking("hm") + tool_call("lookup", {"order": "A1"}, call_id="c1"))
    with playhead.run("r"):
        assert converse(client) == LONG
    seen = recording.read()
    first, second = model_calls(seen)
    assert first.attributes[names.FINISH_REASONS] == ["tool_calls"]
    assert asked(seen, second)[:-1] == [*asked(seen, first), *answered(seen, first)]
    [part] = asked(seen, second)[-1]["parts"]
    assert part == {"type": "tool_call_response", "id": "c1", "response": "A1 is late"}
    assert seen.call("lookup").attributes[names.TOOL_CALL_ID] == "c1"
    assert names.TOOL_CALL_ID not in seen.input("lookup")


@pytest.mark.covers("openai", "resume")
@pytest.mark.parametrize("converse", [agent, chained])
def test_a_conversation_is_answered_from_its_record(
    client: openai.OpenAI, server: MockModelServer, converse: Callable[[openai.OpenAI], str]
):
    server.when(~tool_result_received("lookup"), thinking("hm") + tool_call("lookup", {"order": "A1"}))
    live, replayed = again(server, lambda: converse(client))
    assert live == replayed == LONG


def test_what_only_the_server_knows_of_a_conversation_is_said(recording: Recording, client: openai.OpenAI):
    before = client.responses.create(model="m", input="hello")
    with playhead.run("other"):
        client.responses.create(model="m", input="and?", previous_response_id=before.id)
    seen = recording.read()
    missing, sent = asked(seen, model_calls(seen)[1])
    assert missing["parts"] == [{"type": "playhead.elsewhere", "previous_response_id": before.id}]
    assert texts([sent]) == ["and?"]


def test_a_changed_instruction_is_not_answered_from_the_record(client: openai.OpenAI, server: MockModelServer):
    with playhead.run("r") as run:
        client.responses.create(model="m", input="hello", instructions="be kind")
    assert run.id is not None
    with (
        playhead.resume(run.id, on_divergence="raise"),
        pytest.raises(ReplayDiverged, match="be kind"),
        playhead.run("r"),
    ):
        client.responses.create(model="m", input="hello", instructions="be terse")


# --- replay: what the program gets is what it got ---------------------------------------------------------------------


class Weather(BaseModel):
    city: str
    degrees: float


def test_a_response_is_the_one_that_the_user_got(client: openai.OpenAI, server: MockModelServer):
    server.when(any_request(), thinking("hm") + text("é\u2028") + tool_call("t", {"a": 1}))
    live, replayed = again(server, lambda: client.responses.create(model="m", input="hello"))
    assert type(live) is type(replayed) is Response
    assert replayed == live
    assert replayed.model_fields_set == live.model_fields_set
    assert replayed.output_text == "é\u2028"


def test_a_parsed_response_is_parsed_again(recording: Recording, client: openai.OpenAI, server: MockModelServer):
    server.when(any_request(), text('{"city": "Bern", "degrees": 7.5}'))
    live, replayed = again(server, lambda: client.responses.parse(model="m", input="hello", text_format=Weather))
    assert type(replayed) is type(live)
    assert isinstance(replayed, ParsedResponse)
    assert live.output_parsed == replayed.output_parsed == Weather(city="Bern", degrees=7.5)
    seen, span = only_call(recording)
    assert "parsed" not in json.dumps(seen.value(span, names.RESPONSE_REF))
    assert seen.value(span, names.REQUEST_REF)["text"]["format"]["name"] == "Weather"


@pytest.mark.covers("openai", "resume", "streaming")
def test_a_stream_comes_again_event_by_event(recording: Recording, client: openai.OpenAI, server: MockModelServer):
    server.when(any_request(), thinking("let me see") + text(LONG) + tool_call("t", {"a": "x" * 60}))
    live, replayed = again(server, lambda: list(client.responses.create(model="m", input="hello", stream=True)))
    assert [type(event) for event in replayed] == [type(event) for event in live]
    assert replayed == live
    assert len(live) > 20
    seen, span = only_call(recording)
    assert span.attributes[names.TIME_TO_FIRST_CHUNK] > 0
    assert span.attributes[names.INPUT_TOKENS] > 0
    assert texts(answered(seen, span))[:2] == ["let me see", LONG]


async def test_so_does_one_of_the_asynchronous_client(server: MockModelServer):
    async with async_client(server) as client:

        async def ask() -> list[Any]:
            async with client.responses.with_streaming_response.create(model="m", input="hi", stream=True) as response:
                stream: Any = await response.parse()
                return [event async for event in stream]

        with playhead.run("r") as run:
            live = await ask()
        assert run.id is not None
        with playhead.resume(run.id) as resumed, playhead.run("r"):
            assert await ask() == live
        assert (resumed.report.answered, resumed.report.live) == (1, 0)
    assert live[-1].response.output_text == LONG


def test_the_stream_helper_works_on_a_replayed_stream(client: openai.OpenAI, server: MockModelServer):
    server.when(any_request(), text('{"city": "Bern", "degrees": 7.5}'))

    def ask() -> Any:
        with client.responses.stream(model="m", input="hello", text_format=Weather) as stream:
            return [event.type for event in stream], stream.get_final_response().output_parsed

    live, replayed = again(server, ask)
    assert live == replayed
    assert replayed[1] == Weather(city="Bern", degrees=7.5)


def test_raw_responses_can_be_read_again(client: openai.OpenAI, server: MockModelServer):
    def ask() -> Any:
        raw = client.responses.with_raw_response.create(model="m", input="hello")
        with client.responses.with_streaming_response.create(model="m", input="again") as opened:
            return raw.parse(), raw.status_code, opened.parse()

    live, replayed = again(server, ask)
    assert replayed == live
    assert replayed[2].output_text == LONG


def test_a_stream_that_is_left_early_has_what_came_until_then(recording: Recording, client: openai.OpenAI):
    with client.responses.create(model="m", input="hello", stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                break
    seen, span = only_call(recording)
    assert span.attributes[names.OUTCOME] == "aborted"
    assert texts(answered(seen, span)) == [LONG[:16]]
    assert names.RESPONSE_ID in span.attributes


def test_a_stream_that_breaks_is_an_error_with_what_came_until_then(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    server.when(any_request(), dropped_connection(text(LONG), after_chunks=6))
    with pytest.raises(openai.APIConnectionError):
        list(client.responses.create(model="m", input="hello", stream=True))
    seen, span = only_call(recording)
    assert span.status == 2
    assert texts(answered(seen, span)) == [LONG[:32]]


def test_an_error_is_the_clients_own_and_comes_again(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    server.when(contains("too often"), rate_limit(0))

    def ask() -> Any:
        with pytest.raises(openai.RateLimitError) as caught:
            client.responses.create(model="m", input="too often")
        return str(caught.value)

    live, replayed = again(server, ask)
    assert live == replayed
    assert only_call(recording)[1].attributes[names.ERROR_TYPE] == "openai.RateLimitError"


# --- forks ------------------------------------------------------------------------------------------------------------


THOUGHT = {"type": "reasoning", "summary": []}


@pytest.mark.covers("openai", "fork")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "said",
    [
        "no",
        {"role": "assistant", "content": "no"},
        {"output": [{"type": "reasoning", "summary": []}, {"content": "no"}]},
    ],
)
def test_a_fork_can_have_the_model_say_something_else(client: openai.OpenAI, stream: bool, said: Any):
    def ask() -> str:
        if not stream:
            return client.responses.create(model="m", input="hello").output_text
        with client.responses.stream(model="m", input="hello") as events:
            return events.get_final_response().output_text

    with playhead.run("r") as run:
        ask()
    assert run.id is not None
    with playhead.fork(run.id, at="chat", outcome={"message": said}), playhead.run("r"):
        assert ask() == "no"
