"""Converse and ConverseStream through boto3: what is recorded, resumed and forked."""

import contextlib
import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import wrapt
from botocore.eventstream import EventStream
from botocore.exceptions import ClientError

import playhead
from playhead import observe
from playhead.capture.botocore import _make_api_call
from playhead.capture.botocore.streams import restore
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.span import STATUS_ERROR
from playhead.testing import (
    MockModelServer,
    contains,
    dropped_connection,
    rate_limit,
    sequence,
    text,
    thinking,
    tool_call,
)
from tests.support.journal_reader import Recording
from tests.support.processor_time import assert_takes_at_most
from tests.wire.bedrock.boto_client import bedrock_client

MODEL = "us.anthropic.claude-sonnet-4-20250514-v1:0"
HELLO: list[Any] = [{"role": "user", "content": [{"text": "hello"}]}]
TOOL: dict[str, Any] = {"toolSpec": {"name": "look_up", "description": "Looks up.", "inputSchema": {"json": {}}}}
REQUEST: dict[str, Any] = {
    "modelId": MODEL,
    "system": [{"text": "be kind"}, {"cachePoint": {"type": "default"}}],
    "inferenceConfig": {"maxTokens": 50, "temperature": 0.5, "topP": 0.9},
    "toolConfig": {"tools": [TOOL], "toolChoice": {"auto": {}}},
    "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
}
SAID = thinking("look it up") + text("Let me see.") + tool_call("look_up", {"order": "A1"}, call_id="t1")


@pytest.mark.covers("botocore", "spans", "messages", "tools", "usage", "reasoning")
def test_a_call_is_recorded_with_its_messages_tools_settings_and_usage(
    recording: Recording, server: MockModelServer, client: Any
) -> None:
    server.otherwise(SAID)
    image = {"image": {"format": "png", "source": {"bytes": b"\x00\xff"}}}
    answer = client.converse(messages=[{"role": "user", "content": [{"text": "what?"}, image]}], **REQUEST)
    assert answer["output"]["message"]["content"][2]["toolUse"]["input"] == {"order": "A1"}
    seen = recording.read()
    [span] = seen.calls(MODEL)
    said = span.attributes
    assert (said[names.PROVIDER], said[names.OPERATION], said[names.KIND]) == ("aws.bedrock", "chat", "llm")
    assert (said[names.REQUEST_MAX_TOKENS], said[names.REQUEST_TEMPERATURE], said[names.REQUEST_TOP_P]) == (
        50,
        0.5,
        0.9,
    )
    assert said[names.FINISH_REASONS] == ["tool_calls"]
    assert said[names.INPUT_TOKENS] == answer["usage"]["inputTokens"]
    assert said[names.OUTPUT_TOKENS] == answer["usage"]["outputTokens"]
    assert said[names.CACHE_READ_TOKENS] == 0
    assert said[names.RESPONSE_ID] == answer["ResponseMetadata"]["RequestId"]
    assert seen.messages(said[names.INPUT_MESSAGES_REF]) == [
        {"role": "system", "parts": [{"type": "text", "content": "be kind"}]},
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "what?"},
                {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "AP8="},
            ],
        },
    ]
    [output] = seen.messages(said[names.OUTPUT_MESSAGES_REF])
    assert [part["type"] for part in output["parts"]] == ["reasoning", "text", "tool_call"]
    assert seen.value(span, names.REASONING_REF) == "look it up"
    assert seen.value(span, names.TOOL_DEFINITIONS_REF) == [TOOL]
    settings = seen.value(span, names.REQUEST_REF)
    assert settings["toolConfig"] == {"toolChoice": {"auto": {}}}
    assert settings["guardrailConfig"] == REQUEST["guardrailConfig"]


def test_cached_tokens_are_input_tokens(recording: Recording, server: MockModelServer, client: Any) -> None:
    server.otherwise(text("x"))
    for _ in range(2):
        usage = client.converse(modelId=MODEL, messages=HELLO)["usage"]
    [_, second] = recording.read().calls(MODEL)
    assert usage["cacheReadInputTokens"] > 0
    assert second.attributes[names.CACHE_READ_TOKENS] == usage["cacheReadInputTokens"]
    assert second.attributes[names.INPUT_TOKENS] == usage["inputTokens"] + usage["cacheReadInputTokens"]


@pytest.mark.covers("botocore", "streaming")
def test_a_streamed_answer_is_recorded_as_the_unstreamed_one(
    recording: Recording, server: MockModelServer, client: Any
) -> None:
    server.otherwise(SAID)
    client.converse(messages=HELLO, **REQUEST)
    response = client.converse_stream(messages=HELLO, **REQUEST)
    # An object that stands for the client's `EventStream`, and has its methods.
    assert response["stream"].get_initial_response.__func__ is EventStream.get_initial_response
    events = list(response["stream"])
    assert events[0] == {"messageStart": {"role": "assistant"}}
    seen = recording.read()
    [whole, streamed] = seen.calls(MODEL)
    assert streamed.attributes[names.REQUEST_STREAM] is True
    assert streamed.attributes[names.TIME_TO_FIRST_CHUNK] > 0
    for name in (names.OUTPUT_MESSAGES_REF, names.FINISH_REASONS, names.OUTPUT_TOKENS, names.REASONING_REF):
        assert streamed.attributes[name] == whole.attributes[name]


# The client leaves the connection of a stream that was dropped open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_streams_that_are_left_early_or_dropped_end_their_calls(
    recording: Recording, server: MockModelServer, client: Any
) -> None:
    server.otherwise(text("one two three four five six seven eight"))
    closed = client.converse_stream(modelId=MODEL, messages=HELLO)["stream"]
    next(iter(closed))
    closed.close()
    dropped = client.converse_stream(modelId=MODEL, messages=HELLO)["stream"]
    next(iter(dropped))
    dropped = closed = None
    gc.collect()
    client.close()
    ended = recording.read().calls(MODEL)
    assert [span.attributes[names.OUTCOME] for span in ended] == ["aborted", "aborted"]


@pytest.mark.covers("botocore", "errors")
def test_retries_are_one_call_and_errors_are_the_clients(recording: Recording, server: MockModelServer) -> None:
    client = bedrock_client(server, retries=2)
    server.when(sequence(1), rate_limit(0))
    server.when(sequence(2), text("now"))
    server.otherwise(rate_limit(0))
    answer = client.converse(modelId=MODEL, messages=HELLO)
    assert answer["ResponseMetadata"]["RetryAttempts"] == 1
    with pytest.raises(client.exceptions.ThrottlingException):
        client.converse(modelId=MODEL, messages=HELLO)
    client.close()
    retried, failed = recording.read().calls(MODEL)
    assert (retried.status, failed.status) == (0, STATUS_ERROR)
    assert failed.attributes[names.ERROR_TYPE].endswith("ThrottlingException")


def test_a_broken_stream_is_an_error_with_what_came(recording: Recording, server: MockModelServer, client: Any) -> None:
    server.otherwise(dropped_connection(text("one two three four five six seven eight"), after_chunks=3))
    with pytest.raises(Exception, match=r"."):
        list(client.converse_stream(modelId=MODEL, messages=HELLO)["stream"])
    seen = recording.read()
    span = seen.call(MODEL)
    assert span.status == STATUS_ERROR
    [said] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    assert said["parts"][0]["content"].startswith("one two")


@observe(kind="tool")
def look_up(order: str) -> str:
    executed.append(order)
    return "late"


executed: list[str] = []


def agent(client: Any) -> list[Any]:
    """A tool's turn, a stream, an error."""
    said: list[Any] = []
    with playhead.run("agent"):
        messages = [*HELLO]
        answer = client.converse(messages=messages, **REQUEST)
        messages.append(answer["output"]["message"])
        said.append(answer["output"])
        use = answer["output"]["message"]["content"][-1]["toolUse"]
        result = {"toolUseId": use["toolUseId"], "content": [{"text": look_up(**use["input"])}]}
        messages.append({"role": "user", "content": [{"toolResult": result}]})
        stream = client.converse_stream(messages=messages, **REQUEST)["stream"]
        said += stream
        stream.close()
        try:
            client.converse(modelId=MODEL, messages=[{"role": "user", "content": [{"text": "fail"}]}])
        except client.exceptions.ThrottlingException as error:
            said.append((error.response["Error"]["Code"], error.operation_name))
    return said


@pytest.fixture
def recorded(recording: Recording, server: MockModelServer, client: Any) -> tuple[str, list[Any]]:
    executed.clear()
    server.when(contains("fail"), rate_limit(0))
    server.when(sequence(1), SAID)
    server.otherwise(thinking("so") + text("It is late, sorry."))
    said = agent(client)
    [run] = {span.attributes[names.RUN_ID] for span in recording.read().spans}
    return str(run), said


@pytest.mark.covers("botocore", "resume")
def test_a_resumed_run_gets_the_clients_own_objects_and_asks_nothing(
    recorded: tuple[str, list[Any]], server: MockModelServer, client: Any
) -> None:
    run, said = recorded
    asked = len(server.requests)
    with playhead.resume(run) as resumed:
        assert agent(client) == said
    assert (len(server.requests), executed) == (asked, ["A1"])
    assert resumed.report.answered == 4


def test_the_tool_is_the_one_that_the_model_asked_for(recorded: tuple[str, list[Any]], recording: Recording) -> None:
    assert recording.read().call("look_up").attributes[names.TOOL_CALL_ID] == "t1"


@pytest.mark.covers("botocore", "fork")
def test_a_fork_answers_otherwise(recorded: tuple[str, list[Any]], client: Any) -> None:
    run, said = recorded
    with playhead.fork(run, at="chat#2", outcome="Never mind."):
        other = agent(client)
    assert other[0] == said[0]
    assert {"contentBlockDelta": {"delta": {"text": "Never mind."}, "contentBlockIndex": 0}} in other


@pytest.mark.covers("botocore", "fork")
def test_a_fork_asks_otherwise(recorded: tuple[str, list[Any]], server: MockModelServer, client: Any) -> None:
    run, _ = recorded
    with playhead.fork(run, at="chat#2", outcome={"system": "be terse"}):
        agent(client)
    asked = server.requests[-2]
    assert asked.body["system"] == [{"text": "be terse"}]
    assert asked.body["messages"][1]["content"][-1]["toolUse"]["toolUseId"] == "t1"


def test_an_error_can_be_caught_as_any_error_of_the_client(recorded: tuple[str, list[Any]], client: Any) -> None:
    with playhead.resume(recorded[0]), pytest.raises(ClientError), playhead.run("agent"):
        agent_that_does_not_catch(client)


def agent_that_does_not_catch(client: Any) -> None:
    messages = [*HELLO]
    answer = client.converse(messages=messages, **REQUEST)
    use = answer["output"]["message"]["content"][-1]["toolUse"]
    result = {"toolUseId": use["toolUseId"], "content": [{"text": look_up(**use["input"])}]}
    messages += [answer["output"]["message"], {"role": "user", "content": [{"toolResult": result}]}]
    list(client.converse_stream(messages=messages, **REQUEST)["stream"])
    client.converse(modelId=MODEL, messages=[{"role": "user", "content": [{"text": "fail"}]}])


def test_a_block_that_this_version_of_the_client_does_not_know_is_given_back_as_the_client_had_it(client: Any) -> None:
    content = [{"text": "x"}, {"SDK_UNKNOWN_MEMBER": {"name": "hologram"}}]
    body = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"}
    answer: Any = restore({"headers": {}, "body": body}, client, "Converse", None)
    assert answer["output"]["message"]["content"] == content
    events: list[Any] = [{"contentBlockStart": {"start": content[1], "contentBlockIndex": 0}}]
    streamed: Any = restore({"headers": {}, "stream": events}, client, "ConverseStream", None)
    assert list(streamed["stream"]) == events


@pytest.mark.parametrize("raw", [None, {"body": {}}, {"$playhead": "too_large"}, {"stream": [{"chunk": {}}]}])
def test_an_answer_that_was_not_kept_cannot_be_restored(client: Any, raw: Any) -> None:
    with pytest.raises(CannotRestore):
        restore(raw, client, "InvokeModelWithResponseStream", None)


def test_calls_of_other_services_cost_the_same_and_are_unchanged(server: MockModelServer) -> None:
    other = bedrock_client(server, service="sqs")
    answer: Any = (SimpleNamespace(status_code=200), {"QueueUrls": ["u"]})
    other.meta.events.register("before-call.sqs.ListQueues", lambda **_: answer)
    assert other.list_queues() == {"QueueUrls": ["u"]}
    wrap: Any = wrapt.FunctionWrapper
    nothing = wrap(lambda *_: None, lambda wrapped, _, args, kwargs: _make_api_call(wrapped, other, args, kwargs))

    def times(count: int, call: Callable[[], Any]) -> Callable[[], None]:
        def work() -> None:
            for _ in range(count):
                call()

        return work

    # At most a tenth for each call; about one hundredth.
    assert_takes_at_most(5, times(5_000, lambda: nothing("ListQueues", {})), times(100, other.list_queues))
    other.close()


def test_a_program_that_takes_events_apart_changes_nothing_in_the_record(
    recording: Recording, server: MockModelServer, client: Any
) -> None:
    server.otherwise(text("one two three"))

    def ask() -> int:
        with playhead.run("agent"):
            stream = client.converse_stream(modelId=MODEL, messages=HELLO)["stream"]
            return sum(event.get("metadata", {}).pop("usage", {}).get("outputTokens", 0) for event in stream)

    tokens = ask()
    span = recording.read().call(MODEL)
    assert span.attributes[names.OUTPUT_TOKENS] == tokens > 0
    with playhead.resume(span.attributes[names.RUN_ID]):
        assert ask() == tokens


def test_the_mock_server_takes_the_access_key_for_its_key() -> None:
    with MockModelServer(api_key="AKIDEXAMPLE") as server:
        server.otherwise(text("x"))
        client = bedrock_client(server)
        assert client.converse(modelId=MODEL, messages=HELLO)["stopReason"] == "end_turn"
        client.close()
    with (
        MockModelServer(api_key="another") as server,
        contextlib.closing(bedrock_client(server)) as client,
        pytest.raises(ClientError, match="UnrecognizedClient"),
    ):
        client.converse(modelId=MODEL, messages=HELLO)
