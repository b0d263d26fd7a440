"""Chat Completions messages: nothing is lost, and what is one message has one ref."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import openai_chat
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import list_at
from playhead.model.message import Message, message_contents
from tests.unit.model.values import anything, checked, keys, shuffled, texts

TRAJECTORIES = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", "../shared/data"))

# --- what counts as the same native message --------------------------------------------------------------------------


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def meaning(text: str) -> Any:
    """The object or array that JSON text spells, for white space and the order of keys do not count there."""
    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=refused)
    except (ValueError, RecursionError):
        return text
    return ["arguments", value] if isinstance(value, dict | list) else text


def said(native: Any) -> Any:
    if isinstance(native, dict):
        named = {key: said(value) for key, value in native.items() if value is not None}
        if isinstance(named.get("arguments"), str):
            named["arguments"] = meaning(named["arguments"])
        return named
    return [said(item) for item in native] if isinstance(native, list | tuple) else native


def said_by_message(native: dict[str, Any]) -> Any:
    return said({key: value for key, value in native.items() if key == "content" or value != []})


def assert_nothing_is_lost(native: dict[str, Any]) -> Message:
    message = openai_chat.to_message(native)
    assert said_by_message(openai_chat.from_message(message)) == said_by_message(native)
    # Nor in its canonical bytes, which are what is stored.
    stored = parse_json(canonical_json(message))
    assert said_by_message(openai_chat.from_message(stored)) == said_by_message(native)
    return message


def ref_of(message: Message) -> str:
    return message_contents(message)[0].ref


# --- any message -----------------------------------------------------------------------------------------------------

json_texts = st.one_of(
    texts,
    st.dictionaries(keys, anything, max_size=4).map(lambda value: json.dumps(value, indent=1)),
    st.lists(anything, max_size=3).map(json.dumps),
    st.sampled_from(['{"a":1,"a":2}', '{"a":{"b":"\\"","b":1}}', '{"\\u0022":1,"x":2,"x":2}', " [1, 2]", "5", '"x"']),
    st.sampled_from(["{", '{"a":NaN}', '{"a":1e999}', "[" * 300 + "]" * 300, '{"n":123456789012345678901234567890}']),
)
words = st.sampled_from(["function", "custom", "function_call", "text", "refusal", "file", "blob", "x"])


def an_object(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of these fields, each as expected or as anything at all, and perhaps others."""
    return st.builds(
        lambda known, other: {**other, **known},
        st.fixed_dictionaries({}, optional={name: value | anything for name, value in fields.items()}),
        st.just({}) | st.dictionaries(keys | st.sampled_from(["extra", "value", "ref", "name"]), anything, max_size=2),
    )


functions = an_object(name=texts, arguments=json_texts)
calls = an_object(
    id=texts, type=words, function=functions | functions, custom=an_object(name=texts, input=texts), index=st.integers()
)
urls = st.sampled_from(["https://host/a.png", "data:image/png;base64,AAAA", "data:text/plain,hello", "data:;base64,"])
element_types = st.sampled_from([
    "text", "image_url", "input_audio", "file", "refusal", "video_url", "playhead.ref", "playhead.as_is",
    "tool_call", "tool_call_response", "reasoning", "uri", "blob",
])  # fmt: skip
elements = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
    an_object(
        type=element_types,
        text=texts,
        refusal=texts,
        image_url=an_object(url=urls, detail=texts),
        input_audio=an_object(data=texts, format=st.sampled_from(["wav", "mp3", "mpeg", "flac"])),
        file=an_object(file_id=texts, file_data=urls, filename=texts),
    ),
)
natives = an_object(
    role=st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "critic", "unknown"]),
    content=texts | st.lists(elements | anything, max_size=3),
    name=texts,
    tool_call_id=texts,
    tool_calls=st.lists(calls, max_size=3),
    function_call=functions,
    refusal=texts,
    reasoning=texts,
    reasoning_content=texts,
    annotations=st.just([]),
)


@checked
@given(natives)
def test_no_message_loses_anything(native: dict[str, Any]):
    assert_nothing_is_lost(native)


@checked
@given(natives, st.randoms(use_true_random=False))
def test_neither_the_order_of_keys_nor_nulls_change_a_ref(native: dict[str, Any], order: Any):
    other = {**native, **{key: None for key in ("refusal", "audio", "function_call") if key not in native}}
    other |= {key: [] for key in ("annotations", "tool_calls") if native.get(key) is None}
    assert ref_of(openai_chat.to_message(shuffled(other, order))) == ref_of(openai_chat.to_message(native))


@checked
@given(natives)
def test_an_answer_has_one_ref_as_output_and_as_input(native: dict[str, Any]):
    native = {key: value for key, value in native.items() if "reasoning" not in key} | {"role": "assistant"}
    response = {**native, "reasoning_content": "hm", "annotations": native.get("annotations", [])}
    message, reasoning = openai_chat.output_message(response)
    assert reasoning == "hm"
    assert ref_of(message) == ref_of(openai_chat.to_message(native))


# --- the forms that there are ----------------------------------------------------------------------------------------

CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "SFO", "n": 3}'}}
PIXEL = "data:image/png;base64,iVBORw0KGgo="

FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "text": ({"role": "user", "content": "hi"}, {"role": "user", "parts": [{"type": "text", "content": "hi"}]}),
    "empty text": ({"role": "user", "content": ""}, {"role": "user", "parts": [{"type": "text", "content": ""}]}),
    "developer": (
        {"role": "developer", "content": "be kind"},
        {"role": "system", "parts": [{"type": "text", "content": "be kind"}], "extra": {"role": "developer"}},
    ),
    "name": (
        {"role": "user", "content": "hi", "name": "ann"},
        {"role": "user", "parts": [{"type": "text", "content": "hi"}], "name": "ann"},
    ),
    "one text in a list": (
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "user", "parts": [{"type": "text", "content": "hi", "extra": {"type": "text"}}]},
    ),
    "image by data": (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}}]},
        {
            "role": "user",
            "parts": [
                {
                    "type": "blob", "mime_type": "image/png", "modality": "image", "content": "iVBORw0KGgo=",
                    "extra": {"image_url": {"detail": "low"}},
                }
            ],
        },
    ),
    "image by address": (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://host/a.png"}}]},
        {"role": "user", "parts": [{"type": "uri", "modality": "image", "uri": "https://host/a.png"}]},
    ),
    "audio": (
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}]},
        {
            "role": "user",
            "parts": [{"type": "blob", "mime_type": "audio/mpeg", "modality": "audio", "content": "AAAA"}],
        },
    ),
    "file": (
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "f1", "filename": "a.pdf"}}]},
        {
            "role": "user",
            "parts": [
                {"type": "file", "modality": "file", "file_id": "f1", "extra": {"file": {"filename": "a.pdf"}}}
            ],
        },
    ),
    "unknown part": (
        {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://host/a"}, "x": None}]},
        {"role": "user", "parts": [{"type": "video_url", "video_url": {"url": "https://host/a"}}]},
    ),
    "a part that calls itself one of ours": (
        {"role": "user", "content": [{"type": "playhead.ref", "ref": "sha256:" + "0" * 64}]},
        {
            "role": "user",
            "parts": [{"type": "playhead.as_is", "value": {"type": "playhead.ref", "ref": "sha256:" + "0" * 64}}],
        },
    ),
    "tool calls": (
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "SFO", "n": 3}}],
        },
    ),
    "nulls inside arguments": (
        {"role": "assistant", "tool_calls": [CALL | {"function": {"name": "f", "arguments": '{"a":null}'}}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": None}}]},
    ),
    "arguments that do not parse": (
        {"role": "assistant", "tool_calls": [CALL | {"function": {"name": "f", "arguments": '{"a":'}}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": '{"a":'}]},
    ),
    "arguments with a key twice": (
        {"role": "assistant", "tool_calls": [CALL | {"function": {"name": "f", "arguments": '{"a":1,"a":2}'}}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": '{"a":1,"a":2}'}]},
    ),
    "arguments with a big integer": (
        {"role": "assistant", "tool_calls": [CALL | {"function": {"name": "f", "arguments": f'{{"n":{2**80}}}'}}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": {"n": 2**80}}]},
    ),
    "custom tool call": (
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "{}"}}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "sh", "arguments": "{}", "extra": {"type": "custom"}}],
        },
    ),
    "function call": (
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "name": "f", "arguments": {}, "extra": {"type": "function_call"}}],
        },
    ),
    "tool result": (
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "42"}]},
    ),
    "function result": (
        {"role": "function", "name": "f", "content": "42"},
        {
            "role": "tool", "name": "f", "parts": [{"type": "tool_call_response", "response": "42"}],
            "extra": {"role": "function"},
        },
    ),
    "refusal": (
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "assistant", "parts": [{"type": "refusal", "content": "no"}]},
    ),
    "reasoning in a request": (
        {"role": "assistant", "content": "4", "reasoning_content": "2+2"},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "2+2"}, {"type": "text", "content": "4"}]},
    ),
    "response decorations": (
        {"role": "assistant", "content": "4", "refusal": None, "annotations": [], "tool_calls": [], "audio": None},
        {"role": "assistant", "parts": [{"type": "text", "content": "4"}]},
    ),
    "unknown keys": (
        {"role": "assistant", "content": "4", "mood": {"good": None}},
        {"role": "assistant", "parts": [{"type": "text", "content": "4"}], "extra": {"mood": {"good": None}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_has_its_canonical_form(form: str):
    native, canonical = FORMS[form]
    assert assert_nothing_is_lost(native) == canonical


def test_one_text_and_a_list_of_one_text_are_two_messages():
    refs = {ref_of(openai_chat.to_message(FORMS[form][0])) for form in ("text", "one text in a list")}
    assert len(refs) == 2


def test_arguments_have_one_ref_however_they_are_spaced():
    spaced, tight = (
        openai_chat.to_message(
            {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": text}}]}
        )
        for text in ('{ "b": [1, 2],\n "a": "x" }', '{"a":"x","b":[1,2]}')
    )
    assert ref_of(spaced) == ref_of(tight)


@pytest.mark.parametrize(
    ("fields", "reasoning"),
    [
        ({}, None),
        ({"reasoning_content": None}, None),
        ({"reasoning_content": ""}, None),
        ({"reasoning_content": "hm"}, "hm"),
        ({"reasoning": "hm"}, "hm"),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "hm"),
        (
            {"reasoning": "hm", "reasoning_details": [{"type": "x"}]},
            {"reasoning": "hm", "reasoning_details": [{"type": "x"}]},
        ),
    ],
)
def test_the_reasoning_of_an_answer_stands_apart(fields: dict[str, Any], reasoning: Any):
    message, found = openai_chat.output_message({"content": "4", **fields})
    assert message == {"role": "assistant", "parts": [{"type": "text", "content": "4"}]}
    assert found == reasoning


def test_lists_are_read_and_written_one_by_one():
    several = [native for native, _ in FORMS.values()]
    messages = openai_chat.to_messages(several)
    assert [said_by_message(native) for native in openai_chat.from_messages(messages)] == list(
        map(said_by_message, several)
    )


def test_a_message_of_another_dialect_is_written_as_far_as_this_one_can_say_it():
    message: Message = {
        "role": "tool",
        "parts": [
            {"type": "tool_call_response", "id": "1", "response": {"a": 1}},
            {"type": "blob", "modality": "video", "content": "AAAA"},
            {"type": "file", "modality": "image", "file_id": "f"},
            {"type": "tool_call", "id": "2"},
            {},
        ],
    }
    assert len(list_at(openai_chat.from_message(message), "content")) == 4


# --- recorded runs ---------------------------------------------------------------------------------------------------


def recorded() -> list[list[dict[str, Any]]]:
    return [
        run["traj"]
        for path in sorted(TRAJECTORIES.glob("*.json"))
        for run in json.loads(path.read_text(encoding="utf-8"))
        if "traj" in run
    ]


def test_no_recorded_message_loses_anything():
    runs = recorded()
    if not runs:
        pytest.skip("no recorded runs: PLAYHEAD_TRAJECTORIES names a folder of them")
    refs = {ref_of(assert_nothing_is_lost(native)) for run in runs for native in run}
    assert len(refs) <= sum(map(len, runs))


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": "Hm."},
        {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "H"}, {"type": "text", "text": "m."}],
            "closed": True,
        },
    ],
    ids=["cohere", "mistral"],
)
def test_thinking_among_the_elements_of_a_content_is_reasoning_and_stays_in_the_message(thought: dict[str, Any]):
    native = {"role": "assistant", "content": [thought, {"type": "text", "text": "Well."}]}
    assert_nothing_is_lost(native)
    message, reasoning = openai_chat.output_message(native)
    assert reasoning == "Hm."
    assert [(part["type"], part["content"]) for part in message["parts"]] == [("reasoning", "Hm."), ("text", "Well.")]


def test_thinking_beside_the_content_is_reasoning():
    native = {"role": "assistant", "content": "Well.", "thinking": "Hm."}
    assert openai_chat.from_message(assert_nothing_is_lost(native)) == native
    message, reasoning = openai_chat.output_message(native)
    assert (reasoning, len(message["parts"])) == ("Hm.", 1)


@pytest.mark.parametrize("value", [None, [], [{"type": "image"}], {"a": 1}, 3], ids=repr)
def test_thinking_of_another_form_is_kept(value: Any):
    assert_nothing_is_lost({"role": "assistant", "content": [{"type": "thinking", "thinking": value, "x": 1}]})
    assert_nothing_is_lost({"role": "assistant", "content": "", "thinking": value})
