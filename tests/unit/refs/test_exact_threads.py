"""Messages come back exactly as they were given: their canonical form, restored, and the patches beside it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import openai_chat, openai_responses
from playhead.model.canonical import value_of
from playhead.model.json_changes import patched
from playhead.model.message import LARGE_PART_BYTES, message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.thread import thread_of
from playhead.refs.threads import message_ref, sent_thread_refs, thread_ref
from tests.unit.refs.kept import Kept
from tests.unit.refs.test_threads import Run, sequences

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"b": 1.0, "a": null}'}}


def given_back(run: Run, messages: Sequence[Any], dialect: Any) -> list[Any]:
    """The messages from what the journal was given alone."""
    kept = Kept()
    thread, exact = sent_thread_refs(run.intake, messages, dialect.to_message, dialect.from_message, run.known, kept)
    run.journal.commit(kept)
    patches: dict[int, Any] = {}
    while exact is not None:
        node = value_of(run.journal.contents[exact])
        patches[node["place"]] = node["patch"]
        exact = ContentRef(node["parent"]) if node["parent"] else None
    restored = map(dialect.from_message, run.read(thread))
    return [patched(message, patches.get(place, ())) for place, message in enumerate(restored)]


def as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("dialect", [openai_chat, openai_responses], ids=lambda dialect: dialect.NAME)
@given(calls=sequences())
def test_whatever_was_done_to_the_list_between_calls(dialect: Any, calls: list[list[Any]]):
    run = Run()
    for history in calls:
        assert as_text(given_back(run, history, dialect)) == as_text(history)


CONTENTS = (
    st.none() | st.sampled_from(["", "hi"]) | st.lists(st.just({"type": "text", "text": "x", "y": None}), max_size=2)
)
DECORATED = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": CONTENTS},
    optional={
        "tool_calls": st.none() | st.lists(st.sampled_from([CALL, {**CALL, "index": 0}, {"id": None}]), max_size=2),
        "refusal": st.none() | st.just("no"),
        "annotations": st.just([]),
        "reasoning_content": st.none() | st.just("hm"),
        "function_call": st.none() | st.just({"name": "f", "arguments": "{ }"}),
        "n": st.sampled_from([1, 1.0, True, 2**70]),
    },
)


@given(st.lists(DECORATED, min_size=1, max_size=4))
def test_null_keys_empty_lists_and_the_text_of_arguments_are_kept(messages: list[Any]):
    assert as_text(given_back(Run(), messages, openai_chat)) == as_text(messages)


def test_a_conversation_shares_the_patches_of_its_beginning():
    run, history = Run(), [{"role": "assistant", "content": None, "tool_calls": [CALL]}]
    stored: list[int] = []
    for number in range(20):
        given_back(run, history, openai_chat)
        stored.append(len(run.journal.contents))
        history = [*history, {"role": "user", "content": f"message {number}"}]
    assert stored == list(range(stored[0], stored[0] + 20))


# Lone surrogates have no UTF-8 form.
TEXTS = st.text(st.characters(), max_size=20) | st.sampled_from(["null", "1e+16", "\ud800"])
PLAIN = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "developer", "tool", "", "\ud800"]), "content": TEXTS}
)


@pytest.mark.parametrize("dialect", [openai_chat, openai_responses], ids=lambda dialect: dialect.NAME)
@given(messages=st.lists(PLAIN, min_size=1, max_size=4))
def test_plain_texts_are_the_messages_that_the_dialect_makes_of_them(dialect: Any, messages: list[Any]):
    run = Run()
    assert as_text(given_back(run, messages, dialect)) == as_text(messages)
    thread = thread_ref(run.intake, messages, dialect.to_message, [], Kept())
    assert thread == thread_of(dialect.to_messages(messages)).ref


@pytest.mark.parametrize("size", [LARGE_PART_BYTES - 60, LARGE_PART_BYTES, LARGE_PART_BYTES + 1])
def test_large_plain_texts_stand_apart_as_in_other_messages(size: int):
    messages, kept = [{"role": "user", "content": "x" * size}], Kept()
    whole = thread_of(openai_chat.to_messages(messages))
    assert sent_thread_refs(Run().intake, messages, openai_chat.to_message, openai_chat.from_message, [], kept) == (
        whole.ref,
        None,
    )
    assert set(kept.contents) == {content.ref for content in whole.contents}


def test_what_the_canonical_form_says_exactly_costs_nothing():
    run = Run()
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": '{"a":1}'}}]},
    ]
    assert (
        sent_thread_refs(run.intake, messages, openai_chat.to_message, openai_chat.from_message, run.known, Kept())[1]
        is None
    )


def test_how_many_messages_need_no_cutting_is_remembered_with_them():
    """Also where a conversation branches off from another: the next call need not look at all messages again."""
    run, dialect = Run(), openai_chat
    for messages in ("abc", "abd"):
        given_ = [{"role": "user", "content": text} for text in messages]
        sent_thread_refs(
            run.intake, given_, dialect.to_message, dialect.from_message, run.known, Kept(), uncut_prefix=3
        )
        assert run.known[0].uncut_prefix == 3


@pytest.mark.parametrize("text", ["plain", "NaN null 1e+16", "\ud83d", "x" * LARGE_PART_BYTES])
def test_a_message_that_is_one_text_has_the_same_ref_as_by_the_long_way(text: str):
    """Also where it holds what the quick way must not write: a lone surrogate, or more than a small message."""
    message = text_message("assistant", text)
    assert message_ref(Run().intake, message, Kept()) == message_contents(message)[0].ref
