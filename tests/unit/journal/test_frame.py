"""Frames: a file that was cut or damaged anywhere gives a prefix of its frames, and never an exception."""

import random

from hypothesis import given
from hypothesis import strategies as st

from playhead.journal.frame import (
    CONTENT,
    HEADER_BYTES,
    SPAN,
    content_frame,
    frame,
    frames_in,
    is_cut_frame,
    log_frame,
    next_frame,
    read_content,
    read_log,
    read_span,
    read_thread,
    readable_frames,
    span_frame,
    thread_frame,
)
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, SpanEvent
from playhead.wire.pack import ThreadExtension

kinds = st.sampled_from([b"R", b"C", b"T", b"A", b"S", b"L"])
written = st.lists(st.tuples(kinds, st.binary(max_size=60)), max_size=8)
digests = st.binary(min_size=32, max_size=32)


def file_of(frames: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(frame(kind, payload) for kind, payload in frames)


def read(data: bytes) -> list[tuple[bytes, bytes]]:
    return [(kind, payload) for kind, payload, _ in frames_in(data)]


@given(written)
def test_what_is_written_is_read(frames: list[tuple[bytes, bytes]]):
    data = file_of(frames)
    assert read(data) == frames
    assert [end for _, _, end in frames_in(data)][-1:] == ([len(data)] if frames else [])


@given(written, st.data())
def test_a_file_that_is_cut_gives_its_whole_frames(frames: list[tuple[bytes, bytes]], data: st.DataObject):
    whole = file_of(frames)
    length = data.draw(st.integers(0, len(whole)))
    expected: list[tuple[bytes, bytes]] = []
    for kind, payload in frames:
        if len(file_of([*expected, (kind, payload)])) > length:
            break
        expected.append((kind, payload))
    assert read(whole[:length]) == expected


@given(written.filter(bool), st.data())
def test_a_flipped_bit_costs_the_frames_from_there_on(frames: list[tuple[bytes, bytes]], data: st.DataObject):
    whole = bytearray(file_of(frames))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    found = read(bytes(whole))
    before = 0
    while before < len(frames) and len(file_of(frames[: before + 1])) <= at:
        before += 1
    assert found == frames[:before]


@given(written.filter(bool), st.data())
def test_a_flipped_bit_costs_one_frame_of_a_whole_file(frames: list[tuple[bytes, bytes]], data: st.DataObject):
    whole = bytearray(file_of(frames))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    hit = next(n for n in range(len(frames)) if at < len(file_of(frames[: n + 1])))
    found = [(kind, payload) for kind, payload, _ in readable_frames(bytes(whole))]
    assert found == [*frames[:hit], *frames[hit + 1 :]]


@given(st.binary(max_size=300), written.filter(bool))
def test_whole_frames_are_found_behind_any_noise(noise: bytes, frames: list[tuple[bytes, bytes]]):
    found = [(kind, payload) for kind, payload, _ in readable_frames(noise + file_of(frames))]
    assert found[-len(frames) :] == frames


@given(st.lists(st.binary(max_size=40)))
def test_looking_for_a_frame_ends_and_finds_only_whole_ones(pieces: list[bytes]):
    data = b"".join(piece + frame(b"S", piece)[:-1] for piece in pieces)
    at = next_frame(data, 0)
    assert at is None or next(frames_in(data, at), None) is not None


def test_a_large_payload_that_is_damaged_is_passed_over_quickly():
    """Random bytes look like headers in thousands of places."""
    whole = bytearray(content_frame(bytes(32), random.Random(1).randbytes(4 * 2**20), "image/png"))
    whole[50] ^= 1
    after = frame(b"S", b"after")
    assert next_frame(bytes(whole) + after, 1) == len(whole)


def test_what_a_crash_leaves_is_told_from_damage():
    whole = frame(b"S", b"payload")
    assert all(is_cut_frame(whole[:size]) for size in range(len(whole)))
    assert is_cut_frame(bytes(1_000))
    assert not is_cut_frame(whole[:-1] + b"?")


def test_zeros_are_no_frames():
    assert read(frame(b"S", b"one") + bytes(1_000)) == [(b"S", b"one")]


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(noise: bytes):
    for _, payload, end in frames_in(noise):
        assert len(payload) + HEADER_BYTES <= end <= len(noise)


@given(digests, st.binary(max_size=100), st.sampled_from(["application/json", "text/plain; charset=utf-8", ""]))
def test_contents_are_read_back(digest: bytes, data: bytes, media_type: str):
    [(kind, payload, _)] = frames_in(content_frame(digest, data, media_type))
    assert kind == CONTENT
    assert read_content(payload) == (digest, Content(data, media_type))


@given(st.none() | digests, st.lists(digests, min_size=1, max_size=4))
def test_threads_are_read_back(parent: bytes | None, messages: list[bytes]):
    before = ContentRef.from_digest(parent) if parent is not None else None
    refs = tuple(map(ContentRef.from_digest, messages))
    [(_, payload, _)] = frames_in(thread_frame(before, refs))
    assert read_thread(payload) == ThreadExtension(before, refs)


def test_spans_and_log_events_are_read_back():
    fields = ["a" * 32, "b" * 16, None, "work", 1, 5, None, 2, "bad", {"x": [1]}, [["seen", 6, {"n": 1}]], []]
    [(_, payload, _)] = frames_in(span_frame(SPAN, fields))
    span = read_span(payload)
    assert (span.name, span.parent_id, span.end_ns, span.status_message) == ("work", None, None, "bad")
    assert span.events == [SpanEvent("seen", 6, {"n": 1})]
    log = LogEvent("playhead.checkpoint", 5, "a" * 32, None, {"x": 1})
    [(_, payload, _)] = frames_in(log_frame(log))
    assert read_log(payload) == log
