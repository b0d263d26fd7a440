"""The intake: values to refs, and only what the journal does not have yet is kept."""

from hashlib import sha256
from typing import Any

import pytest

from playhead.model.canonical import content_of, value_of
from playhead.model.ref import ContentRef
from playhead.refs import intake as module
from playhead.refs.intake import KnownRefs, PayloadIntake
from tests.unit.refs.kept import Kept


def intake(**options: Any) -> PayloadIntake:
    return PayloadIntake(**{"max_content_bytes": 10_000, **options})


@pytest.mark.parametrize(
    "value", ["text", b"bytes", {"b": 1, "a": [None, 1.5]}, None, "\ud800", 10**30, memoryview(b"x")]
)
def test_a_value_has_the_ref_of_its_content(value: Any):
    kept = Kept()
    ref = intake().payload(value, kept)
    assert ref == content_of(value).ref
    assert kept.contents[ref.plain] == content_of(value)


def test_what_a_call_brings_twice_is_kept_once():
    kept = Kept()
    mine = intake()
    assert mine.payload("x", kept) == mine.payload("x", kept)
    assert len(kept.contents) == 1


def test_only_what_is_in_the_journal_is_not_kept_again():
    mine = intake()
    open_call, other_call = Kept(), Kept()
    mine.payload("x", open_call)
    mine.payload("x", other_call)
    assert other_call.contents == open_call.contents
    mine.known.add_all(other_call.new)
    later = Kept()
    mine.payload("x", later)
    assert later.contents == {}


def test_after_forgetting_everything_is_kept_again():
    mine = intake()
    first = Kept()
    mine.payload("x", first)
    mine.repeated({"tool": 1}, first)
    mine.known.add_all(first.new)
    mine.forget()
    again = Kept()
    mine.payload("x", again)
    mine.repeated({"tool": 1}, again)
    assert again.contents == first.contents


def test_a_repeated_value_has_the_ref_of_its_content_however_its_keys_are_ordered():
    mine = intake()
    kept = Kept()
    first = mine.repeated({"a": 1, "b": 2}, kept)
    assert mine.repeated({"b": 2, "a": 1}, kept) == first == content_of({"a": 1, "b": 2}).ref
    mine.known.add_all(kept.new)
    assert mine.repeated({"a": 1, "b": 2}, Kept()) == first
    assert mine.repeated({"a": True, "b": 2}, kept) != first
    assert mine.repeated({"a": object}, kept)


def test_a_repeated_value_that_is_not_in_the_journal_is_kept_again():
    mine = intake()
    mine.repeated({"a": 1}, Kept())
    second = Kept()
    mine.repeated({"a": 1}, second)
    assert len(second.contents) == 1


def test_repeated_values_of_one_length_and_one_end_are_told_apart():
    mine = intake()
    tools = [[{"name": name, "parameters": {"description": "x" * 200}}] for name in ("look", "book")]
    kept = Kept()
    for _ in range(3):
        assert [mine.repeated(each, kept) for each in tools] == [content_of(each).ref for each in tools]
        mine.known.add_all(kept.new)


def test_many_repeated_values_do_not_become_a_leak(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_MAX_REPEATED", 3)
    mine = intake()
    for n in range(10):
        mine.repeated({"n": n}, Kept())
    assert len(mine._repeated) <= 3


def test_hooks_see_the_value_first_the_calls_own_and_then_the_programs():
    mine = intake(redact=lambda value: f"<{value}>")
    kept = Kept()
    ref = mine.payload("x", kept, lambda value: f"({value})")
    assert value_of(kept.contents[ref]) == "<(x)>"


def test_a_large_payload_is_a_marker_with_its_beginning():
    mine = intake()
    kept = Kept()
    ref = mine.payload("x" * 20_000, kept)
    marker = value_of(kept.contents[ref])
    assert (marker["$playhead"], marker["bytes"], marker["head"]) == ("too large", 20_000, "x" * 2_500)
    assert marker["sha256"] == content_of("x" * 20_000).ref.removeprefix("sha256:")
    assert mine.oversize == 1


def test_a_marker_larger_than_the_limit_is_still_a_marker():
    mine = intake(max_content_bytes=16)
    kept = Kept()
    ref = mine.payload("x" * 100, kept)
    assert value_of(kept.contents[ref])["$playhead"] == "too large"


def test_when_the_journal_is_full_new_payloads_are_markers_and_old_ones_are_themselves():
    mine = intake()
    kept = Kept()
    known = mine.payload("known", kept)
    mine.known.add_all(kept.new)
    mine.full = True
    assert mine.payload("known", Kept()) == known
    kept = Kept()
    ref = mine.payload("new", kept)
    assert value_of(kept.contents[ref]) == {
        "$playhead": "journal full",
        "bytes": 3,
        "media_type": "text/plain; charset=utf-8",
    }
    assert (kept.cut, kept.dropped) == ("room", sha256(b"new").digest())
    mine.repeated({"tool": 1}, kept)
    mine.full = False
    assert mine.payload("new", kept) == content_of("new").ref
    assert mine.repeated({"tool": 1}, kept) == content_of({"tool": 1}).ref


def test_known_refs_are_bounded_and_keep_what_is_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("playhead.refs.intake._GENERATION", 3)
    known = KnownRefs()
    refs = [content_of(str(n)).ref for n in range(10)]

    def find(ref: ContentRef) -> ContentRef | None:
        return known.get(ref.digest) or known.get_from_old(ref.digest)

    for ref in refs:
        known.add(ref.digest, ref)
        assert find(refs[0]) == refs[0]
    assert find(refs[1]) is None
    assert sum(find(ref) is not None for ref in refs) <= 6
    known.add_all({ref.digest: ref for ref in refs})
    known.forget()
    assert find(refs[0]) is None
