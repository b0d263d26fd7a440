"""What the mock model server says as OpenAI's Responses API, without a server."""

from typing import Any

import orjson
import pytest

from playhead.testing import contains, rate_limit, text, thinking, tool_call, tool_result_received
from playhead.testing.endpoint import MockEndpoint, MockServerSettings
from playhead.testing.http_response import Response
from playhead.testing.script import ScriptPlayer


class Asked:
    """An endpoint with a script, and the shortest way to ask it."""

    def __init__(self) -> None:
        self.script = ScriptPlayer()
        self.script.otherwise(text("done"))
        self.endpoint = MockEndpoint(self.script, MockServerSettings(clock=lambda: 1234.9))

    def post(self, **body: Any) -> Response:
        value = {"model": "m", "input": "hi", **body}
        return self.endpoint.respond("POST", "/v1/responses", {}, orjson.dumps(value))

    def says(self, **body: Any) -> Any:
        return orjson.loads(b"".join(self.post(**body).parts))


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_a_text_is_a_message_and_its_status_is_completed(asked: Asked):
    said = asked.says(instructions="be kind")
    assert (said["object"], said["status"], said["model"], said["created_at"]) == ("response", "completed", "m", 1234)
    [item] = said["output"]
    assert (item["type"], item["content"][0]["text"]) == ("message", "done")
    assert said["usage"]["total_tokens"] == said["usage"]["input_tokens"] + said["usage"]["output_tokens"]


def test_thinking_and_calls_are_items_of_their_own(asked: Asked):
    asked.script.when(contains("hi"), thinking("hm") + tool_call("look", {"a": 1}, call_id="c1"), None)
    thought, call = asked.says()["output"]
    assert thought["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert (call["type"], call["call_id"], call["name"], call["arguments"]) == (
        "function_call",
        "c1",
        "look",
        '{"a":1}',
    )


def test_rules_see_items_and_instructions_as_messages(asked: Asked):
    asked.script.when(contains("kind", role="system") & tool_result_received("look"), text("seen"), None)
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
        {"type": "item_reference", "id": "msg_1"},
    ]
    assert asked.says(input=items, instructions="be kind")["output"][0]["content"][0]["text"] == "seen"
    roles = [message["role"] for message in asked.endpoint.requests[0].messages]
    assert roles == ["system", "user", "assistant", "assistant", "tool", "item_reference"]


def test_a_conversation_goes_on_after_a_response_that_was_kept(asked: Asked):
    first = asked.says(instructions="be kind")
    asked.says(input="more", previous_response_id=first["id"])
    said = [message["content"] for message in asked.endpoint.requests[1].messages]
    assert (said[0], said[-1], len(said)) == ("hi", "more", 3)
    dropped = asked.says(store=False)
    for unknown in ("resp_x", dropped["id"]):
        refused = asked.post(previous_response_id=unknown)
        assert (refused.status, b"not found" in refused.parts[0]) == (400, True)


def test_what_was_cut_off_is_incomplete(asked: Asked):
    asked.script.when(contains("hi"), text("cut", finish_reason="length"), None)
    said = asked.says()
    assert (said["status"], said["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert asked.post(stream=True).parts[-1].startswith(b"event: response.incomplete\n")


def test_a_stream_has_named_and_numbered_events(asked: Asked):
    streamed = asked.post(stream=True)
    assert streamed.streamed
    names = [part.partition(b"\n")[0] for part in streamed.parts]
    assert (names[0], names[-1]) == (b"event: response.created", b"event: response.completed")
    assert b"event: response.output_text.delta" in names


def test_faults_are_those_of_chats(asked: Asked):
    asked.script.when(contains("hi"), rate_limit(0), None)
    assert asked.post().status == 429


@pytest.mark.parametrize(
    ("body", "param"),
    [({"model": 5}, "model"), ({"input": []}, "input"), ({"input": None}, "input"), ({"input": [5]}, "input[0]"),
     ({"input": [{"content": "x"}]}, "input[0]"), ({"tools": 5}, "tools")],
)  # fmt: skip
def test_what_the_real_one_would_refuse_is_refused(asked: Asked, body: dict[str, Any], param: str):
    refused = asked.post(**body)
    assert (refused.status, orjson.loads(refused.parts[0])["error"]["param"]) == (400, param)
