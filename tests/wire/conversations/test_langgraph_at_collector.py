"""LangGraph's checkpointer and store at a collector: found from another machine, kept over its outages, freed."""

import asyncio
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.store.base import PutOp

import playhead
from playhead.client import Client
from playhead.conversations.folder import FOLDER
from playhead.conversations.heads import ConversationChange, ThreadPart
from playhead.conversations.keeping import conversation_store
from playhead.conversations.langgraph import PlayheadSaver, PlayheadStore
from playhead.errors import CannotRestore, CollectorUnreachable
from playhead.model.canonical import JSON, Content, canonical_json
from playhead.model.ref import ContentRef
from playhead.wire.operations.conversations import GRAPH_THREAD_ID_PREFIX
from playhead_collector.process import CollectorProcess
from tests.support.graphs import Delta, Plain, chat_graph, say, texts, thread

Machine = Callable[..., None]


@pytest.fixture
def name() -> str:
    return f"thread {uuid.uuid4().hex[:12]}"


def waiting(folder: Path) -> int:
    return len([*(folder / FOLDER).glob("*.json")])


def test_it_conforms_in_all_eight_capabilities(machine: Machine, tmp_path: Path):
    scope = uuid.uuid4().hex  # a capability deletes the runs of all threads of the scope

    @checkpointer_test(name="collector")
    async def saver():
        yield PlayheadSaver(scope=scope)

    report = asyncio.run(validate(saver))
    assert {name for name, each in report.results.items() if each.detected} == {each.value for each in ALL_CAPABILITIES}
    assert [failure for each in report.results.values() for failure in each.failures] == []
    assert sum(each.tests_passed for each in report.results.values()) == 81
    assert waiting(tmp_path / "one") == 0


@pytest.mark.parametrize("schema", [Plain, Delta])
def test_two_machines_take_turns_on_one_thread(machine: Machine, name: str, schema: Any, tmp_path: Path):
    graphs = {at: chat_graph(PlayheadSaver(), schema) for at in ("one", "two")}
    for number in range(8):
        at = ("one", "two")[number % 2]
        machine(at)
        assert len(say(graphs[at], name, f"{at} {number}")) == 2 * number + 2
    machine("three")
    found = texts(chat_graph(PlayheadSaver(), schema), name)
    assert found[::2] == [f"{('one', 'two')[number % 2]} {number}" for number in range(8)]
    assert waiting(tmp_path / "one") == waiting(tmp_path / "two") == 0


def test_savers_that_write_at_once_lose_no_checkpoint(machine: Machine, name: str):
    """Each is a fork of the thread, as two processes that are asked at once make."""
    failed: list[BaseException] = []

    def chat(number: int) -> None:
        try:
            saver = PlayheadSaver()
            for turn in range(4):
                say(chat_graph(saver), name, f"{number} {turn}")
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=chat, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []
    inputs = [each for each in PlayheadSaver().list(thread(name)) if each.metadata.get("source") == "input"]
    assert len(inputs) == 12


def test_an_outage_is_waited_out_in_the_folder_and_two_machines_are_joined(machine: Machine, name: str, tmp_path: Path):
    one, two = chat_graph(PlayheadSaver()), chat_graph(PlayheadSaver())
    say(one, name, "before")
    machine("two")
    assert len(texts(two, name)) == 2
    machine("one", reaches=False)
    assert say(one, name, "during, at one")[:2] == ["before", "echo before"]
    assert say(one, name, "again")[2] == "during, at one"
    assert waiting(tmp_path / "one") == 1
    with pytest.raises((CannotRestore, CollectorUnreachable)):  # another process has not read what is at the collector
        texts(chat_graph(PlayheadSaver()), name)
    machine("two")
    say(two, name, "during, at two")
    machine("one")
    assert say(one, name, "after")[-1] == "echo after"
    assert waiting(tmp_path / "one") == 0
    machine("three")
    saver = PlayheadSaver()
    said = {
        message.text
        for each in saver.list(thread(name))
        for message in each.checkpoint["channel_values"].get("messages", [])
        if isinstance(message, HumanMessage)
    }
    assert said == {"before", "during, at one", "again", "during, at two", "after"}


def test_a_thread_that_begins_in_an_outage_goes_on_in_another_process_and_is_brought(
    machine: Machine, name: str, tmp_path: Path, collector: CollectorProcess
):
    machine("one", reaches=False)
    say(chat_graph(PlayheadSaver(), Delta), name, "begun")
    assert say(chat_graph(PlayheadSaver(), Delta), name, "more")[2:] == ["more", "echo more"]
    assert waiting(tmp_path / "one") == 1
    machine("one")
    conversation_store()
    assert playhead.flush(60)
    assert waiting(tmp_path / "one") == 0
    machine("two")
    assert texts(chat_graph(PlayheadSaver(), Delta), name) == ["begun", "echo begun", "more", "echo more"]
    with Client(collector.url) as client:
        assert [head["id"] for head in client.conversations(prefix=GRAPH_THREAD_ID_PREFIX + name)] == [
            GRAPH_THREAD_ID_PREFIX + name
        ]


def test_a_thread_that_is_deleted_by_another_machine_begins_anew(machine: Machine, name: str):
    here, there = PlayheadSaver(), PlayheadSaver()
    say(chat_graph(here), name, "first")
    machine("two")
    there.delete_thread(name)
    machine("one")
    assert say(chat_graph(here), name, "second") == ["second", "echo second"]


def test_a_deletion_that_fails_leaves_the_thread_as_it_was(machine: Machine, name: str):
    saver = PlayheadSaver()
    say(chat_graph(saver), name, "first")
    machine("one", reaches=False)
    with pytest.raises(CollectorUnreachable):
        saver.delete_thread(name)
    assert texts(chat_graph(saver), name) == ["first", "echo first"]


def test_records_that_the_collector_refuses_say_what_to_do(machine: Machine, name: str):
    """They follow records that were forgotten with what they name, and name some of it."""
    forgotten = ContentRef(f"sha256:{uuid.uuid4().hex * 2}")
    record = Content(canonical_json({"checkpoint": "2", "named": forgotten}), JSON)
    added = ThreadPart(forgotten, [record.ref.plain], [record])
    machine("one", reaches=False)
    thread_id = GRAPH_THREAD_ID_PREFIX + name
    conversation_store().save(ConversationChange(thread_id, "", 1, forgotten, 2, added, lambda: added))
    machine("one")
    with pytest.raises(CannotRestore, match="`playhead conversation .* --delete`"):
        PlayheadSaver().get_tuple(thread(name))
    PlayheadSaver().delete_thread(name)
    assert say(chat_graph(PlayheadSaver()), name, "anew") == ["anew", "echo anew"]


def test_a_thread_that_another_machine_has_pruned_goes_on(machine: Machine, name: str):
    here, there = PlayheadSaver(), PlayheadSaver()
    for number in range(5):
        say(chat_graph(here, Delta), name, f"m{number}")
    machine("two")
    there.prune([name])
    machine("one")
    assert len(say(chat_graph(here, Delta), name, "more")) == 12
    machine("three")
    assert len(texts(chat_graph(PlayheadSaver(), Delta), name)) == 12


def test_items_of_a_store(machine: Machine):
    scope = uuid.uuid4().hex
    store = PlayheadStore(scope=scope)
    store.put(("users", "7"), "prefs", {"theme": "dark", "size": 3, "tags": ["a", "b"]})
    store.put(("users", "7"), "name", {"text": "Ada Lovelace", "size": 5})
    store.put(("users", "7", "notes"), "n", {"text": "likes engines", "size": None})
    store.put(("users", "70"), "prefs", {"theme": "light"})
    machine("two")
    there = PlayheadStore(scope=scope)
    item = there.get(("users", "7"), "prefs")
    assert item is not None
    assert item.value == {"theme": "dark", "size": 3, "tags": ["a", "b"]}
    assert there.get(("users", "7"), "none") is None
    assert [found.key for found in there.search(("users", "7"))] == ["prefs", "name", "n"]
    assert [found.key for found in there.search(("users",), filter={"size": {"$gte": 3}})] == ["prefs", "name"]
    assert [found.key for found in there.search(("users",), filter={"theme": "light"})] == ["prefs"]
    assert [found.key for found in there.search((), query="ENGINES ada")] == ["name", "n"]
    assert [found.score for found in there.search((), query="ada who likes engines")] == [0.5, 0.25]
    assert [found.key for found in there.search(("users",), limit=1, offset=1)] == ["name"]
    assert there.list_namespaces(prefix=("users", "*")) == [("users", "7"), ("users", "7", "notes"), ("users", "70")]
    assert there.list_namespaces(max_depth=1) == [("users",)]
    assert there.list_namespaces(suffix=("notes",)) == [("users", "7", "notes")]
    created = item.created_at
    there.put(("users", "7"), "prefs", {"theme": "blue"})
    there.delete(("users", "7"), "name")
    machine("one")
    again = store.get(("users", "7"), "prefs")
    assert again is not None
    assert (again.value, again.created_at) == ({"theme": "blue"}, created)
    assert again.updated_at > created
    assert store.get(("users", "7"), "name") is None
    assert PlayheadStore(scope="another").search(()) == []


def test_items_expire_unless_they_are_read(machine: Machine):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store = PlayheadStore(scope=uuid.uuid4().hex, now=lambda: now)
    for key in ("read", "not read", "looked at"):
        store.put(("cache",), key, {"x": 1}, ttl=10)
    store.put(("cache",), "kept", {"x": 1})
    now += timedelta(minutes=9)
    assert store.get(("cache",), "read") is not None
    assert store.get(("cache",), "looked at", refresh_ttl=False) is not None
    now += timedelta(minutes=9)
    assert [item.key for item in store.search(("cache",))] == ["read", "kept"]
    now += timedelta(minutes=11)
    assert [item.key for item in store.search(("cache",))] == ["kept"]
    assert store.list_namespaces() == [("cache",)]


def test_an_asynchronous_store_with_a_large_value_and_odd_names(machine: Machine):
    scope = uuid.uuid4().hex
    namespace = ("ä/b", "50%", "c d")

    async def use() -> None:
        store = PlayheadStore(scope=scope)
        await store.aput(namespace, "large", {"text": "x" * 10_000, "list": [1.5, None, True]})
        await store.abatch([PutOp(namespace, "k", {"n": number}) for number in range(3)])
        found = await PlayheadStore(scope=scope).asearch(namespace[:1])
        assert [(item.namespace, item.key) for item in found] == [(namespace, "large"), (namespace, "k")]
        assert found[0].value == {"text": "x" * 10_000, "list": [1.5, None, True]}
        assert found[1].value == {"n": 2}

    asyncio.run(use())
    with pytest.raises(ValueError, match="too long"):
        PlayheadStore().put(("x" * 500,), "k", {})


def test_a_namespace_that_is_written_often_stays_small(machine: Machine):
    scope = uuid.uuid4().hex
    store = PlayheadStore(scope=scope)
    for first in range(0, 400, 50):
        store.batch([PutOp(("often",), f"k{number % 3}", {"n": first + number}) for number in range(50)])
        for number in range(20):
            store.put(("often",), "one", {"n": number})
    [head] = conversation_store().heads(scope, None, "langgraph-store/")
    assert head.messages <= 110
    item = PlayheadStore(scope=scope).get(("often",), "one")
    assert item is not None
    assert item.value == {"n": 19}
