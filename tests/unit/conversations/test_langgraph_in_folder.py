"""LangGraph's checkpointer, with its threads in the journal's folder."""

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from operator import add
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

import playhead
from playhead.conversations.keeping import conversation_store
from playhead.conversations.langgraph import PlayheadSaver, PlayheadStore
from playhead.model.json_value import JsonMapping
from playhead.wire.operations.conversations import GRAPH_THREAD_ID_PREFIX
from tests.support.graphs import Delta, Plain, chat_graph, say, texts, thread
from tests.support.journal_reader import Recording


@pytest.fixture(autouse=True)
def no_collector(recording: Recording, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", "none")
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "journal"))
    playhead.configure(endpoint=None, journal_dir=tmp_path / "journal")


def stored(name: str) -> list[JsonMapping]:
    """The records of a thread."""
    store = conversation_store()
    head = store.read(GRAPH_THREAD_ID_PREFIX + name, "")
    return [] if head is None else [json.loads(record.data) for record in store.records(head, 0) or ()]


def named(saver: PlayheadSaver, name: str | None, part: str) -> set[str]:
    """What the configurations of a thread's checkpoints say, or of all threads'."""
    configs: list[Any] = [each.config for each in saver.list(None if name is None else thread(name))]
    return {config["configurable"][part] for config in configs}


def namespaces(saver: PlayheadSaver, name: str) -> set[str]:
    """The namespaces of a thread, without the ids of tasks."""
    return {namespace.partition(":")[0] for namespace in named(saver, name, "checkpoint_ns")}


def bytes_stored(journal: Path) -> int:
    return sum(path.stat().st_size for path in (journal / "conversations").glob("*.frames"))


def test_it_conforms_in_all_eight_capabilities():
    @checkpointer_test(name="folder")
    async def saver():
        yield PlayheadSaver()

    report = asyncio.run(validate(saver))
    assert {name for name, each in report.results.items() if each.detected} == {each.value for each in ALL_CAPABILITIES}
    assert [failure for each in report.results.values() for failure in each.failures] == []
    assert sum(each.tests_passed for each in report.results.values()) == 81


@pytest.mark.parametrize("schema", [Plain, Delta])
def test_a_thread_goes_on_in_another_saver(schema: Any):
    for number in range(12):
        assert len(say(chat_graph(PlayheadSaver(), schema), "t", f"m{number}")) == 2 * number + 2
    graph = chat_graph(PlayheadSaver(), schema)
    assert texts(graph, "t") == [text for number in range(12) for text in (f"m{number}", f"echo m{number}")]
    assert graph.get_state(thread("t")).values["visits"] == 12


@pytest.mark.parametrize("schema", [Plain, Delta])
def test_it_says_the_same_as_langgraphs_own_saver(schema: Any):
    """All states of the history, with their writes: also of a fork from the middle."""
    ours, theirs = chat_graph(PlayheadSaver(), schema), chat_graph(InMemorySaver(), schema)
    seen: list[Any] = []
    for graph in (ours, theirs):
        for number in range(6):
            say(graph, "t", f"m{number}")
        history = [*graph.get_state_history(thread("t"))]
        fork = graph.update_state(history[7].config, {"messages": [HumanMessage("instead", id="instead")]})
        graph.invoke(None, fork)
        say(graph, "t", "after the fork")
        history = [*graph.get_state_history(thread("t"))]
        seen.append([
            ([message.content for message in each.values.get("messages", [])], each.values.get("visits"), each.next,
             each.metadata["step"], each.metadata["source"], [task.name for task in each.tasks])
            for each in history
        ])  # fmt: skip
    assert seen[0] == seen[1]
    assert len(seen[0]) > 20


def test_a_message_is_stored_once_and_a_turn_costs_the_same(tmp_path: Path):
    graph = chat_graph(PlayheadSaver())
    sizes: list[int] = []
    for number in range(40):
        say(graph, "t", f"{number} " + "a long question " * 40)
        sizes.append(bytes_stored(tmp_path / "journal"))
    assert sizes[39] - sizes[29] < 1.1 * (sizes[19] - sizes[9])
    data = b"".join(path.read_bytes() for path in (tmp_path / "journal/conversations").glob("*.frames"))
    assert data.count(b"13 " + b"a long question " * 40) == 2  # the question, and its echo


@pytest.mark.parametrize("schema", [Plain, Delta])
def test_pruning_leaves_the_last_state_as_it_was(schema: Any):
    saver = PlayheadSaver()
    graph = chat_graph(saver, schema)
    for number in range(7):
        say(graph, "t", f"m{number}")
    before, count = texts(graph, "t"), len([*saver.list(thread("t"))])
    saver.prune(["t"])
    left = len([*saver.list(thread("t"))])
    assert left == 1 if schema is Plain else 1 <= left < count / 2
    again = chat_graph(PlayheadSaver(), schema)
    assert texts(again, "t") == before
    assert say(again, "t", "more")[-2:] == ["more", "echo more"]
    assert len(texts(again, "t")) == 16


def test_a_copy_goes_its_own_way_and_one_may_be_copied_to_a_thread_that_exists():
    saver = PlayheadSaver()
    graph = chat_graph(saver, Delta)
    for number in range(5):
        say(graph, "a", f"m{number}")
    saver.copy_thread("a", "b")
    say(graph, "b", "only b")
    assert texts(graph, "b")[:10] == texts(graph, "a")
    assert len(texts(graph, "b")) == 12
    saver.delete_thread("a")
    assert texts(chat_graph(PlayheadSaver(), Delta), "b")[-1] == "echo only b"
    say(graph, "c", "before")
    saver.copy_thread("b", "c")
    assert named(saver, "b", "checkpoint_id") < named(saver, "c", "checkpoint_id")


def test_subgraphs_keep_their_states_apart_and_interrupts_wait():
    class State(TypedDict):
        notes: Annotated[list[str], add]

    def ask(state: State) -> dict[str, Any]:
        return {"notes": [f"answered {interrupt('really?')}"]}

    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    outer.add_edge("inner", END)

    first = outer.compile(checkpointer=PlayheadSaver())
    waiting: Any = first.invoke({"notes": ["begun"]}, thread("t"))
    assert waiting["__interrupt__"][0].value == "really?"
    saver = PlayheadSaver()
    assert namespaces(saver, "t") == {"", "inner"}
    again = outer.compile(checkpointer=saver)
    assert again.get_state(thread("t"), subgraphs=True).tasks[0].interrupts[0].value == "really?"
    done: Any = again.invoke(Command(resume="yes"), thread("t"))
    assert done["notes"] == ["begun", "begun", "answered yes"]  # the subgraph's own reducer adds what it was given
    saver.prune(["t"])
    assert namespaces(saver, "t") == {"", "inner"}


def test_of_tasks_in_parallel_only_the_failed_one_runs_again():
    ran: list[str] = []

    class State(TypedDict):
        done: Annotated[list[str], add]

    def good(state: State) -> dict[str, Any]:
        ran.append("good")
        return {"done": ["good"]}

    def bad(state: State) -> dict[str, Any]:
        ran.append("bad")
        if ran.count("bad") == 1:
            wait_for_writes_of("good")  # LangGraph stores those of a task that ends after a failure only if it can
            raise RuntimeError("the first time")
        return {"done": ["bad"]}

    def wait_for_writes_of(name: str) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = PlayheadSaver().get_tuple(thread("t"))
            if found is not None and any([name] == value for _, _, value in found.pending_writes or ()):
                return
            time.sleep(0.01)
        raise AssertionError(f"the writes of {name} are not stored")

    builder = StateGraph(State)
    for name, node in (("good", good), ("bad", bad)):
        builder.add_node(name, node)
        builder.add_edge(START, name)
        builder.add_edge(name, END)
    with pytest.raises(RuntimeError, match="the first time"):
        builder.compile(checkpointer=PlayheadSaver()).invoke({"done": []}, thread("t"), durability="sync")
    done: Any = builder.compile(checkpointer=PlayheadSaver()).invoke(None, thread("t"))
    assert sorted(done["done"]) == ["bad", "good"]
    assert (ran.count("good"), ran.count("bad")) == (1, 2)


def test_an_asynchronous_graph_and_many_threads_at_once():
    saver = PlayheadSaver()
    graph = chat_graph(saver)

    async def chats() -> None:
        async def chat(name: str) -> None:
            for number in range(3):
                await graph.ainvoke({"messages": [HumanMessage(f"{name} {number}")]}, thread(name))

        await asyncio.gather(*(chat(f"t{number}") for number in range(5)))
        history = [each async for each in graph.aget_state_history(thread("t3"))]
        assert len(history[0].values["messages"]) == 6

    asyncio.run(chats())
    with ThreadPoolExecutor(4) as threads:
        assert len([*threads.map(lambda number: say(graph, f"t{number}", "again"), range(5))]) == 5
    assert all(len(texts(chat_graph(PlayheadSaver()), f"t{number}")) == 8 for number in range(5))
    assert len(named(saver, None, "thread_id")) == 5


@dataclasses.dataclass
class Odd:
    """A class of the program."""

    name: str


def test_values_of_all_kinds_come_back_as_they_were():
    """Whatever LangGraph's own serialiser keeps, as it keeps it; JSON that is no JSON any more after reading is not
    stored as JSON."""
    values: dict[str, Any] = {
        "none": None, "truth": True, "one": 1, "float": 1.0, "minus": -0.0, "text": "ä\x00\n",
        "bytes": b"\x00\xff", "tuple": (1, (2,)), "set": {1, 2}, "nested": {"b": [1, {"z": None, "a": 2}], "a": 1},
        "empty": [],
        "keys": {1: "one"}, "ref": {"ref": "sha256:" + "0" * 64, "as": "json"}, "odd": Odd("x"), "nan": float("inf"),
        "long": "x" * 5_000, "messages": [HumanMessage("hi", id="1"), AIMessage("ho", id="2")],
        "dicts": [{"role": "user", "content": "hi"}], "mixed": [HumanMessage("hi", id="3"), 1],
        "input": {"messages": [HumanMessage("hi", id="4")], "n": 1},
    }  # fmt: skip
    saver, reference = PlayheadSaver(), InMemorySaver()
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict.fromkeys(checkpoint["channel_values"], 1)
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    found: list[Any] = []
    for each in (saver, reference):
        put: Any = each.put(config, checkpoint, {"source": "loop", "step": 1}, checkpoint["channel_versions"])
        each.put_writes(put, [*checkpoint["channel_values"].items()], "task")
        again = (PlayheadSaver() if each is saver else each).get_tuple(config)
        assert again is not None
        found.append((again.checkpoint["channel_values"], again.pending_writes))
    assert repr(sorted(found[0][0].items())) == repr(sorted(found[1][0].items()))
    assert repr(found[0][1]) == repr(found[1][1])


def test_what_cannot_be_written_is_refused_and_nothing_is_stored():
    saver = PlayheadSaver()
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"lock": open}
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    with pytest.raises(TypeError):
        saver.put(config, checkpoint, {}, {"lock": 1})
    assert stored("t") == []
    with pytest.raises(ValueError, match="thread_id"):
        saver.get_tuple({"configurable": {}})


def test_with_an_encrypting_serialiser_nothing_is_stored_in_the_clear(tmp_path: Path):
    class Cipher:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "swapped", bytes(byte ^ 255 for byte in plaintext)

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            assert ciphername == "swapped"
            return bytes(byte ^ 255 for byte in ciphertext)

    saver = PlayheadSaver(serde=EncryptedSerializer(Cipher()))
    say(chat_graph(saver), "t", "secret")
    assert b"secret" not in b"".join(path.read_bytes() for path in (tmp_path / "journal/conversations").iterdir())
    assert texts(chat_graph(saver), "t") == ["secret", "echo secret"]


def test_a_redaction_hook_is_not_applied_and_a_warning_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    playhead.configure(endpoint=None, journal_dir=tmp_path / "journal", redact=lambda value: "redacted")
    say(chat_graph(PlayheadSaver()), "t", "secret")
    assert "the redaction hook is not applied to LangGraph's checkpoints" in caplog.text
    assert texts(chat_graph(PlayheadSaver()), "t") == ["secret", "echo secret"]


def test_scopes_do_not_see_each_other():
    say(chat_graph(PlayheadSaver(scope="a")), "t", "of a")
    assert texts(chat_graph(PlayheadSaver(scope="b")), "t") == []
    assert [*PlayheadSaver(scope="b").list(None)] == []
    assert texts(chat_graph(PlayheadSaver(scope="a")), "t") == ["of a", "echo of a"]
    assert playhead.list_conversations() == []


KILLED = """
import os
from tests.support.graphs import chat_graph, say
from playhead.conversations.langgraph import PlayheadSaver
graph = chat_graph(PlayheadSaver())
for number in range(1_000):
    say(graph, "killed", f"m{number}")
    os.write(1, b"+")
"""


def test_a_killed_process_loses_no_turn_that_was_answered():
    acknowledged = 0
    for chance in (3, 5, 2):
        process = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE)
        assert process.stdout is not None
        got = os.read(process.stdout.fileno(), 1)
        while len(got) < chance:
            got += os.read(process.stdout.fileno(), 1)
        process.send_signal(signal.SIGKILL)
        got += process.communicate()[0]
        acknowledged += len(got)
    found = texts(chat_graph(PlayheadSaver()), "killed")
    assert sum(text.startswith("echo") for text in found) >= acknowledged
    assert say(chat_graph(PlayheadSaver()), "killed", "last")[-1] == "echo last"


class Moment(datetime):
    """A time which, when it is compared with, does something else first: as another thread may."""

    meanwhile: ClassVar[list[Callable[[], object]]] = []

    def __ge__(self, other: Any) -> bool:
        if self.meanwhile:
            self.meanwhile.pop()()
        return super().__ge__(other)


def test_an_item_that_is_written_while_others_are_looked_through_disturbs_nobody():
    store = PlayheadStore(now=lambda: Moment(2026, 1, 1, tzinfo=UTC))
    for number in range(3):
        store.put(("cache",), f"k{number}", {"n": number}, ttl=10)
    looks = (lambda: store.get(("cache",), "k0"), lambda: store.search(()), store.list_namespaces)
    for number, look in enumerate(looks):
        Moment.meanwhile.append(partial(store.put, ("cache",), f"other {number}", {"n": 9}, ttl=10))
        assert look()
        assert not Moment.meanwhile
    assert len(store.search(("cache",))) == 6
