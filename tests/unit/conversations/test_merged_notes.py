"""Two machines change the notes of a scope apart from each other: what each did counts, and nothing replaces another
unseen."""

import itertools
from typing import Any

import pytest

from playhead.conversations.merged_notes import merged_notes


def note(name: str, title: str = "title", *aliases: str, text: str = "") -> dict[str, Any]:
    return {"kind": "job", "id": name, "title": title, "aliases": [*aliases], "text": text}


BASE = [note("a"), note("b"), note("c")]


def test_what_only_one_has_done_is_done():
    ours = [note("a"), note("b", "ours"), note("d")]  # b changed, c removed, d added
    theirs = [note("b"), note("c"), note("a", "theirs"), note("e")]  # a changed, e added
    merged = merged_notes(BASE, ours, theirs)
    assert merged.notes == [note("a", "theirs"), note("e"), note("b", "ours"), note("d")]
    assert merged.disputed == []


def test_a_note_that_both_have_changed_is_there_twice_and_found_by_both_names():
    ours = [note("a", "ours", "alias"), *BASE[1:]]
    theirs = [*BASE[1:], note("a", "theirs", "other alias")]
    merged = merged_notes(BASE, ours, theirs)
    *_, first, second = merged.notes
    assert first == note("a", "theirs", "other alias")
    assert str(second["id"]).startswith("a#")
    assert {**second, "id": "a"} == note("a", "ours", "alias")
    assert merged.disputed == [("job", "a")]
    # Brought once more, after an answer that was lost, it changes nothing.
    again = merged_notes(BASE, ours, merged.notes)
    assert sorted(map(str, again.notes)) == sorted(map(str, merged.notes))


def test_aliases_of_both_are_kept_and_are_no_dispute():
    merged = merged_notes(BASE, [note("a", "title", "x")], [note("a", "title", "y"), *BASE[1:]])
    assert merged.notes[-1] == note("a", "title", "y", "x")
    assert merged.disputed == []


@pytest.mark.parametrize("ours_removes", [True, False])
def test_what_one_has_changed_and_the_other_removed_stays(ours_removes: bool):
    removed, changed = BASE[1:], [*BASE[1:], note("a", "changed")]
    merged = merged_notes(BASE, removed, changed) if ours_removes else merged_notes(BASE, changed, removed)
    assert note("a", "changed") in merged.notes
    assert merged.disputed == [("job", "a")]


def test_whatever_two_machines_do_nothing_is_lost():
    states: list[list[dict[str, Any]]] = [[], [note("a")], [note("a", "1")], [note("a", "2", text="t")], [note("b")]]
    for base, ours, theirs in itertools.product(states, repeat=3):
        merged = merged_notes(base, ours, theirs).notes
        said = {(each["title"], each["text"], str(each["id"]).partition("#")[0]) for each in merged}
        for mine, others in ((ours, theirs), (theirs, ours)):
            for each in mine:
                untouched = each in base and each not in others  # the other has changed or removed it
                assert untouched or (each["title"], each["text"], each["id"]) in said
        ids = [each["id"] for each in merged]
        assert len(set(ids)) == len(ids)
