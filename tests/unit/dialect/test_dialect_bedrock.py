"""Converse's messages: nothing is lost but what the API takes for the same, and what is one message has one ref."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import bedrock, openai_chat
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_changes import patch_between, patched
from playhead.model.message import Message, message_contents
from tests.unit.dialect.test_dialect_openai import an_object
from tests.unit.model.values import anything, texts

CACHE = {"cachePoint": {"type": "default"}}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def said(native: Any) -> Any:
    """What a message says: without nulls, cache points, and a result's status where it is the default."""
    message = without_nulls(native)
    if isinstance(content := message.get("content"), list):
        message["content"] = [said_block(block) for block in content if block != CACHE]
    return message


def said_block(block: Any) -> Any:
    result: Any = block.get("toolResult") if isinstance(block, dict) and len(block) == 1 else None
    is_read = isinstance(result, dict) and isinstance(result.get("toolUseId"), str)
    if is_read and isinstance(result.get("content"), list) and result.get("status") == "success":
        return {"toolResult": {key: value for key, value in result.items() if key != "status"}}
    return block


def assert_nothing_is_lost(native: dict[str, Any]) -> Message:
    message = bedrock.to_message(native)
    stored = parse_json(canonical_json(message))
    for form in (message, stored):
        assert said(bedrock.from_message(form)) == said(native)
    restored = bedrock.from_message(stored)
    assert patched(restored, patch_between(restored, native) or ()) == native
    return message


def ref_of(message: Message) -> str:
    return message_contents(message)[0].ref


sources = st.one_of(
    st.fixed_dictionaries({"bytes": texts}),
    st.fixed_dictionaries({"s3Location": an_object(uri=texts, bucketOwner=texts)}),
    st.fixed_dictionaries({"text": texts}),
    an_object(bytes=anything, s3Location=anything, text=texts),
)
formats = st.sampled_from(["png", "jpeg", "mp3", "mp4", "pdf", "docx", "txt", "mpeg", "x/y", ""]) | texts
media = an_object(format=formats, source=sources, name=texts, context=texts, s3Location=anything, citations=anything)
results = st.lists(an_object(text=texts, json=anything, image=media) | anything, max_size=2)
tool_results = st.fixed_dictionaries(
    {"toolUseId": texts, "content": results}, optional={"status": st.sampled_from(["success", "error"]), "type": texts}
)
blocks = st.one_of(
    st.fixed_dictionaries({"text": texts}),
    st.just(CACHE),
    st.fixed_dictionaries({"toolUse": an_object(toolUseId=texts, name=texts, input=anything, type=texts)}),
    st.fixed_dictionaries({"toolResult": tool_results}),
    st.fixed_dictionaries(
        {
            "reasoningContent": st.one_of(
                an_object(reasoningText=an_object(text=texts, signature=texts), redactedContent=texts),
                st.fixed_dictionaries(
                    {"reasoningText": st.fixed_dictionaries({"text": texts}, optional={"signature": texts})}
                ),
                anything,
            )
        }
    ),
    st.sampled_from(["image", "document", "video", "audio"]).flatmap(lambda kind: st.fixed_dictionaries({kind: media})),
    st.fixed_dictionaries({"guardContent": an_object(text=an_object(text=texts, qualifiers=anything), image=anything)}),
    st.fixed_dictionaries(
        {"citationsContent": an_object(content=st.lists(an_object(text=texts), max_size=2), citations=anything)}
    ),
    an_object(text=anything, toolUse=anything, toolResult=anything, image=anything, cachePoint=anything, type=texts),
    anything,
)
roles = st.sampled_from(["user", "assistant", "system", "tool", "unknown"])
messages = st.one_of(
    st.fixed_dictionaries({"role": roles, "content": st.lists(blocks, max_size=4)}),
    an_object(role=roles | anything, content=st.lists(blocks, max_size=3) | anything, name=texts, extra=anything),
)


@given(messages)
def test_nothing_is_lost(native: dict[str, Any]) -> None:
    assert_nothing_is_lost(native)


turns = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.lists(blocks, max_size=4)})
    | messages,
    max_size=4,
)


@given(turns, st.none() | st.lists(st.fixed_dictionaries({"text": texts}) | st.just(CACHE), max_size=2))
def test_what_is_cut_is_joined_again(natives: list[Any], system: Any) -> None:
    if system is None and natives and natives[0].get("role") == "system":
        return  # Converse has no such role: the first would be taken for the system prompt
    cut = bedrock.split_turns(natives, system)
    restored: list[Any] = []
    for native in cut:
        plain = parse_json(canonical_json(bedrock.from_message(bedrock.to_message(native))))
        restored.append(patched(plain, patch_between(plain, native) or ()))
    assert bedrock.merge_turns(restored) == (system, natives)


def test_the_same_conversation_has_the_refs_of_other_providers() -> None:
    converse = bedrock.split_turns(
        [
            {"role": "user", "content": [{"text": "Where is A1?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look_up", "input": {"id": 1}}}]},
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "t1", "content": [{"text": "late"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "t2", "content": [{"text": "here"}]}},
                    CACHE,
                ],
            },
            {"role": "assistant", "content": [{"text": "It is late."}]},
        ],
        [{"text": "be kind"}, CACHE],
    )
    call = {"id": "t1", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 1}'}}
    chat: list[Any] = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "Where is A1?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "late"},
        {"role": "tool", "tool_call_id": "t2", "content": "here"},
        {"role": "assistant", "content": "It is late."},
    ]
    assert [ref_of(bedrock.to_message(one)) for one in converse] == [
        ref_of(openai_chat.to_message(one)) for one in chat
    ]


def test_media_and_thoughts_are_parts_that_everybody_knows() -> None:
    content = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
        {"reasoningContent": {"redactedContent": "cmVk"}},
        {"image": {"format": "jpeg", "source": {"bytes": "aW1n"}}},
        {"document": {"format": "pdf", "name": "a", "source": {"s3Location": {"uri": "s3://b/x", "bucketOwner": "1"}}}},
        {"guardContent": {"text": {"text": "look here", "qualifiers": ["query"]}}},
    ]  # fmt: skip
    message = assert_nothing_is_lost({"role": "assistant", "content": content})
    assert message["parts"] == [
        {"type": "reasoning", "content": "hm", "extra": {"signature": "s"}},
        {"type": "reasoning", "extra": {"redactedContent": "cmVk"}},
        {"type": "blob", "mime_type": "image/jpeg", "modality": "image", "content": "aW1n"},
        {
            "type": "uri", "modality": "file", "uri": "s3://b/x",
            "extra": {"name": "a", "format": "pdf", "s3Location": {"bucketOwner": "1"}},
        },
        {"type": "text", "content": "look here", "extra": {"guardContent": {"qualifiers": ["query"]}}},
    ]  # fmt: skip
    assert bedrock.output_message({"content": content})[1] == "hm"
