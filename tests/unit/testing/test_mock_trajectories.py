"""Recorded runs: loading them, and the answer that followed the same messages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from playhead.testing import Trajectories, UnreadableTrajectories, text
from playhead.testing.endpoint import MockEndpoint, MockServerSettings
from playhead.testing.request import JsonObject
from playhead.testing.script import ScriptPlayer

RECORDED = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", Path(__file__).parents[4] / "shared" / "data"))

CALL = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"order": "A1"}'}}
RUN: list[JsonObject] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Where is A1?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "lookup", "content": "lost"},
    {"role": "assistant", "content": [{"type": "text", "text": "It is lost."}], "x-extra": {"score": 1}},
]


def write(folder: Path, name: str, value: object) -> None:
    (folder / name).write_bytes(value if isinstance(value, bytes) else orjson.dumps(value))


def loaded(folder: Path, *runs: list[JsonObject]) -> Trajectories:
    write(folder, "shop.json", [{"traj": run, "task_id": place} for place, run in enumerate(runs or [RUN])])
    return Trajectories.load(folder)


def ask(trajectories: Trajectories, key: str, messages: list[JsonObject], **body: object) -> tuple[int, Any]:
    script = ScriptPlayer()
    script.play(trajectories)
    value = {"model": "m", "messages": messages, **body}
    headers = {"x-playhead-trajectory": key}
    response = MockEndpoint(script, MockServerSettings()).respond(
        "POST", "/v1/chat/completions", headers, orjson.dumps(value)
    )
    return response.status, orjson.loads(b"".join(response.parts))


def test_runs_are_loaded_with_what_the_file_says_about_them(tmp_path: Path) -> None:
    write(tmp_path, "other.json", {"not": "runs"})
    write(tmp_path, "numbers.json", [1, 2])
    (run,) = loaded(tmp_path)
    assert (run.key, run.record, run.turns) == ("shop/0", {"task_id": 0}, (2, 4))
    assert run.headers == {"x-playhead-trajectory": "shop/0"}
    assert list(run.messages) == RUN


@pytest.mark.parametrize(
    "value",
    [RUN, [RUN], [{"messages": RUN}], {"messages": RUN}, {"traj": RUN}],
    ids=["a list of messages", "a list of lists", "a list of objects", "one object", "one with traj"],
)
def test_any_list_of_messages_is_a_run(tmp_path: Path, value: object) -> None:
    write(tmp_path, "shop.json", value)
    (run,) = Trajectories.load(tmp_path)
    assert (run.key, list(run.messages)) == ("shop/0", RUN)


def test_an_assistant_message_at_the_beginning_is_no_model_call(tmp_path: Path) -> None:
    greeting: JsonObject = {"role": "assistant", "content": "How can I help?"}
    (run,) = loaded(tmp_path, [greeting, RUN[1], RUN[4], RUN[4]])
    assert run.turns == (2, 3)


def test_tools_come_from_the_file_with_the_longest_matching_name_or_the_only_one(tmp_path: Path) -> None:
    write(tmp_path, "air-tools.json", [{"name": "short"}])
    assert loaded(tmp_path)["shop/0"].tools == ({"name": "short"},)
    write(tmp_path, "air-line-tools.json", [{"name": "long"}])
    write(tmp_path, "air-line-4o.json", [{"traj": RUN}])
    found = Trajectories.load(tmp_path)
    assert found["air-line-4o/0"].tools == ({"name": "long"},)
    assert found["shop/0"].tools == ()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("shop.json", b"[{", "shop.json"),
        ("shop.json", [{"traj": RUN}, 3], r"shop.json: '\[1\]' must be an object"),
        ("shop.json", [{"traj": RUN}, {}], r"shop.json: '\[1\].traj' must be a list"),
        ("shop.json", [{"traj": [{"content": "x"}]}], r"shop.json: .*\[0\].traj\[0\].role"),
        ("shop-tools.json", {"a": 1}, "shop-tools.json: should be a list of objects"),
        ("other.json", {}, "no recorded runs"),
    ],
)
def test_a_malformed_file_is_named_with_the_reason(tmp_path: Path, name: str, value: object, words: str) -> None:
    write(tmp_path, name, value)
    with pytest.raises(UnreadableTrajectories, match=words):
        Trajectories.load(tmp_path)


def test_the_answer_is_the_message_that_followed_exactly_as_recorded(tmp_path: Path) -> None:
    trajectories = loaded(tmp_path)
    for position, reason in ((2, "tool_calls"), (4, "stop")):
        status, body = ask(trajectories, "shop/0", RUN[:position])
        assert status == 200
        assert body["choices"][0]["message"] == RUN[position]
        assert body["choices"][0]["finish_reason"] == reason


def test_the_key_tells_runs_apart_that_start_alike(tmp_path: Path) -> None:
    runs = [[*RUN[:2], {"role": "assistant", "content": f"answer {place}"}] for place in range(3)]
    trajectories = loaded(tmp_path, *runs)
    said = [ask(trajectories, f"shop/{place}", RUN[:2])[1]["choices"][0]["message"] for place in range(3)]
    assert said == [run[2] for run in runs]


def test_the_key_may_also_be_in_the_metadata(tmp_path: Path) -> None:
    status, _ = ask(loaded(tmp_path), "", RUN[:2], metadata={"x-playhead-trajectory": "shop/0"})
    assert status == 200


def test_what_client_libraries_add_and_leave_out_makes_no_difference(tmp_path: Path) -> None:
    sent: list[JsonObject] = [
        {"role": "system", "content": [{"type": "text", "text": "You help."}], "name": None},
        {"role": "user", "content": "Where is A1?"},
        {"role": "assistant", "content": "", "refusal": None, "tool_calls": [{**CALL, "index": 0}]},
        {"role": "tool", "tool_call_id": "c1", "content": "lost"},
    ]
    assert ask(loaded(tmp_path), "shop/0", sent)[0] == 200


@pytest.mark.parametrize(
    ("place", "change", "words"),
    [
        (1, {"content": "Where is B2?"}, "Its content was 'Where is A1?', and is 'Where is B2?' in the request"),
        (1, {"role": "developer"}, "Its role was"),
        (2, {"tool_calls": [{**CALL, "id": "c2"}]}, "Its tool_calls was"),
        (3, {"name": "other"}, "Its name was"),
    ],
)
def test_messages_that_were_not_recorded_are_a_conflict(
    tmp_path: Path, place: int, change: JsonObject, words: str
) -> None:
    sent = [*RUN[:place], {**RUN[place], **change}, *RUN[place + 1 : 4]]
    status, body = ask(loaded(tmp_path), "shop/0", sent)
    assert (status, body["error"]["code"]) == (409, "trajectory_mismatch")
    assert f"Message {place} is not the one in shop/0. {words}" in body["error"]["message"]


def test_a_place_without_an_answer_is_a_conflict(tmp_path: Path) -> None:
    trajectories = loaded(tmp_path)
    assert "not the model's turn" in ask(trajectories, "shop/0", RUN[:1])[1]["error"]["message"]
    assert "ends after 5 messages" in ask(trajectories, "shop/0", RUN)[1]["error"]["message"]
    longer = [*RUN, {"role": "user", "content": "thanks"}]
    assert ask(trajectories, "shop/0", longer)[0] == 409


def test_an_unknown_run_is_not_found(tmp_path: Path) -> None:
    status, body = ask(loaded(tmp_path), "shop/9", RUN[:2])
    assert (status, body["error"]["code"]) == (404, "trajectory_not_found")
    assert "keys go from shop/0 to shop/0" in body["error"]["message"]
    assert "none is loaded" in ask(Trajectories(), "shop/0", RUN[:2])[1]["error"]["message"]


def test_a_request_without_a_key_goes_by_the_rules(tmp_path: Path) -> None:
    script = ScriptPlayer()
    script.play(loaded(tmp_path))
    script.otherwise(text("by rule"))
    body = orjson.dumps({"model": "m", "messages": RUN[:2]})
    response = MockEndpoint(script, MockServerSettings()).respond("POST", "/v1/chat/completions", {}, body)
    assert orjson.loads(response.parts[0])["choices"][0]["message"]["content"] == "by rule"


@pytest.mark.skipif(not RECORDED.is_dir(), reason=f"no recorded runs in {RECORDED}")
def test_every_recorded_call_is_answered_as_it_was() -> None:
    trajectories = Trajectories.load(RECORDED)
    script = ScriptPlayer()
    script.play(trajectories)
    endpoint = MockEndpoint(script, MockServerSettings(keep_requests=False))
    wrong: list[str] = []
    for run in trajectories:
        for position in run.turns:
            body = orjson.dumps({"model": "m", "messages": run.messages[:position], "tools": run.tools})
            response = endpoint.respond("POST", "/v1/chat/completions", run.headers, body)
            answer: Any = orjson.loads(response.parts[0])
            if response.status != 200 or answer["choices"][0]["message"] != run.messages[position]:
                wrong.append(f"{run.key}@{position}")
    assert wrong == []
