"""Langfuse's references to images and files in messages."""

import base64
from hashlib import sha256
from typing import Any, cast

import pytest
from langfuse.media import LangfuseMedia

from playhead.dialect import anthropic, openai_chat
from playhead.dialect.langfuse_media import digest_beginning, media_id, media_ids, read_media_token, with_media
from playhead.model.message import Message

DATA = b"\x89PNG of a dot"
REAL = LangfuseMedia(content_bytes=DATA, content_type=cast(Any, "image/png"))
TOKEN = str(REAL._reference_string)
ID = media_id(sha256(DATA).digest())
BLOB = {"type": "blob", "mime_type": "image/png", "modality": "image", "content": base64.b64encode(DATA).decode()}


def with_part(part: dict[str, Any]) -> Message:
    return {"role": "user", "parts": [{"type": "text", "content": "what is it?"}, part]}


def test_the_id_is_the_one_that_the_sdk_makes_and_is_the_beginning_of_the_digest():
    token = read_media_token(TOKEN)
    assert token is not None
    assert token == ("image/png", ID)
    assert sha256(DATA).digest().startswith(digest_beginning(ID))
    assert len(digest_beginning(ID)) == 16


@pytest.mark.parametrize(
    "native",
    [
        openai_chat.to_message({"role": "user", "content": [{"type": "image_url", "image_url": {"url": TOKEN}}]}),
        openai_chat.to_message({"role": "user", "content": TOKEN}),
        anthropic.to_message(
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": TOKEN}},
                ],
            }
        ),
    ],
    ids=["an address", "a text", "base64"],
)
def test_a_reference_becomes_the_image_wherever_the_sdk_leaves_it(native: Message):
    assert media_ids(native) == [ID]
    assert with_media(native, {ID: DATA})["parts"] == [BLOB]


def test_what_a_provider_said_of_the_image_stays():
    image = {"type": "image_url", "image_url": {"url": TOKEN, "detail": "low"}}
    shown = with_media(openai_chat.to_message({"role": "user", "content": [image]}), {ID: DATA})
    uri = f"data:image/png;base64,{BLOB['content']}"
    assert openai_chat.from_message(shown)["content"] == [{**image, "image_url": {"url": uri, "detail": "low"}}]


@pytest.mark.parametrize(
    "text",
    [
        TOKEN[:-1],
        f"see {TOKEN}",
        TOKEN.replace(ID, ID[:-1]),
        TOKEN.replace("image/png", "image"),
        TOKEN.replace("|source=bytes", ""),
        "@@@langfuseMedia:" * 10_000,
        "",
    ],
    ids=["cut off", "inside a text", "a short id", "no media type", "no source", "many beginnings", "nothing"],
)
def test_what_is_no_reference_stays_text(text: str):
    message = with_part({"type": "text", "content": text})
    assert media_ids(message) == []
    assert with_media(message, {ID: DATA}) == message


@pytest.mark.parametrize("part", [{}, {"type": None}, {"type": ["text"]}, {"type": "text", "content": {"a": TOKEN}}])
def test_parts_of_any_shape_are_left_alone(part: dict[str, Any]):
    assert with_media(with_part(part), {ID: DATA}) == with_part(part)


def test_a_reference_to_what_has_not_arrived_stays_text():
    message = with_part({"type": "text", "content": TOKEN})
    assert media_ids(message) == [ID]
    assert with_media(message, {}) == message
