"""Anthropic's Messages: nothing is lost but what the API takes for the same, and what is one message has one ref."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import anthropic, openai_chat
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_changes import patch_between, patched
from playhead.model.json_value import JsonValue
from playhead.model.message import Message, message_contents
from tests.unit.dialect.test_dialect_openai import an_object
from tests.unit.model.values import anything, checked, shuffled, texts

# --- any message -----------------------------------------------------------------------------------------------------

BLOCKS = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document", "server_tool_use")


def said(native: Any) -> Any:
    """What a message says: without nulls, cache control, and values that are the default; a text as a block."""
    message = {key: value for key, value in native.items() if value is not None}
    content = message.get("content")
    if isinstance(content, str):
        message["content"] = [{"type": "text", "text": content}]
    elif isinstance(content, list | tuple):
        message["content"] = [said_block(block) for block in content]
    return message


def said_block(block: Any) -> Any:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return without_nulls(block)
    kind = block["type"]
    said = {key: value for key, value in block.items() if value is not None}
    if kind not in OURS:
        said.pop("cache_control", None)
    if kind == "tool_result":
        if said.get("is_error") is False:
            del said["is_error"]
        if isinstance(said.get("content"), list | tuple) and isinstance(said.get("tool_use_id"), str):
            said["content"] = [
                {key: value for key, value in each.items() if key != "cache_control"}
                if isinstance(each, dict)
                else each
                for each in said["content"]
            ]
    if kind == "tool_use" and said.get("caller") == {"type": "direct"}:
        del said["caller"]
    return said


OURS = ("playhead.as_is", "playhead.ref")


def without_nulls(value: Any) -> Any:
    return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def assert_nothing_is_lost(native: dict[str, Any]) -> Message:
    message = anthropic.to_message(native)
    assert said(anthropic.from_message(message)) == said(native)
    # Nor in its canonical bytes, which are what is stored.
    stored = parse_json(canonical_json(message))
    assert said(anthropic.from_message(stored)) == said(native)
    # And what the API takes for the same is restored by a patch.
    restored = anthropic.from_message(stored)
    assert patched(restored, patch_between(restored, native) or ()) == native
    return message


def ref_of(message: Message) -> str:
    return message_contents(message)[0].ref


cache = st.sampled_from([{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}])
sources = an_object(
    type=st.sampled_from(["base64", "url", "file", "text", "content"]),
    media_type=st.sampled_from(["image/png", "application/pdf", "text/plain"]),
    data=texts,
    url=texts,
    file_id=texts,
)
exact_sources = st.one_of(
    st.fixed_dictionaries({"type": st.just("base64"), "media_type": st.just("image/png"), "data": texts}),
    st.fixed_dictionaries({"type": st.just("url"), "url": texts}),
    st.fixed_dictionaries({"type": st.just("file"), "file_id": texts}),
)
results = texts | st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}, optional={"cache_control": cache}) | anything,
    max_size=2,
)
blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts}, optional={"cache_control": cache}),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": texts}, optional={"signature": texts}),
    st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": texts}),
    st.fixed_dictionaries(
        {"type": st.just("tool_use"), "id": texts, "name": texts, "input": anything},
        optional={"cache_control": cache, "caller": st.just({"type": "direct"}) | anything},
    ),
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": texts},
        optional={"cache_control": cache, "is_error": st.booleans(), "content": results},
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["image", "document"]), "source": sources | exact_sources},
        optional={"title": texts, "cache_control": cache},
    ),
    an_object(
        type=st.sampled_from(
            [*BLOCKS, "tool_call", "tool_call_response", "reasoning", "refusal", "blob", "uri", *OURS]
        ),
        text=texts,
        extra=anything,
        value=anything,
        thinking=texts,
        content=anything,
        id=texts,
        name=texts,
        input=anything,
        citations=anything,
    ),
)
natives = an_object(
    role=st.sampled_from(["user", "assistant", "system", "tool", "unknown"]),
    content=texts | st.lists(blocks | anything, max_size=4),
    name=texts,
)
turns = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": st.lists(blocks, max_size=4)}),
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": texts}),
        natives,
    ),
    max_size=5,
)


@checked
@given(natives)
def test_no_message_loses_anything(native: dict[str, Any]):
    assert_nothing_is_lost(native)


@checked
@given(natives, st.randoms(use_true_random=False))
def test_neither_the_order_of_keys_nor_nulls_change_a_ref(native: dict[str, Any], order: Any):
    other = {**native, **{key: None for key in ("name", "more") if key not in native}}
    assert ref_of(anthropic.to_message(shuffled(other, order))) == ref_of(anthropic.to_message(native))


@checked
@given(turns, st.none() | texts | st.lists(blocks, max_size=2))
def test_turns_that_are_cut_are_joined_again(messages: list[dict[str, Any]], system: Any):
    cut = anthropic.split_turns(messages, system)
    assert anthropic.merge_turns(cut) == (system, messages)
    assert all(patched(restored(each), patch_between(restored(each), each) or ()) == each for each in cut)


plain_turns = st.lists(
    st.fixed_dictionaries({"role": st.just("user"), "content": st.lists(blocks, max_size=3)})
    | st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": texts}),
    max_size=6,
)


@checked
@given(plain_turns, st.none() | texts, st.integers(0, 6))
def test_turns_are_cut_the_same_when_their_beginning_is_known(earlier: list[Any], system: Any, at: int):
    known = anthropic.split_turns(earlier, system)
    first = 0 if system is None else 1
    begin = known[: min(at, anthropic.count_uncut(known, min(at, first)))]
    is_place_of_system = system is None and bool(known) and known[0].get("role") == "system"
    # A conversation of one result a message has the same pieces as one of all results in one message.
    for messages in (earlier, [dict(piece) for piece in known[first:]]):
        cut = anthropic.split_turns(messages, system)
        assert_cut(anthropic.split_plain_turns(messages, system), cut)
        if len(begin) > first and messages[: len(begin) - first] == begin[first:] and not is_place_of_system:
            assert_cut(anthropic.split_plain_turns(messages, system, [*begin]), cut)


def assert_cut(found: tuple[list[Any], int] | None, cut: list[Any]) -> None:
    """The same pieces, and no more of them called whole than a second look does (a prompt needs no look)."""
    if found is not None:
        assert found[0] == cut
        assert found[1] <= anthropic.count_uncut(cut, min(1, len(cut)))


def restored(native: Any) -> Any:
    return anthropic.from_message(anthropic.to_message(native))


@checked
@given(st.lists(blocks, max_size=3))
def test_an_answer_has_one_ref_as_output_and_as_the_client_sends_it_back(content: list[Any]):
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    assert anthropic.output_message(answer)[0] == anthropic.to_message({"role": "assistant", "content": content})


# --- the forms that there are ----------------------------------------------------------------------------------------


def test_a_conversation_has_the_messages_that_it_has_in_chats():
    call = {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "SFO"}}
    other = {"type": "tool_use", "id": "c2", "name": "search", "input": {}}
    messages: list[Any] = [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": [{"type": "text", "text": "I search."}, call, other]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "found"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "nothing", "is_error": False},
                {"type": "text", "text": "Go on."},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]
    functions = [{"name": "search", "arguments": '{"q": "SFO"}'}, {"name": "search", "arguments": "{}"}]
    calls = [{"id": f"c{at}", "type": "function", "function": function} for at, function in enumerate(functions, 1)]
    chat: list[Any] = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": "I search.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing"},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "Done."},
    ]
    cached = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    for system in ("Be kind.", cached):
        cut = anthropic.split_turns(messages, system)
        assert [anthropic.to_message(native) for native in cut] == openai_chat.to_messages(chat)
        assert anthropic.merge_turns(cut) == (system, messages)


def test_results_of_one_turn_belong_together_and_nothing_is_said_of_it():
    results = [{"type": "tool_result", "tool_use_id": f"c{at}", "content": "x"} for at in range(3)]
    cut = anthropic.split_turns([{"role": "user", "content": results}])
    assert [each["content"] for each in cut] == [[result] for result in results]
    assert all(each.keys() == {"role", "content"} for each in cut)


def test_a_cache_control_that_moves_on_changes_no_message():
    text = {"type": "text", "text": "a long text"}
    marked = {**text, "cache_control": {"type": "ephemeral"}}
    plain = {"role": "user", "content": "a long text"}
    assert {ref_of(anthropic.to_message(native)) for native in (
        plain, {"role": "user", "content": [text]}, {"role": "user", "content": [marked]},
    )} == {ref_of(openai_chat.to_message(plain))}  # fmt: skip


def test_thoughts_stay_in_their_message_with_their_signatures():
    content: list[JsonValue] = [
        {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "thinking", "thinking": "And now.", "signature": "c2ln2"},
        {"type": "text", "text": "Yes."},
    ]
    message, reasoning = anthropic.output_message({"role": "assistant", "content": content})
    assert reasoning == "Let me see.\n\nAnd now."
    assert [part["type"] for part in message["parts"]] == ["reasoning", "redacted_thinking", "reasoning", "text"]
    assert anthropic.from_message(message) == {"role": "assistant", "content": content}


def test_what_server_tools_did_is_kept_as_it_came():
    content = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result"}]},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": []},
        {"type": "compaction", "content": "What was said."},
        {"type": "text", "text": "Yes.", "citations": [{"type": "web_search_result_location", "url": "https://x"}]},
    ]
    message = assert_nothing_is_lost({"role": "assistant", "content": content})
    assert message["parts"][:5] == content[:5]
    assert anthropic.from_message(message)["content"] == content


def test_an_image_is_the_same_part_as_in_chats():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    url = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}
    native = {"role": "user", "content": [{"type": "text", "text": "What?"}, image, url]}
    chat = {
        "role": "user",
        "content": [
            {"type": "text", "text": "What?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        ],
    }
    assert anthropic.to_message(native) == openai_chat.to_message(chat)
    assert_nothing_is_lost(native)
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "AA=="}
    message = assert_nothing_is_lost({"role": "user", "content": [{"type": "document", "source": pdf, "title": "t"}]})
    assert message["parts"][0]["type"] == "blob"


def test_messages_of_another_dialect_are_written_as_blocks():
    function = {"name": "search", "arguments": '{"q": 1}'}
    chat: list[Any] = [
        {"role": "system", "content": "Be kind."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "tool", "tool_call_id": "d", "content": "2"},
    ]
    assert anthropic.from_messages(openai_chat.to_messages(chat)) == [
        {"role": "system", "content": "Be kind."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "search", "input": {"q": 1}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": "1"},
                {"type": "tool_result", "tool_use_id": "d", "content": "2"},
            ],
        },
    ]
