"""Clients of Anthropic's models on cloud platforms: the same calls, under the platform's name, also given again."""

import base64
import binascii
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

import playhead
from playhead import observe
from playhead.capture.anthropic.messages import events_of
from playhead.model import names
from tests.support.journal_reader import Recording, read_journal, start_recording

ASKED: Any = {"model": "claude-x", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "text", "text": "a good day to you"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 5, "output_tokens": 4},
}


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("anthropic")
        yield recording
        playhead.uninstrument("anthropic")


def amazon_event(value: Any) -> bytes:
    """A frame of `application/vnd.amazon.eventstream`."""
    payload = json.dumps({"bytes": base64.b64encode(json.dumps(value).encode()).decode()}).encode()
    headers = b""
    for name, text in ((":event-type", "chunk"), (":content-type", "application/json"), (":message-type", "event")):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    prelude += struct.pack(">I", binascii.crc32(prelude))
    body = prelude + headers + payload
    return body + struct.pack(">I", binascii.crc32(body))


def sent_event(value: Any) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


class Platform:
    """Answers a client's requests in the process."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []

    def client(self) -> httpx2.Client:
        return anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(self.answer))

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        path = request.url.path
        is_amazon = path.endswith("with-response-stream")
        if is_amazon or path.endswith("streamRawPredict") or json.loads(request.content).get("stream"):
            written = amazon_event if is_amazon else sent_event
            kind = "application/vnd.amazon.eventstream" if is_amazon else "text/event-stream"
            content = b"".join(map(written, events_of(ANSWER, 5)))
            return httpx2.Response(200, content=content, headers={"content-type": kind})
        return httpx2.Response(200, json=ANSWER)


def bedrock(http: httpx2.Client) -> Any:
    return anthropic.AnthropicBedrock(  # pyright: ignore[reportPrivateImportUsage]
        aws_access_key="a", aws_secret_key="s", aws_region="us-east-1", http_client=http, max_retries=0
    )


def vertex(http: httpx2.Client) -> Any:
    return anthropic.AnthropicVertex(  # pyright: ignore[reportPrivateImportUsage]
        region="r", project_id="p", access_token="t", http_client=http, max_retries=0
    )


def foundry(http: httpx2.Client) -> Any:
    return anthropic.AnthropicFoundry(api_key="k", resource="r", http_client=http, max_retries=0)


def create(client: Any) -> Any:
    return client.messages.create(**ASKED).to_dict()


def beta(client: Any) -> Any:
    return client.beta.messages.create(**ASKED).to_dict()


def events(client: Any) -> Any:
    return [event.to_dict() for event in client.messages.create(**ASKED, stream=True)]


def helper(client: Any) -> Any:
    with client.messages.stream(**ASKED) as stream:
        return ["".join(stream.text_stream), stream.get_final_message().to_dict()]


def beta_helper(client: Any) -> Any:
    with client.beta.messages.stream(**ASKED) as stream:
        return stream.get_final_message().to_dict()


@pytest.mark.parametrize("ask", [create, beta, events, helper, beta_helper], ids=lambda ask: ask.__name__)
@pytest.mark.parametrize(
    ("made", "provider"),
    [(bedrock, "aws.bedrock"), (vertex, "gcp.vertex_ai"), (foundry, "azure.ai.inference")],
    ids=lambda made: getattr(made, "__name__", None),
)
@pytest.mark.covers("anthropic", "spans", "resume")
def test_a_platforms_client_is_recorded_once_under_its_name_and_answers_again(
    recording: Recording, made: Callable[..., Any], provider: str, ask: Callable[[Any], Any]
):
    platform = Platform()
    client = made(platform.client())

    @observe
    def agent() -> None:
        answers.append(ask(client))

    answers: list[Any] = []
    agent()
    seen = recording.read()
    [span] = [span for span in seen.spans if span.attributes[names.KIND] == "llm"]
    assert (span.attributes[names.PROVIDER], span.attributes[names.REQUEST_MODEL]) == (provider, "claude-x")
    [message] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    assert message == {"role": "assistant", "parts": [{"type": "text", "content": "a good day to you"}]}
    with playhead.resume(str(span.attributes[names.RUN_ID])):
        agent()
    assert len(platform.requests) == 1
    assert answers[1] == answers[0]


def test_middleware_of_the_programs_sees_each_request_once(recording: Recording):
    """What it made of the answer is in the record, so it is not asked again."""
    platform, asked = Platform(), list[str]()

    def middleware(request: Any, call_next: Any) -> Any:
        asked.append("asked")
        return call_next(request)

    client = anthropic.Anthropic(api_key="k", http_client=platform.client(), middleware=[middleware])

    @observe
    def agent() -> str:
        return helper(client)[0]

    assert agent() == "a good day to you"
    with playhead.resume(str(recording.read().spans[0].attributes[names.RUN_ID])):
        assert agent() == "a good day to you"
    assert asked == ["asked"]


PROGRAM = """
import sys
import playhead
playhead.instrument("anthropic")
assert "anthropic" not in sys.modules
import anthropic, httpx2
answer = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
http = anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=answer)))
client = anthropic.AnthropicBedrock(aws_access_key="a", aws_secret_key="s", aws_region="r", http_client=http)
asked = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hello"}]}
for switch in (lambda: None, lambda: playhead.uninstrument("anthropic"), lambda: playhead.instrument("anthropic")):
    switch()
    with playhead.run("run"):
        client.messages.create(**asked)
        client.beta.messages.create(**asked)
"""


def test_a_library_imported_later_is_recorded_once_too_and_can_be_left_alone(tmp_path: Path):
    env = {**os.environ, "PLAYHEAD_JOURNAL_DIR": str(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    env |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    spans = [span.name for span in read_journal(tmp_path).spans]
    assert sorted(spans) == ["chat m"] * 4 + ["invoke_agent run"] * 3
