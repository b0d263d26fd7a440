"""Which texts of a content are searched, and where words stand in them."""

import re
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model.canonical import Content, content_of
from playhead.model.message import Message, message_contents
from playhead_collector.analysis.search.texts import SearchableText, quotes, searchable
from playhead_collector.read.values import ContentCache

MOST = 1_000


def read(value: Any, most: int = MOST) -> SearchableText | None:
    is_message = isinstance(value, dict) and "parts" in value
    contents = message_contents(cast(Message, value)) if is_message else [content_of(value)]
    return searchable(contents[0].ref, ContentCache({each.ref: each for each in contents}), most)


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def text(content: Any) -> dict[str, Any]:
    return {"type": "text", "content": content}


def test_all_parts_of_a_message_but_pictures_are_searched():
    found = read(
        message(
            text("one"),
            {"type": "blob", "content": "aGVsbG8="},
            {"type": "tool_call", "name": "look", "arguments": {"b": 1, "a": "x"}},
            {"type": "tool_call_response", "response": ["y"]},
            text("y" * 20_000),
        ),
        most=60,
    )
    assert found is not None
    assert found.text.startswith('one\n\n{"a":"x","b":1}\n\n["y"]\n\nyyy')
    assert len(found.text) == 60
    assert [number for number, _ in found.parts] == [0, 2, 3, 4]
    assert found.role == "user"


def test_contents_that_are_no_messages():
    plain = read("hello")
    assert plain is not None
    assert (plain.text, plain.role) == ("hello", None)
    value = read({"b": 1})
    assert value is not None
    assert value.text == '{"b":1}'
    assert read("") is None
    picture = Content(b"\x89PNG\xff", "image/png")
    assert searchable(picture.ref, ContentCache({picture.ref: picture}), MOST) is None
    assert searchable(picture.ref, ContentCache({}), MOST) is None


@settings(deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=4))
def test_a_searched_text_is_the_text_of_the_parts(texts: list[str]):
    found = read(message(*map(text, texts)))
    if not any(texts):
        assert found is None
        return
    assert found is not None
    assert len(found.text) == min(MOST, len("\n\n".join(filter(None, texts))))
    assert found.text == "\n\n".join(filter(None, texts))[:MOST]
    for number, (part, start) in enumerate(found.parts):
        assert found.whole[number] == texts[part]
        assert found.place(start) == (number, 0)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["lost", "parcel", "where", "is", "it", "é", "7"]), min_size=1, max_size=60), st.data())
def test_quotes_stand_where_they_say(words: list[str], data: st.DataObject):
    parts = [" ".join(words), "and " + " ".join(reversed(words))]
    found = read(message(*map(text, parts)))
    assert found is not None
    wanted = data.draw(st.sampled_from(words))
    given_quotes = quotes(found, [match.span() for match in re.finditer(rf"\b{wanted}\b", found.text)])
    assert 0 < len(given_quotes) <= 3
    for each in given_quotes:
        piece = parts[each["part"]][each["offset"] : each["offset"] + each["length"]]
        assert piece.startswith(wanted)
        assert piece.endswith(wanted)
        assert len(piece) <= max(80, len(wanted))
        assert piece in each["quote"]


def test_the_place_with_the_most_words_comes_first():
    found = read("refund? " + "x " * 100 + "the refund of the parcel")
    assert found is not None
    first, second = quotes(found, [match.span() for match in re.finditer("refund|parcel", found.text)])
    assert found.text[first["offset"] : first["offset"] + first["length"]] == "refund of the parcel"
    assert (second["offset"], second["length"]) == (0, 6)
