"""Threads, incrementally: the same refs as for the whole list, whatever was done to the list between two calls."""

import copy
import threading
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

from playhead.dialect import openai_chat as dialect
from playhead.model.canonical import value_of
from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref, thread_of
from playhead.refs import threads as module
from playhead.refs.intake import PayloadIntake
from playhead.refs.threads import KnownThread, extend_thread, thread_ref
from tests.unit.refs.kept import Journal, Kept


class Run:
    """A run's calls, one after the other, each in the journal before the next."""

    def __init__(self, **options: Any) -> None:
        self.intake = PayloadIntake(**{"max_content_bytes": 2**20, **options})
        self.known: list[KnownThread] = []
        self.journal = Journal(self.intake)

    def call(self, messages: Sequence[Any]) -> ContentRef | None:
        self.last = Kept()
        ref = thread_ref(self.intake, messages, dialect.to_message, self.known, self.last)
        self.journal.commit(self.last)
        return ref

    def read(self, ref: ContentRef | None) -> list[Any]:
        """The messages, from what the journal was given alone."""
        nodes: dict[ContentRef, tuple[ContentRef | None, ContentRef]] = {}
        for parent, messages in self.journal.threads.values():
            above = parent
            for message in messages:
                node = node_ref(message, above)
                nodes[node] = (above, message)
                above = node
        found: list[Any] = []
        while ref is not None:
            ref, message = nodes[ref]
            found.insert(0, value_of(self.journal.contents[message]))
        return found


def whole(messages: Sequence[Any]) -> ContentRef | None:
    return thread_of(dialect.to_messages(messages)).ref


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


# Values that Python thinks equal and JSON does not are what an incremental comparison gets wrong.
scalars = st.sampled_from(["a", "b", "", 0, 1, True, False, 1.0, 0.0, -0.0, None, 2**70])
contents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner)
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool"]), "content": scalars},
    optional={"name": st.sampled_from(["n", "m"]), "odd": contents, "tool_call_id": st.just("c1")},
)
histories = st.lists(messages, max_size=6)


@st.composite
def sequences(draw: st.DrawFn) -> list[list[Any]]:
    """Lists as an agent's history goes: appended to, cut, edited anywhere, repeated, begun anew."""
    history: list[Any] = draw(histories)
    calls = [copy.deepcopy(history)]
    for _ in range(draw(st.integers(1, 5))):
        history = copy.deepcopy(draw(st.sampled_from(calls)))
        for _ in range(draw(st.integers(0, 2))):
            match draw(st.sampled_from(["append", "cut", "edit", "insert", "anew"])):
                case "append":
                    history += draw(st.lists(messages, max_size=3))
                case "cut":
                    del history[draw(st.integers(0, len(history))) :]
                case "edit" if history:
                    history[draw(st.integers(0, len(history) - 1))]["content"] = draw(scalars)
                case "insert":
                    history.insert(draw(st.integers(0, len(history))), draw(messages))
                case _:
                    history = draw(histories)
        calls.append(copy.deepcopy(history))
    return calls


@given(sequences())
def test_every_call_has_the_ref_of_its_whole_list_and_can_be_read_back(calls: list[list[Any]]):
    run = Run()
    for history in calls:
        ref = run.call(history)
        assert ref == whole(history)
        assert run.read(ref) == [dict(message) for message in dialect.to_messages(history)]


@given(sequences(), st.data())
def test_the_same_holds_when_the_journal_fails_or_is_forgotten_in_between(calls: list[list[Any]], data: st.DataObject):
    run = Run()
    for history in calls:
        if data.draw(st.booleans()):
            lost = Kept()
            thread_ref(run.intake, history, dialect.to_message, run.known, lost)
            run.intake.forget()
        ref = run.call(history)
        assert ref == whole(history)
        assert run.read(ref) == [dict(message) for message in dialect.to_messages(history)]


def test_only_what_is_new_is_kept():
    run = Run()
    history = [user(str(n)) for n in range(1_000)]
    run.call(history)
    history += [{"role": "assistant", "content": "x"}, user("y")]
    run.call(history)
    assert len(run.last.contents) == 2
    [(parent, added)] = run.last.threads.values()
    assert (parent, len(added)) == (whole(history[:1_000]), 2)


def test_one_message_changed_in_place_among_a_thousand_is_noticed():
    run = Run()
    history = [user(str(n)) for n in range(1_000)]
    run.call(history)
    history[3]["content"] = "changed"
    assert run.call(history) == whole(history)
    assert len(run.last.contents) == 1


@pytest.mark.parametrize(("before", "after"), [(1, True), (True, 1.0), (0.0, -0.0), (1.0, 1), (False, 0)])
def test_what_python_thinks_equal_and_json_does_not_is_noticed(before: Any, after: Any):
    run = Run()
    history = [user("a"), {"role": "user", "content": "b", "options": {"flag": [before]}}, user("c")]
    run.call(history)
    history[1]["options"]["flag"][0] = after
    assert run.call(history) == whole(history)


def test_an_empty_list_has_no_ref():
    run = Run()
    assert run.call([]) is None
    assert run.call(()) is None


def test_tuples_iterators_and_mappings_are_lists_of_messages():
    class Role(StrEnum):
        USER = "user"

    history = [user("a"), user("b")]
    assert Run().call(tuple(history)) == whole(history)
    assert Run().call(iter(history)) == whole(history)  # pyright: ignore[reportArgumentType]
    assert Run().call([{"role": Role.USER, "content": "a"}, user("b")]) == whole(history)


def test_a_providers_own_message_object_is_the_message_that_it_stands_for():
    run = Run()
    answer = ChatCompletionMessage(role="assistant", content="hello")
    history: list[Any] = [user("a"), answer]
    as_dicts = [user("a"), {"role": "assistant", "content": "hello"}]
    assert run.call(history) == whole(as_dicts)
    history.append(user("b"))
    assert run.call(history) == whole([*as_dicts, user("b")])
    assert len(run.last.contents) == 1
    answer.content = "changed in place"
    assert run.call(history) == whole([user("a"), {"role": "assistant", "content": "changed in place"}, user("b")])


def test_objects_that_compare_as_they_like_are_taken_by_what_they_hold():
    class Yes(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    class No(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        def __hash__(self) -> int:
            return 1

    run = Run()
    run.call([user("a"), user("b")])
    assert run.call([No(user("a")), user("b")]) == whole([user("a"), user("b")])
    assert run.call([No(user("a")), user("c")]) == whole([user("a"), user("c")])
    run.call([No(user("a")), Yes(user("d"))])


def test_what_is_no_message_is_kept_as_it_came():
    run = Run()
    ref = run.call(["just text", 5])
    assert [message["parts"][0]["content"] for message in run.read(ref)] == ["just text", 5]


def test_large_parts_stand_apart():
    run = Run()
    history = [user("x" * 20_000)]
    assert run.call(history) == whole(history)
    assert len(run.last.contents) == 2


def test_branches_of_one_run_each_keep_their_thread():
    run = Run()
    base = [user("system")]
    for n in range(3):
        run.call([*base, user(f"branch {n}")])
    for n in range(3):
        history = [*base, user(f"branch {n}"), user("more")]
        assert run.call(history) == whole(history)
        assert len(run.last.contents) == (1 if n == 0 else 0)


def test_memory_is_bounded():
    run = Run()
    for n in range(50):
        run.call([user(str(n))])
    assert len(run.known) == module._MAX_THREADS


def test_a_thread_of_markers_is_not_taken_for_the_real_one_later():
    run = Run()
    history = [user("a")]
    run.intake.full = True
    assert run.call(history) != whole(history)
    run.intake.full = False
    assert run.call(history) == whole(history)


def test_another_redaction_is_another_thread():
    intake = PayloadIntake(max_content_bytes=2**20)
    known: list[KnownThread] = []

    def mask(value: Any) -> Any:
        return {**value, "content": "masked"}

    history = [user("secret")]
    kept = Kept()
    masked = thread_ref(intake, history, dialect.to_message, known, kept, mask)
    assert masked == whole([user("masked")])
    assert not any(b"secret" in content.data for content in kept.contents.values())
    assert thread_ref(intake, history, dialect.to_message, known, Kept()) == whole(history)
    assert thread_ref(intake, history, dialect.to_message, known, Kept(), mask) == masked


def test_a_redaction_that_fails_leaves_a_marker():
    run = Run(redact=lambda value: 1 / 0)
    ref = run.call([user("secret")])
    assert not any(b"secret" in content.data for content in run.journal.contents.values())
    assert b"redaction failed" in b"".join(content.data for content in run.journal.contents.values())
    assert ref is not None


def test_an_answer_extends_a_thread():
    intake = PayloadIntake(max_content_bytes=2**20)
    kept = Kept()
    history = [user("a")]
    parent = thread_ref(intake, history, dialect.to_message, [], kept)
    answer = dialect.to_message({"role": "assistant", "content": "b"})
    tip = extend_thread(intake, [answer], parent, kept)
    assert tip == whole([*history, {"role": "assistant", "content": "b"}])
    assert extend_thread(intake, [], parent, kept) == parent
    assert extend_thread(intake, [], None, kept) is None


def test_threads_of_the_program_may_race_on_one_runs_memory():
    run = Run()
    base = [{"role": "user", "content": str(n), "n": n} for n in range(30)]
    run.call(base)
    wrong: list[str] = []
    barrier = threading.Barrier(4)

    def work(name: str) -> None:
        history: list[Any] = copy.deepcopy(base)
        barrier.wait(60)
        for n in range(40):
            history.append({"role": "user", "content": f"{name}{n}" if n % 3 else f"shared {n}", "n": n})
            kept = Kept()
            ref = thread_ref(run.intake, list(history), dialect.to_message, run.known, kept)
            run.intake.known.add_all(kept.new)
            if ref != whole(history):
                wrong.append(f"{name}{n}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert all(len(thread.messages) == len(thread.nodes) for thread in run.known)
