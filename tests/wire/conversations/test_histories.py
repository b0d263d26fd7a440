"""Histories by reference: small, whole, kept until they are deleted; carried as a list where no collector answers."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import openai
import pytest

import playhead
from playhead import History
from playhead.client.requests import ApiRequest
from playhead.context import Compression, SlidingWindow
from playhead.conversations.keeping import conversation_store
from playhead.errors import CannotRestore, CollectorUnreachable
from playhead.testing import MockModelServer, text
from playhead.wire.pack import decode_pack

Machine = Callable[..., None]


@pytest.fixture
def scope() -> str:
    return uuid.uuid4().hex[:8]


def chat(count: int, of: str) -> list[dict[str, Any]]:
    """About 400 bytes for each message."""
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": f"{of}, message {at}: {'lorem ipsum ' * 30}"} for at in range(count)]


def test_a_hundred_messages_travel_as_a_hundred_bytes(machine: Machine, scope: str):
    messages = chat(100, scope)
    history = History(messages)
    assert history.to_json() == messages  # nothing leaves as a ref before it is stored
    assert history.persist()
    sent = json.dumps(history.to_json())
    assert len(sent) < 110
    assert len(sent) <= 0.05 * len(json.dumps(messages))
    machine("two")
    there = History.load(json.loads(sent))
    assert len(there) == 100
    assert (there[3].text, there[-1].role) == (messages[3]["content"], "assistant")
    assert there.hydrate() == messages
    assert [entry.text for entry in there[1:3]] == [messages[1]["content"], messages[2]["content"]]
    assert History.delete(json.loads(sent))
    assert not History.delete(json.loads(sent))
    assert not History.delete(messages)


def test_a_list_is_told_from_a_ref(machine: Machine, scope: str):
    messages = chat(3, scope)
    assert History.load(messages).hydrate() == messages
    assert History.load([]).hydrate() == []
    for wrong in ("a text", {"playhead.thread": "no ref", "n": 1}, {"messages": messages}, 5, None):
        with pytest.raises(TypeError):
            History.load(wrong)


REF = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"playhead.thread": REF}, "'n' is None, and not the number of its messages"),
        ({"playhead.thread": REF, "n": "3"}, "'n' is '3'"),
        ({"playhead.thread": REF, "n": -1}, "'n' is -1"),
        ({"playhead.thread": REF, "n": 1, "more": 5}, "'more' is no list of messages, but int"),
        ({"playhead.thread": REF, "n": 1, "more": {"role": "user"}}, "'more' is no list"),
        ({"playhead.thread": "sha256:0", "n": 1}, "is not a content ref"),
    ],
)
def test_what_is_no_history_is_refused_with_its_reason(value: Any, says: str):
    with pytest.raises(TypeError, match=says):
        History.load(value)
    if "ref" in says:
        with pytest.raises(TypeError, match=says):
            History.delete(value)


def test_without_a_collector_the_list_is_carried(machine: Machine, scope: str):
    machine(reaches=False)
    history = History(chat(3, scope))
    assert not history.persist()
    assert History.load(json.loads(json.dumps(history.to_json()))).hydrate() == chat(3, scope)
    machine()
    assert history.persist()
    history.append("user", "one more")
    machine(reaches=False)
    assert not history.persist()
    sent = json.loads(json.dumps(history.to_json()))
    with pytest.raises(CollectorUnreachable):
        History.load(sent).hydrate()
    machine()
    assert History.load(sent).hydrate() == [*chat(3, scope), {"role": "user", "content": "one more"}]
    assert len(History.load(sent)) == 4


def test_what_a_hook_redacts_is_carried_and_never_given_by_reference(machine: Machine, scope: str):
    machine(redact=lambda value: "hidden")
    history = History(chat(2, scope))
    assert not history.persist()
    assert history.to_json() == chat(2, scope)


def test_what_was_deleted_is_not_given_to_a_model(machine: Machine, scope: str):
    unknown = {"playhead.thread": f"sha256:{uuid.uuid4().hex * 2}", "n": 3}
    with pytest.raises(CannotRestore):
        History.load(unknown).hydrate()


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[ApiRequest[Any]]:
    """The requests to the collector."""
    sent: list[ApiRequest[Any]] = []
    ask = playhead.Client.ask

    def noted(self: playhead.Client, request: ApiRequest[Any]) -> Any:
        sent.append(request)
        return ask(self, request)

    monkeypatch.setattr(playhead.Client, "ask", noted)
    return sent


def test_histories_of_a_chat_send_what_is_new_and_stay_out_of_the_list(
    machine: Machine, scope: str, requests: list[ApiRequest[Any]]
):
    messages = chat(40, scope)
    History(messages[:30], scope=scope).persist()
    requests.clear()
    grown = History(messages, scope=scope)  # by a program that hands the whole list on
    assert grown.persist()
    packs = [decode_pack(request.content) for request in requests if request.content is not None]
    assert [len(pack.contents) for pack in packs] == [10]
    assert playhead.list_conversations(scope) == []
    assert History.load(grown.to_json()).scope == scope


def test_many_histories_are_read_in_the_requests_of_one(machine: Machine, scope: str, requests: list[ApiRequest[Any]]):
    sent: list[Any] = []
    for number in range(50):
        history = History(chat(4, f"{scope} {number}"))
        assert history.persist()
        sent.append(history.to_json())
    loaded = [History.load(value) for value in sent]
    requests.clear()
    History.hydrate_all(loaded)
    for number, history in enumerate(loaded):
        assert history.hydrate() == chat(4, f"{scope} {number}")
    assert [(request.path, len(request.body["refs"])) for request in requests] == [
        ("content/pack", 50),
        ("content/pack", 200),
    ]


def test_a_call_persists_asks_and_adds_the_answer(machine: Machine, scope: str):
    with MockModelServer() as server, openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        server.otherwise(text("It is Monday."))
        history = History([{"role": "user", "content": f"{scope}: which day?"}])
        answer = history.call(lambda messages: client.chat.completions.create(model="gpt-4o", messages=messages))
    assert answer.choices[0].message.content == "It is Monday."
    assert (history[1].role, history[1].text) == ("assistant", "It is Monday.")
    assert history.to_json()["n"] == 1  # before the call
    assert history.call(lambda messages: f"{len(messages)} messages") == "2 messages"
    assert history[-1].text == "2 messages"
    context = history.managed(Compression(strategy=SlidingWindow(2)))
    assert [message["content"] for message in context.for_model()][1:] == ["It is Monday.", "2 messages"]


def test_an_engine_that_keeps_453_steps_of_a_growing_chat_keeps_a_fifth(machine: Machine, scope: str):
    """Such as Temporal or DBOS, which store the arguments and the result of each step."""
    messages = chat(453, scope)
    inline = sum(len(json.dumps(messages[:count])) for count in range(1, 454))
    history, engine = History(scope=scope), 0
    for message in messages:
        history.append(message)
        assert history.persist()
        engine += len(json.dumps(history.to_json()))
    stored = sum(len(json.dumps(message)) for message in messages)
    assert engine + stored <= 0.2 * inline
    assert History.load(history.to_json()).hydrate() == messages
    assert conversation_store().delete_thread(history.to_json()["playhead.thread"], scope)
