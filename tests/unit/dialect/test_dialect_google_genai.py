"""Gemini's contents: nothing is lost, and what is one message has one ref."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import google_genai, openai_chat
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.message import Message, message_contents
from tests.unit.dialect.test_dialect_openai import an_object
from tests.unit.model.values import anything, checked, shuffled, texts

# --- any content -----------------------------------------------------------------------------------------------------


PART_KEYS = {"inline_data": "inlineData", "function_call": "functionCall", "thought_signature": "thoughtSignature"}
INNER_KEYS = {"mimeType": "mime_type", "fileUri": "file_uri", "displayName": "display_name"}


def without_nulls(native: Any) -> Any:
    if isinstance(native, dict):
        return {key: without_nulls(value) for key, value in native.items() if value is not None}
    return [without_nulls(item) for item in native] if isinstance(native, list | tuple) else native


def spelled_one_way(part: Any, names: dict[str, str]) -> Any:
    """With one name for keys that have two, unless both stand there."""
    if not isinstance(part, dict):
        return part
    renamed = {names.get(key, key): value for key, value in part.items()}
    return renamed if len(renamed) == len(part) else part


def said(native: Any) -> Any:
    """Without nulls, and without the differences in spelling that the API does not make."""
    content = without_nulls(native)
    parts = content.get("parts")
    if isinstance(parts, list):
        content["parts"] = [_said_part(part) for part in parts]
    return content


def _said_part(given: Any) -> Any:
    part = spelled_one_way(given, PART_KEYS)
    if not isinstance(part, dict):
        return part
    for key in ("inlineData", "fileData"):
        if key in part:
            part[key] = spelled_one_way(part[key], INNER_KEYS)
    signature, blob = part.get("thoughtSignature"), part.get("inlineData")
    if isinstance(signature, str):
        part["thoughtSignature"] = signature.replace("+", "-").replace("/", "_")
    if isinstance(blob, dict) and isinstance(blob.get("data"), str):
        blob["data"] = blob["data"].replace("+", "-").replace("/", "_")
    return part


def assert_nothing_is_lost(native: dict[str, Any]) -> Message:
    message = google_genai.to_message(native)
    assert said(google_genai.from_message(message)) == said(native)
    # Nor in its canonical bytes, which are what is stored.
    stored = parse_json(canonical_json(message))
    assert said(google_genai.from_message(stored)) == said(native)
    return message


def ref_of(message: Message) -> str:
    return message_contents(message)[0].ref


encoded = st.binary(max_size=8).map(lambda data: base64.urlsafe_b64encode(data).decode())
base64s = encoded | st.sampled_from(["-_+/", "+/", "a-b/", "==", "é"])
mime_types = st.sampled_from(["image/png", "audio/wav", "video/mp4", "application/pdf", "x"])
part_objects = st.one_of(
    st.fixed_dictionaries({"text": texts}),
    st.fixed_dictionaries({"text": texts, "thought": st.booleans()}),
    an_object(
        text=texts,
        thought=st.booleans(),
        thoughtSignature=base64s,
        functionCall=an_object(id=texts, name=texts, args=anything),
        functionResponse=an_object(id=texts, name=texts, response=anything, parts=st.lists(anything, max_size=1)),
        inlineData=an_object(mimeType=mime_types, mime_type=mime_types, data=base64s, displayName=texts),
        inline_data=an_object(mime_type=mime_types, data=base64s),
        function_call=an_object(name=texts),
        thought_signature=base64s,
        fileData=an_object(mimeType=mime_types, fileUri=texts, file_uri=texts),
        executableCode=an_object(code=texts, language=texts, id=texts),
        codeExecutionResult=an_object(outcome=texts, output=texts),
        toolCall=an_object(id=texts, toolType=texts, args=anything, type=texts),
        toolResponse=an_object(id=texts, toolType=texts, response=anything),
    ),
    # One of them, and what may stand beside it: the parts that there are.
    *(
        st.fixed_dictionaries({key: value}, optional={"thought": st.booleans(), "thoughtSignature": base64s})
        for key, value in {
            "functionCall": an_object(id=texts, name=texts, args=anything),
            "functionResponse": an_object(id=texts, name=texts, response=anything),
            "inlineData": an_object(mime_type=mime_types, data=base64s),
            "inline_data": an_object(mimeType=mime_types, data=base64s),
            "fileData": an_object(mimeType=mime_types, fileUri=texts),
            "toolCall": an_object(id=texts, toolType=texts),
        }.items()
    ),
)
natives = an_object(
    role=st.sampled_from(["user", "model", "function", "tool", "assistant", "system", "unknown"]),
    parts=st.lists(part_objects | anything, max_size=3),
)


@checked
@given(natives)
def test_no_content_loses_anything(native: dict[str, Any]):
    assert_nothing_is_lost(native)


@checked
@given(natives, st.randoms(use_true_random=False))
def test_neither_the_order_of_keys_nor_nulls_change_a_ref(native: dict[str, Any], order: Any):
    other = {**native, **{key: None for key in ("role", "labels") if key not in native}}
    assert ref_of(google_genai.to_message(shuffled(other, order))) == ref_of(google_genai.to_message(native))


@checked
@given(natives)
def test_an_answer_has_one_ref_as_output_and_as_the_client_sends_it_back(native: dict[str, Any]):
    answered = {**native, "role": "model"}
    assert google_genai.output_message(answered)[0] == google_genai.output_message({**native, "role": None})[0]
    sent = google_genai.from_message(google_genai.output_message(answered)[0])
    assert google_genai.to_message(sent) == google_genai.output_message(answered)[0]


# --- the forms that there are ----------------------------------------------------------------------------------------


def test_what_users_and_models_say_is_what_it_is_in_chats():
    for theirs, ours, text in (("user", "user", "hi"), ("model", "assistant", "hello")):
        native = {"role": theirs, "parts": [{"text": text}]}
        assert google_genai.to_message(native) == openai_chat.to_message({"role": ours, "content": text})
    several = {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}
    chat = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    assert google_genai.to_message(several) == openai_chat.to_message(chat)


def test_an_image_is_the_same_part_as_in_chats():
    native = {"role": "user", "parts": [{"text": "What?"}, {"inlineData": {"mime_type": "image/png", "data": "-_A="}}]}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,+/A="}}
    chat = {"role": "user", "content": [{"type": "text", "text": "What?"}, image]}
    assert google_genai.to_message(native) == openai_chat.to_message(chat)
    assert_nothing_is_lost(native)
    other = {"role": "user", "parts": [{"text": "What?"}, {"inline_data": {"mimeType": "image/png", "data": "+/A="}}]}
    assert assert_nothing_is_lost(other) == google_genai.to_message(native)
    assert google_genai.from_message(google_genai.to_message(other)) == native  # as the client writes it


def test_a_call_is_the_part_that_it_is_in_every_dialect():
    call = {"id": "c1", "name": "search", "args": {"q": "SFO"}}
    function = {"name": "search", "arguments": '{"q":"SFO"}'}
    chat = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    assert google_genai.to_message({"role": "model", "parts": [{"functionCall": call}]}) == openai_chat.to_message(chat)


def test_a_function_response_is_a_tools_message_that_names_the_function():
    response = {"name": "search", "response": {"result": "found"}}
    message = assert_nothing_is_lost({"role": "user", "parts": [{"functionResponse": response}]})
    part = {"type": "tool_call_response", "name": "search", "response": {"result": "found"}}
    assert message == {"role": "tool", "parts": [part]}
    beside_text = assert_nothing_is_lost({"role": "user", "parts": [{"functionResponse": response}, {"text": "so?"}]})
    assert beside_text["role"] == "user"
    older = assert_nothing_is_lost({"role": "function", "parts": [{"functionResponse": response}]})
    assert older["role"] == "tool"


def test_thoughts_are_reasoning_and_signatures_stay_with_their_parts():
    parts = [
        {"text": "Let me see.", "thought": True},
        {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln-_=="},
        {"text": "", "thoughtSignature": "c2ln"},
    ]
    message = assert_nothing_is_lost({"role": "model", "parts": parts})
    thought, call, text = message["parts"]
    assert thought == {"type": "reasoning", "content": "Let me see."}
    assert call["arguments"] == {}
    assert call["extra"] == {"thoughtSignature": "c2ln-_=="}
    assert text == {"type": "text", "content": "", "extra": {"thoughtSignature": "c2ln"}}
    answered, reasoning = google_genai.output_message(
        {"parts": [parts[0], {**parts[1], "thoughtSignature": "c2ln+/=="}, parts[2]]}
    )
    assert answered == message
    assert reasoning == "Let me see."


@pytest.mark.parametrize(
    ("native", "part"),
    [
        (
            {"fileData": {"fileUri": "gs://b/a.mp4", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 1}},
            {
                "type": "uri",
                "modality": "video",
                "uri": "gs://b/a.mp4",
                "mime_type": "video/mp4",
                "extra": {"videoMetadata": {"fps": 1}},
            },
        ),
        (
            {"executableCode": {"code": "print(1)", "language": "PYTHON"}},
            {
                "type": "server_tool_call",
                "name": "code_execution",
                "server_tool_call": {"type": "executableCode", "code": "print(1)", "language": "PYTHON"},
            },
        ),
        (
            {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"n": 1}}},
            {
                "type": "server_tool_call_response",
                "id": "t1",
                "name": "GOOGLE_SEARCH_WEB",
                "server_tool_call_response": {
                    "type": "toolResponse",
                    "id": "t1",
                    "toolType": "GOOGLE_SEARCH_WEB",
                    "response": {"n": 1},
                },
            },
        ),
        (
            {"functionResponse": {"id": "c1", "name": "look", "response": {"a": 1}, "willContinue": True}},
            {
                "type": "tool_call_response",
                "id": "c1",
                "name": "look",
                "response": {"a": 1},
                "extra": {"functionResponse": {"willContinue": True}},
            },
        ),
    ],
    ids=["file", "code", "server tool", "function response"],
)
def test_parts_of_other_kinds(native: dict[str, Any], part: dict[str, Any]):
    assert assert_nothing_is_lost({"role": "user", "parts": [native]})["parts"] == [part]


def test_a_content_without_parts_is_not_one_with_none():
    assert assert_nothing_is_lost({"role": "model"}) != assert_nothing_is_lost({"role": "model", "parts": []})
    assert google_genai.from_message(google_genai.to_message({"role": "model"})) == {"role": "model"}
    assert google_genai.from_message(google_genai.to_message({"role": "model", "parts": []}))["parts"] == []


# --- contents and messages -------------------------------------------------------------------------------------------

turn_parts = st.one_of(
    st.fixed_dictionaries({"text": texts}),
    st.fixed_dictionaries({"text": texts, "thought": st.just(True)}),
    st.fixed_dictionaries({"text": texts, "thoughtSignature": base64s}),
    st.fixed_dictionaries({"functionCall": st.just({"name": "look"})}),
    st.fixed_dictionaries({"functionResponse": st.just({"name": "look"})}),
    st.fixed_dictionaries({"functionResponse": st.just({"name": "look"})}),
)
roles = st.sampled_from(["model", "model", "user", "user", "function", "system"])
contents = st.lists(
    st.fixed_dictionaries({"role": roles}, optional={"parts": st.lists(turn_parts, max_size=4), "labels": texts})
    | anything,
    max_size=8,
)
instructions = st.none() | st.fixed_dictionaries(
    {"parts": st.lists(turn_parts, max_size=2)}, optional={"role": st.sampled_from(["user", "system", 1])}
)


@checked
@given(contents, instructions)
def test_contents_are_made_again_of_a_thread(contents: list[Any], system: Any):
    thread, shape = google_genai.thread_of(contents, system)
    stored = parse_json(canonical_json({"thread": thread, "shape": shape}))
    assert google_genai.contents_of(stored["thread"], stored["shape"]) == (contents, system)


def test_a_streamed_turn_is_the_turn_that_it_would_have_been():
    spoken = (
        {"text": "Hm", "thought": True},
        {"text": "m.", "thought": True},
        {"text": "It "},
        {"text": "is"},
        {"text": ""},
    )
    chunks = [{"role": "model", "parts": [part]} for part in spoken]
    asked = {"role": "user", "parts": [{"text": "Is it?"}]}
    thread, shape = google_genai.thread_of([asked, *chunks, {"role": "model"}, asked])
    whole = {"role": "model", "parts": [{"text": "Hmm.", "thought": True}, {"text": "It is"}]}
    assert thread == [asked, whole, asked]
    assert shape == {"cuts": {"1": [[[2]], [[2]], [3], [2], [0], None]}}
    assert google_genai.joined_turn(chunks) == whole
    with pytest.raises(ValueError, match="fewer parts"):
        google_genai.contents_of([asked, {"role": "model", "parts": []}, asked], shape)
    halves: list[Any] = [{"role": "model", "parts": [{"text": text}]} for text in ("\ud83d", "\ude00")]
    assert len(google_genai.joined_turn(halves)["parts"]) == 2


def test_each_response_and_the_system_instruction_are_messages():
    responses = [{"functionResponse": {"name": name, "response": {}}} for name in ("look", "find")]
    asked = {"role": "user", "parts": [{"text": "What?"}]}
    system = {"role": "user", "parts": [{"text": "Be brief."}]}
    thread, shape = google_genai.thread_of([asked, {"role": "user", "parts": responses}], system)
    messages = [google_genai.to_message(content) for content in thread]
    assert [message["role"] for message in messages] == ["system", "user", "tool", "tool"]
    assert messages[0] == openai_chat.to_message({"role": "system", "content": "Be brief."})
    assert not shape  # as usual
    beside, shape = google_genai.thread_of([{"role": "user", "parts": [*responses, {"text": "so?"}]}])
    assert [google_genai.to_message(content)["role"] for content in beside] == ["tool", "tool", "user"]
    assert shape == {"pieces": [3]}
