"""What a content is, from its bytes and from the attributes that name it; and how many tokens it has."""

from typing import get_args

import pytest

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.content_kinds import CONTENT_KINDS, OF_ATTRIBUTE, OF_EVENT_FIELD, ContentKind
from playhead.model.message import Message, message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.token_estimates import estimate_content, estimate_message
from playhead_collector.store.packing import kinds
from playhead_collector.store.packing.roles import role_in

REF, OTHER = ContentRef.of(b"a"), ContentRef.of(b"b")


def kind_in(data: bytes) -> ContentKind | None:
    return kinds.kind_named(kinds.kind_in(data, role_in(data)))


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("system", "system_prompt"),
        ("developer", "system_prompt"),
        ("user", "user_message"),
        ("assistant", "assistant_message"),
        ("tool", "tool_result"),
        ("critic", None),
    ],
)
def test_a_message_says_what_it_is_by_its_role(role: str, kind: str | None):
    assert kind_in(canonical_json(text_message(role, "Hello"))) == kind


def test_a_large_part_says_what_it_is_by_its_type_unless_it_is_text():
    text = "x" * 20_000
    message: Message = {
        "role": "assistant",
        "parts": [
            {"type": "tool_call_response", "id": "1", "response": text},
            {"type": "reasoning", "content": text},
            {"type": "tool_call", "id": "1", "name": "f", "arguments": {"of": text}},
            {"type": "text", "content": text},
        ],
    }
    own, *parts = message_contents(message)
    assert kind_in(own.data) == "assistant_message"
    assert [kind_in(part.data) for part in parts] == ["tool_result", "reasoning", "tool_arguments", None]


def test_other_contents_do_not_say_what_they_are():
    for data in (b"", b"5", b"text", b'{"role":"user"}', b"\xff\xfe", b'{"role":"x","type":"text"}'):
        assert kind_in(data) is None, data


def test_every_attribute_that_says_what_it_names_ends_as_refs_do():
    assert all(name.endswith(names.REF_SUFFIX) for name in OF_ATTRIBUTE)
    assert {*OF_ATTRIBUTE.values()} == {*OF_EVENT_FIELD.values()}
    assert get_args(ContentKind) == CONTENT_KINDS


@pytest.mark.parametrize(("name", "kind"), OF_ATTRIBUTE.items())
def test_the_name_of_a_ref_says_what_it_is(name: str, kind: str):
    text = canonical_json({"attributes": {name: str(REF), names.VALUE_REF: str(OTHER)}, "list": [str(OTHER)]})
    found = [(ref, kinds.kind_named(number)) for ref, number in kinds.refs_with_kinds(text)]
    assert sorted(found, key=str) == sorted([(REF, kind), (OTHER, None), (OTHER, None)], key=str)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["tool_result", "checkpoint"], "tool_result"),  # the first counts
        (["input", "tool_arguments"], "tool_arguments"),  # but for a name that says less
        (["input", "output"], "input"),
        ([None, "output"], "output"),
        (["output", None], "output"),
        ([None, None], None),
    ],
)
def test_of_several_names_the_first_that_says_something_counts(said: list[ContentKind | None], expected: str | None):
    noted: dict[ContentRef, int] = {}
    for kind in said:
        kinds.add_kind(noted, REF, kinds.NOT_KNOWN if kind is None else kinds.kind_number(kind))
    assert kinds.kind_named(noted[REF]) == expected


def test_numbers_of_kinds_are_those_that_are_stored():
    assert [kinds.kind_number(kind) for kind in CONTENT_KINDS] == [*range(1, 13)]
    assert CONTENT_KINDS == (
        "system_prompt", "user_message", "assistant_message", "reasoning", "tool_arguments", "tool_result",
        "checkpoint", "request", "response", "input", "output", "other",
    )  # fmt: skip
    assert kinds.kind_named(99) is None


def test_tokens_are_those_that_contexts_are_estimated_with():
    message = text_message("user", "Where is my order? " * 10)
    assert estimate_content(canonical_json(message)) == round(estimate_message(message))
    assert estimate_content(canonical_json("four letters, twice")) == round(len("four letters, twice") / 4)
    assert estimate_content(b"plain text") == round(10 / 4)
    assert estimate_content(b"\x89PNG\xff" * 1_000) == 0
    assert estimate_content(b"") == 0


def test_large_parts_count_for_themselves_and_a_picture_does_not_count_its_bytes():
    picture = {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "iVBORw0KGgoA" * 500_000}
    message: Message = {"role": "user", "parts": [{"type": "text", "content": "x" * 40_000}, picture]}
    own, text, blob = message_contents(message)
    assert [estimate_content(text.data), estimate_content(blob.data)] == [10_000, 765]
    assert estimate_content(own.data) < 20
    assert estimate_content(b"y" * 4_000_000) == 1_000_000  # by its length, without looking at it
