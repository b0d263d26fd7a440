"""What restoring a recorded answer has in common, whichever provider gave it."""

import pytest

from playhead.capture.restoring import kept_answer, recorded_chunks, recorded_metadata
from playhead.errors import CannotRestore


def test_a_marker_in_the_place_of_an_answer_cannot_be_restored():
    with pytest.raises(CannotRestore, match=r"was not kept \(too large\); fork the run before this call"):
        kept_answer({"$playhead": "too large"})


def test_an_answer_that_is_no_object_reads_as_an_empty_one():
    answer = {"id": "a1"}

    assert kept_answer(answer) is answer
    assert kept_answer("text") == kept_answer(None) == {}


def test_chunks_are_those_of_a_recorded_stream():
    assert recorded_chunks({"stream": [{"id": "c1"}, "c2"]}) == [{"id": "c1"}, "c2"]
    with pytest.raises(CannotRestore, match="none was recorded"):
        recorded_chunks({"id": "a1"})


def test_the_metadata_of_an_answer_leaves_out_its_content():
    replaced = {"content", "stream"}
    stream = {"stream": [{"id": "s1", "content": "a"}, {"id": "s2", "content": "b"}]}

    assert recorded_metadata({"id": "a1", "content": "text"}, replaced) == {"id": "a1"}
    assert recorded_metadata(stream, replaced) == {"id": "s1"}
    assert recorded_metadata(stream, replaced, lambda chunks: chunks[-1]) == {"id": "s2"}
    assert recorded_metadata(None, replaced) == recorded_metadata({"stream": []}, replaced) == {}
