"""How texts are split into words, and which words and rows of words are found in them."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from playhead_collector.analysis.search.query import parse, places_in, wanted_terms, without_common_words
from playhead_collector.analysis.search.text_terms import text_terms
from playhead_collector.analysis.search.words import NO_LEXEMES, Lexemes, worded, words_of
from tests.support.processor_time import assert_takes_less_than
from tests.support.sentences import SCRIPTS

ALL_TEXTS = st.text() | st.text(st.characters()) | st.text(st.sampled_from("aAbZ_- .12東京ทีក្\u0301\u200d🙂\ud800"))
SENTENCES = [sentence for script in SCRIPTS.values() for sentence in script.sentences]
# What is one word of a script without spaces: a letter with its marks.
_LETTER = re.compile(
    r"[^\W\d_][\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u17b4-\u17d3]*"
)


def found(query: str, text: str, lexemes: Lexemes = NO_LEXEMES) -> list[str] | None:
    """The pieces of the text that are found; None if it does not match. What matches has the terms that are looked for
    in the index."""
    asked = without_common_words(parse(query), lexemes)
    places = places_in(worded(text, lexemes), asked, lexemes)
    wanted = wanted_terms(asked, lexemes)
    if places is None:
        return None
    assert not wanted or any(terms <= text_terms(text, lexemes) for terms in wanted)
    return [text[start:end] for start, end in places]


@given(ALL_TEXTS)
def test_words_stand_where_they_say_and_their_places_count_on(text: str):
    end = place = 0
    for word in words_of(text):
        assert 0 <= word.start < word.end <= len(text)
        assert word.following > word.place
        assert word.place <= place
        assert not any(character.isspace() for character in text[word.start : word.end])
        if word.place == place and word.following > place:
            assert word.start >= end
            place, end = word.following, word.end
    assert all(-(2**31) <= term < 2**31 for term in text_terms(text))


@given(ALL_TEXTS)
def test_letters_and_digits_are_all_in_words(text: str):
    covered = {at for word in words_of(text) for at in range(word.start, word.end)}
    assert {at for at, character in enumerate(text) if character.isalnum()} <= covered


@settings(max_examples=300)
@given(ALL_TEXTS, st.data())
def test_every_word_of_a_text_is_found_where_it_stands(text: str, data: st.DataObject):
    words = list(words_of(text))
    if words:
        word = data.draw(st.sampled_from(words))
        piece = text[word.start : word.end]
        assert piece in (found(f'"{piece}"', text) or ())


@settings(max_examples=300)
@given(st.sampled_from(SENTENCES), st.data())
def test_every_piece_of_a_sentence_is_found(sentence: str, data: st.DataObject):
    letters = [match.span() for match in _LETTER.finditer(sentence)]
    first = data.draw(st.integers(0, len(letters) - 1))
    last = data.draw(st.integers(first, min(len(letters) - 1, first + 12)))
    piece = sentence[letters[first][0] : letters[last][1]]
    assert piece in (found(f'"{piece}"', sentence) or ())


@given(
    st.lists(st.sampled_from(["lost", "Parcel", "get_user", "getUser", "W1", "転送"]), min_size=1, max_size=6),
    st.data(),
)
def test_a_row_of_words_is_a_phrase_in_this_order_only(words: Sequence[str], data: st.DataObject):
    start = data.draw(st.integers(0, len(words) - 1))
    phrase = words[start : data.draw(st.integers(start + 1, len(words)))]
    assert found('"' + " ".join(phrase) + '"', " ".join(words)) is not None
    assert found('"' + " ".join([*phrase, "end"]) + '"', " ".join(words)) is None


@given(ALL_TEXTS, ALL_TEXTS)
@example('-"', "x")
@example("a or -b", "a")
def test_any_query_can_be_asked_of_any_text(query: str, text: str):
    found(query, text)


def test_words_that_are_all_there_alternatives_and_exclusions():
    text = "The parcel of customer mia_li_3668 is lost: who pays?"
    assert found("lost parcel", text) == ["parcel", "lost"]
    assert found('"lost parcel"', text) is None
    assert found('"is lost who"', text) == ["is lost: who"]
    assert found("parcel -lost", text) is None
    assert found('parcel -"lost parcel"', text) == ["parcel"]
    assert found("nothing OR parcel", text) == ["parcel"]
    assert found("nothing or nobody", text) is None
    assert found('"mia_li_3668"', text) == found("mia-li-3668", text) == ["mia_li_3668"]


def test_what_a_query_needs_of_the_index():
    assert wanted_terms(parse(""), NO_LEXEMES) == []
    assert wanted_terms(parse("-lost"), NO_LEXEMES) == []
    assert wanted_terms(parse("lost or -parcel"), NO_LEXEMES) == []
    assert len(wanted_terms(parse("lost or parcel"), NO_LEXEMES)) == 2
    assert len(wanted_terms(parse("aB cD eF gH iJ"), NO_LEXEMES)) == 8
    assert parse(":* <-> ((( 🙂").alternatives == []
    assert len(wanted_terms(parse("'" * 99 + "x"), NO_LEXEMES)) == 1
    (of_a_long_text,) = wanted_terms(parse("客户要求转账到新账户" * 100), NO_LEXEMES)
    assert 0 < len(of_a_long_text) <= 32


@pytest.mark.parametrize(
    "text", ["a", "a ", "-", '"', "aB", "or ", "転", "\u0e01\u0e31", "(a+)+$", "\x00", "\ud800", "a-", "aB "]
)
def test_a_long_query_is_parsed_at_once(text: str):
    assert_takes_less_than(5, lambda: parse(text * (50_000 // len(text))))


def test_words_of_a_language_are_compared_by_their_lexemes():
    english = {"refunded": "refund", "parcels": "parcel", "the": "", "a": "", "it": ""}
    text = "Nobody refunded the parcels."
    assert found("refund parcel", text, english) == ["refunded", "parcels"]
    assert found('"refund the parcel"', text, english) == ["refunded the parcels"]
    assert found('"refund a parcel"', text, english) is None
    assert found("the", text, english) is None
    assert without_common_words(parse('the or "a the" or -it'), english).alternatives == []
    assert found("the parcel", "parcels", english) == ["parcels"]
    assert found("iT works", "it works", {**english, "i": "", "t": ""}) == ["works"]


def test_a_text_that_is_no_identifier_is_not_taken_apart():
    encoded = "aBcDeFgHiJkLmNoPqRsTuVwXyZ" * 10
    assert len(list(words_of(encoded))) == 1
    assert found("b", encoded) is None


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("größe", "ruft holeBenutzerGröße auf"),
        ("Benutzer", "ruft holeBenutzerGröße auf"),
        ("holeBenutzerGröße", "ruft hole_benutzer_größe auf"),
        ("élève", "la fonction trouveÉlève"),
        ("istanbul", "\u0130stanbul'a gidiyorum"),
        ("\u0130STANBUL", "istanbul'a gidiyorum"),
    ],
)
def test_words_with_other_letters_have_parts_and_cases_too(query: str, text: str):
    assert found(query, text) is not None
