"""Events of a streamed response, put together: the response that was streamed, as far as it came."""

from typing import Any

import pytest

from playhead.capture.openai.responses import events_of, joined_response, with_message
from playhead.model.json_value import Json

ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "first this"}]},
    {
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [
            {"type": "output_text", "text": "one two three", "annotations": []},
            {"type": "refusal", "refusal": "not that"},
        ],
    },
    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
    {"type": "web_search_call", "id": "ws_1", "action": {"query": "q"}, "status": "completed"},
]  # fmt: skip
RESPONSE = {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "output": ITEMS}


def member(value: Json, key: str) -> Any:
    return value[key]


@pytest.mark.parametrize("characters", [None, 1, 3])
def test_the_last_event_has_it_all(characters: int | None):
    events = events_of(RESPONSE, characters)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert joined_response(events) == RESPONSE


@pytest.mark.parametrize("characters", [None, 1, 3])
def test_without_it_the_items_say_the_same(characters: int | None):
    begun = joined_response(events_of(RESPONSE, characters)[:-1])
    assert begun["output"] == ITEMS
    assert (begun["id"], begun["status"]) == ("resp_1", "in_progress")


def test_what_was_cut_off_has_the_pieces_that_came():
    events = [event for event in events_of(RESPONSE, 4) if not member(event, "type").endswith((".done", ".completed"))]
    thought, message, call, search = member(joined_response(events), "output")
    assert thought["summary"] == [{"type": "summary_text", "text": "first this"}]
    assert [part.get("text", part.get("refusal")) for part in message["content"]] == ["one two three", "not that"]
    assert (call["arguments"], call["status"]) == ("{}", "in_progress")
    assert search["id"] == "ws_1"
    assert [item["summary"] for item in member(joined_response(events[:3]), "output")] == [[]]


def test_putting_together_leaves_the_events_as_they_were():
    events = events_of(RESPONSE, 2)
    before = repr(events)
    joined_response(events[:-1])
    assert repr(events) == before


def test_a_server_whose_last_event_has_no_output_is_believed_what_it_streamed():
    *events, last = events_of(RESPONSE)
    assert joined_response([*events, {**last, "response": {**RESPONSE, "output": []}}])["output"] == ITEMS


def test_events_that_nobody_knows_change_nothing():
    odd: list[dict[str, Any]] = [{"type": "response.new"}, {"output_index": "x", "item": {}}, {"response": "x"}, {}]
    assert joined_response([*odd, *events_of(RESPONSE), *odd]) == RESPONSE
    assert joined_response([]) == {"output": []}


@pytest.mark.parametrize("recorded", [None, RESPONSE, {"stream": events_of(RESPONSE)}])
@pytest.mark.parametrize("streamed", [False, True])
def test_another_answer_has_what_is_known_of_the_recorded_one(recorded: Any, streamed: bool):
    made = with_message(recorded, "no", model="m", streamed=streamed)
    response = joined_response(member(made, "stream")) if streamed else made
    [item] = member(response, "output")
    assert item["content"] == [{"type": "output_text", "text": "no", "annotations": []}]
    assert (response["id"], response["status"]) == ("resp_playhead" if recorded is None else "resp_1", "completed")
