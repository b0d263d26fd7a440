"""InvokeModel: each family of models has an API of its own, and answers are bodies to read."""

import json
from typing import Any

import pytest
from botocore.response import StreamingBody

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, text, tool_call
from tests.support.journal_reader import Recording
from tests.wire.bedrock.boto_client import bedrock_client

BODIES: dict[str, dict[str, Any]] = {
    "anthropic.claude-3-5-sonnet-20240620-v1:0": {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 20,
        "system": "be kind",
        "messages": [{"role": "user", "content": "hello"}],
    },
    "us.amazon.nova-lite-v1:0": {
        "schemaVersion": "messages-v1",
        "system": [{"text": "be kind"}],
        "messages": [{"role": "user", "content": [{"text": "hello"}]}],
        "inferenceConfig": {"maxTokens": 20},
    },
    "mistral.mistral-large-2407-v1:0": {
        "messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}],
        "max_tokens": 20,
    },
    "meta.llama3-70b-instruct-v1:0": {"prompt": "hello", "max_gen_len": 20},
    "mistral.mistral-7b-instruct-v0:2": {"prompt": "hello", "max_tokens": 20},
    "cohere.command-text-v14": {"prompt": "hello", "max_tokens": 20},
    "cohere.command-r-v1:0": {
        "message": "hello",
        "preamble": "be kind",
        "chat_history": [{"role": "USER", "message": "hm"}, {"role": "CHATBOT", "message": "yes?"}],
    },
    "amazon.titan-text-express-v1": {"inputText": "hello", "textGenerationConfig": {"maxTokenCount": 20}},
}
SAID = "one two three four five six seven eight"
each_model = pytest.mark.parametrize("model", BODIES)


def invoke(client: Any, model: str) -> Any:
    return client.invoke_model(modelId=model, body=json.dumps(BODIES[model]))


@each_model
@pytest.mark.covers("botocore", "messages", "usage")
def test_requests_and_answers_are_messages(
    recording: Recording, server: MockModelServer, client: Any, model: str
) -> None:
    server.otherwise(text(SAID))
    answer = invoke(client, model)
    assert isinstance(answer["body"], StreamingBody)
    body = json.loads(answer["body"].read())
    assert SAID in json.dumps(body)
    seen = recording.read()
    [span] = seen.calls(model)
    asked = seen.messages(span.attributes[names.INPUT_MESSAGES_REF])
    assert asked[-1] == {"role": "user", "parts": [{"type": "text", "content": "hello"}]}
    [said] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    assert said == {"role": "assistant", "parts": [{"type": "text", "content": SAID}]}
    assert span.attributes[names.INPUT_TOKENS] > 0
    assert span.attributes[names.OUTPUT_TOKENS] > 0
    assert span.attributes[names.FINISH_REASONS]


@each_model
@pytest.mark.covers("botocore", "streaming", "resume")
def test_streams_are_recorded_and_given_back_chunk_by_chunk(
    recording: Recording, server: MockModelServer, client: Any, model: str
) -> None:
    server.otherwise(text(SAID))

    def ask() -> list[Any]:
        with playhead.run("agent"):
            body = json.dumps(BODIES[model])
            return list(client.invoke_model_with_response_stream(modelId=model, body=body)["body"])

    chunks = ask()
    assert len(chunks) > 2
    seen = recording.read()
    [span] = seen.calls(model)
    [said] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    assert said["parts"] == [{"type": "text", "content": SAID}]
    assert span.attributes[names.OUTPUT_TOKENS] > 0
    assert span.attributes[names.TIME_TO_FIRST_CHUNK] > 0
    with playhead.resume(span.attributes[names.RUN_ID]):
        assert ask() == chunks
    assert len(server.requests) == 1


def read_whole(body: Any) -> bytes:
    return body.read()


def read_in_pieces(body: Any) -> bytes:
    return b"".join(iter(lambda: body.read(7), b""))


def read_into(body: Any) -> bytes:
    buffer = bytearray(10_000)
    return bytes(buffer[: body.readinto(buffer)])


def iterate(body: Any) -> bytes:
    return b"".join(body.iter_chunks(5))


@pytest.mark.parametrize("read", [read_whole, read_in_pieces, read_into, iterate])
@pytest.mark.covers("botocore", "resume")
def test_a_body_is_the_programs_to_read_live_and_from_the_record(
    recording: Recording, server: MockModelServer, client: Any, read: Any
) -> None:
    server.otherwise(text(SAID))
    model = "meta.llama3-70b-instruct-v1:0"

    def ask() -> bytes:
        with playhead.run("agent"):
            return read(invoke(client, model)["body"])

    said = ask()
    span = recording.read().call(model)
    assert names.OUTCOME not in span.attributes
    with playhead.resume(span.attributes[names.RUN_ID]):
        assert ask() == said
    assert len(server.requests) == 1


def test_a_body_that_nobody_reads_ends_its_call(recording: Recording, server: MockModelServer, client: Any) -> None:
    server.otherwise(text(SAID))
    answer = invoke(client, "meta.llama3-70b-instruct-v1:0")
    answer["body"].close()
    assert recording.read().call("meta.llama3-70b-instruct-v1:0").attributes[names.OUTCOME] == "aborted"


def test_tool_calls_of_models_like_chat_completions(recording: Recording, server: MockModelServer, client: Any) -> None:
    server.otherwise(tool_call("look_up", {"order": "A1"}, call_id="t1"))
    model = "mistral.mistral-large-2407-v1:0"
    invoke(client, model)["body"].read()
    stream = client.invoke_model_with_response_stream(modelId=model, body=json.dumps(BODIES[model]))["body"]
    assert len(list(stream)) > 1
    seen = recording.read()
    for span in seen.calls(model):
        [said] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
        [part] = said["parts"]
        assert (part["name"], part["arguments"], part["id"]) == ("look_up", {"order": "A1"}, "t1")


@pytest.mark.covers("botocore", "fork")
@each_model
def test_a_fork_answers_otherwise(recording: Recording, server: MockModelServer, client: Any, model: str) -> None:
    server.otherwise(text(SAID))

    def ask() -> str:
        with playhead.run("agent"):
            return invoke(client, model)["body"].read().decode()

    ask()
    run = recording.read().call(model).attributes[names.RUN_ID]
    with playhead.fork(run, at="chat", outcome="Never mind."):
        changed = ask()
    assert "Never mind." in changed
    assert SAID not in changed


@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("amazon.titan-embed-text-v2:0", {"inputText": "hello", "dimensions": 8}),
        ("cohere.embed-english-v3", {"texts": ["a", "b"], "input_type": "search_query"}),
    ],
)
def test_embeddings_are_embeddings(
    recording: Recording, server: MockModelServer, client: Any, model: str, body: dict[str, Any]
) -> None:
    server.otherwise(text("x"))

    def ask() -> bytes:
        with playhead.run("agent"):
            return client.invoke_model(modelId=model, body=json.dumps(body))["body"].read()

    vectors = ask()
    span = recording.read().call(model)
    assert (span.attributes[names.KIND], span.attributes[names.OPERATION]) == ("embedding", "embeddings")
    with playhead.resume(span.attributes[names.RUN_ID]):
        assert ask() == vectors
    assert len(server.requests) == 1


def test_what_is_not_known_is_passed_on(recording: Recording, server: MockModelServer, client: Any) -> None:
    with pytest.raises(client.exceptions.ValidationException, match="not known here"):
        client.invoke_model(modelId="stability.sd3", body=json.dumps({"seed": 1}))
    assert recording.read().call("stability.sd3").attributes[names.ERROR_TYPE].endswith("ValidationException")


def test_other_services_and_operations_are_left_alone(recording: Recording, server: MockModelServer) -> None:
    server.otherwise(text("x"))
    other = bedrock_client(server, service="sqs")
    with pytest.raises(Exception, match=r"."):
        other.list_queues()
    other.close()
    models = bedrock_client(server)
    with pytest.raises(Exception, match=r"."):
        models.count_tokens(modelId="m", input={"converse": {"messages": []}})
    models.close()
    assert recording.read().spans == []
