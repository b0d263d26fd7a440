"""How much of the content is sent: all, its beginning, or a link; and redaction on the way."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model import names
from playhead.model.span import STATUS_ERROR
from playhead.outbound.content_modes import preview
from playhead.outbound.contents import OutboundContents
from playhead.outbound.encoding import encode, wanted
from playhead.outbound.options import OutboundOptions
from tests.unit.outbound.records import RUN_URL, OneRecord, conversation, outbound, text, tool_call

VOCABULARIES = ("otlp", "langfuse", "phoenix")
every_vocabulary = pytest.mark.parametrize("vocabulary", VOCABULARIES)


def a_call(record: OneRecord):
    return outbound("llm", "chat", {
        names.INPUT_MESSAGES_REF: record.thread(
            *conversation(), text("user", "long " * 1_000), tool_call("2", "look_up", {"order": "x" * 5_000, "n": 3}),
        ),
        names.OUTPUT_MESSAGES_REF: record.thread(text("assistant", "answer " * 1_000)),
        names.TOOL_DEFINITIONS_REF: record.value([{"name": "look_up", "description": "d" * 5_000}]),
        "tenant": "acme",
    }, status=STATUS_ERROR, status_message="secret-1 failed")  # fmt: skip


@every_vocabulary
def test_a_preview_keeps_roles_and_structure_and_is_short(vocabulary: str):
    record = OneRecord()
    span = record.encoded(a_call(record), vocabulary, content="preview", preview_characters=50)
    said = json.dumps(span.attributes)
    assert len(said) < 5_000
    for word in ("system", "user", "assistant", "tool", "call_1", "look_up", "Where is my order?", "…"):
        assert word in json.dumps(span.attributes, ensure_ascii=False)


def test_a_preview_of_a_message_is_its_first_characters():
    record = OneRecord()
    span = record.encoded(a_call(record), content="preview", preview_characters=50)
    given = json.loads(span.attributes[names.INPUT_MESSAGES])
    assert given[4] == text("user", ("long " * 10) + "…")
    [call] = given[5]["parts"]
    assert (call["id"], call["name"], call["arguments"]["order"][-1]) == ("2", "look_up", "…")
    assert [message["role"] for message in given] == ["system", "user", "assistant", "tool", "user", "assistant"]


def test_a_preview_says_of_media_what_and_how_large():
    record = OneRecord()
    image: Any = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "A" * 4_000}
    thread = record.thread({"role": "user", "parts": [image]})
    span = record.encoded(outbound("llm", "chat", {names.INPUT_MESSAGES_REF: thread}), content="preview")
    assert json.loads(span.attributes[names.INPUT_MESSAGES]) == [text("user", "[image/png, 3000 bytes]")]


values = st.recursive(
    st.none() | st.integers() | st.text("abc ", max_size=200) | st.binary(max_size=10),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text("abc", max_size=5), inner, max_size=30),
    max_leaves=60,
)


@given(values, st.integers(1, 100))
def test_a_preview_of_any_value_is_bounded_and_json(value: Any, characters: int):
    assert len(json.dumps(preview(value, characters), ensure_ascii=False)) <= 30 * characters + 2_000


@pytest.mark.parametrize("item", [[], {}, "", b"", [[""]]], ids=repr)
def test_a_preview_of_many_items_without_a_character_is_bounded(item: Any):
    many: Any = [[item] * 1_000] * 1_000
    assert len(json.dumps(preview(many, 100))) <= 5_000


def test_nothing_is_fetched_for_a_link():
    record = OneRecord()
    assert not wanted(a_call(record), OutboundOptions("langfuse", "ref"))


@every_vocabulary
def test_a_link_leads_to_the_page_of_the_run(vocabulary: Any):
    record = OneRecord()
    span = encode(a_call(record), OutboundContents(), OutboundOptions(vocabulary, "ref"))
    said = json.dumps(span.attributes)
    assert RUN_URL in said
    for word in ("Where is my order?", "answer ", "is not stored"):
        assert word not in said


def test_the_otel_vocabulary_keeps_refs_as_links():
    record = OneRecord()
    outgoing = a_call(record)
    span = encode(outgoing, OutboundContents(), OutboundOptions(content="ref"))
    assert outgoing.attributes.items() <= span.attributes.items()


def hide(value: Any) -> Any:
    return json.loads(json.dumps(value).replace("secret-1", "***").replace("acme", "***").replace("order", "***"))


@every_vocabulary
@pytest.mark.parametrize("content", ["full", "preview"])
def test_content_attributes_and_errors_are_redacted(vocabulary: str, content: str):
    record = OneRecord()
    span = record.encoded(a_call(record), vocabulary, content=content, redact=hide)
    said = json.dumps([span.attributes, span.status_message])
    for secret in ("secret-1", "acme", "my order"):
        assert secret not in said
    assert span.status_message == "*** failed"


@every_vocabulary
def test_content_is_left_out_when_the_redaction_fails(vocabulary: str):
    def fails(value: Any) -> Any:
        raise KeyError("x")

    record = OneRecord()
    span = record.encoded(a_call(record), vocabulary, redact=fails)
    said = json.dumps(span.attributes)
    assert "Where is my order?" not in said
    assert "left out" in said


@every_vocabulary
def test_a_redaction_may_take_a_message_away(vocabulary: str):
    record = OneRecord()
    span = record.encoded(a_call(record), vocabulary, redact=lambda value: "gone" if isinstance(value, dict) else value)
    assert "Where is my order?" not in json.dumps(span.attributes)
