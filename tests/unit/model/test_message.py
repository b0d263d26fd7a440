"""A message is itself again after its large parts stood apart."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model.canonical import canonical_json, parse_json
from playhead.model.message import (
    LARGE_PART_BYTES,
    REF_PART,
    Message,
    message_contents,
    message_lines,
    message_text,
    read_message,
    refs_inside,
    resolve_parts,
    text_message,
)
from playhead.model.ref import ContentRef
from playhead.model.thread import extend, node_bytes, thread_of
from tests.unit.model.values import checked, messages


@checked
@given(messages)
def test_a_message_is_whole_again_when_its_large_parts_are_put_back(message: Any):
    own, *apart = message_contents(message)
    kept = {content.ref: content.data for content in apart}
    read = read_message(own.data)
    assert set(refs_inside(read)) == set(kept)
    assert resolve_parts(read, kept.get) == message
    assert all(len(content.data) > LARGE_PART_BYTES for content in apart)


def an_image(size: int) -> dict[str, Any]:
    return {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "A" * size}


def test_a_large_part_stands_apart_and_is_shared():
    first: Message = {"role": "user", "parts": [{"type": "text", "content": "look"}, an_image(50_000)]}
    second: Message = {"role": "user", "parts": [an_image(50_000), {"type": "text", "content": "again"}]}
    own, image = message_contents(first)
    assert len(own.data) < 300
    assert message_contents(second)[1].ref == image.ref
    assert len(thread_of([first, second]).contents) == 3


def test_a_part_whose_content_is_missing_stays_a_ref():
    message: Message = {"role": "user", "parts": [an_image(50_000)]}
    read = read_message(message_contents(message)[0].data)
    assert resolve_parts(read, lambda ref: None) == read
    assert read["parts"][0]["type"] == REF_PART


@pytest.mark.parametrize("ref", [None, 5, "", "sha256:xyz", ["sha256:" + "0" * 64]])
def test_a_ref_that_is_none_names_nothing(ref: Any):
    message: Message = {"role": "user", "parts": [{"type": REF_PART, "ref": ref}]}
    assert refs_inside(message) == []
    assert resolve_parts(message, lambda ref: b"{}") == message


@pytest.mark.parametrize("data", [b"", b"[]", b"5", b"{}", b'{"parts":{}}', b'{"parts":["text"]}', b'{"parts":[5]}'])
def test_what_is_no_message_is_refused(data: bytes):
    with pytest.raises(ValueError, match=r".+"):
        read_message(data)


def test_the_text_of_a_message_is_what_a_reader_would_read():
    message: Message = {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "think"},
            {"type": "text", "content": "say"},
            {"type": "tool_call_response", "id": "1", "response": {"b": 1}},
            an_image(10),
        ],
    }
    assert message_text(message) == 'think\nsay\n{"b":1}'


def test_the_lines_of_a_message_leave_no_part_out():
    message: Message = {
        "role": "user",
        "parts": [
            {"type": "text", "content": "first\nline"},
            {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "iVBORw0KGg=="},
            {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"},
            {"type": "file", "modality": "file", "file_id": "file-7"},
            {"type": "tool_call", "id": "1", "name": "look", "arguments": {"at": 1}},
            {"type": "tool_call_response", "id": "1", "response": ""},
            {"type": REF_PART, "of": "blob", "ref": "sha256:" + "0" * 64, "bytes": 20_000},
            {"type": "web_search", "query": "weather"},
            {"type": "reasoning", "content": "look\nfirst"},
            {"type": "text", "content": "I looked."},
            {"type": "reasoning", "signature": "abc"},
        ],
    }
    assert message_lines(message) == [
        "first\nline",
        "[image: image/png, 7 bytes]",
        "[image: https://example.org/a.png]",
        "[file: file-7]",
        'look({"at":1})',
        "",
        "[blob, 20000 bytes]",
        '{"query":"weather","type":"web_search"}',
        "[thinking: look\nfirst]",
        "I looked.",
        '{"signature":"abc","type":"reasoning"}',
    ]


# --- threads ---------------------------------------------------------------------------------------------------------

lists = st.lists(st.integers(0, 2), max_size=8)


def the_thread(numbers: list[int]) -> Any:
    return thread_of([text_message("user", str(number)) for number in numbers])


@checked
@given(lists, lists)
def test_a_list_is_a_prefix_exactly_when_its_thread_is_an_ancestor(a: list[int], b: list[int]):
    one, other = the_thread(a), the_thread(b)
    ancestors = {None, *(node.ref for node in other.nodes)}
    assert (one.ref in ancestors) == (b[: len(a)] == a)
    assert (one.ref == other.ref) == (a == b)


@checked
@given(lists, lists)
def test_a_thread_that_was_extended_is_the_thread_of_the_whole_list(a: list[int], b: list[int]):
    one, both = the_thread(a), the_thread(a + b)
    more = extend([node.message for node in both.nodes[len(a) :]], one.ref, len(a))
    assert (*one.nodes, *more) == both.nodes
    assert [node.depth for node in both.nodes] == list(range(1, len(a + b) + 1))
    assert all(node.parent == above.ref for above, node in itertools.pairwise(both.nodes))


def test_a_node_is_canonical_json():
    message, parent = ContentRef.of(b"a"), ContentRef.of(b"b")
    for above in (None, parent):
        assert node_bytes(message, above) == canonical_json({"parent": above, "message": message})
        assert parse_json(node_bytes(message, above)) == {"message": message, "parent": above}


def test_the_empty_list_has_no_ref():
    assert thread_of([]).ref is None
