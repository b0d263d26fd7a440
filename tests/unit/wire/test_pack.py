"""A pack arrives as it was sent, or is refused with a reason."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model.canonical import BYTES, JSON, TEXT, Content
from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from playhead.wire.pack import BadPack, Pack, ThreadExtension, decode_pack, encode_pack
from tests.unit.model.values import checked

contents = st.builds(Content, st.binary(max_size=30), st.sampled_from([JSON, TEXT, BYTES, "image/png"]))
refs = st.integers(0, 3).map(lambda n: ContentRef.of(b"%d" % n))


@st.composite
def packs(draw: st.DrawFn) -> Pack:
    several = draw(st.lists(contents, max_size=5))
    messages = st.sampled_from([content.ref.plain for content in several]) | refs if several else refs
    threads: list[ThreadExtension] = []
    for _ in range(draw(st.integers(0, 4))):
        above = st.sampled_from([thread.ref for thread in threads]) | refs if threads else refs
        parent = draw(st.none() | above)
        threads.append(ThreadExtension(parent, tuple(draw(st.lists(messages, max_size=4)))))
    return Pack(tuple(several), tuple(threads))


@checked
@given(packs())
def test_a_pack_arrives_as_it_was_sent(pack: Pack):
    assert decode_pack(encode_pack(pack)) == pack


@checked
@given(packs())
def test_the_ref_of_an_extension_is_that_of_its_last_node(pack: Pack):
    for thread in pack.threads:
        nodes = extend(thread.messages, thread.parent)
        assert thread.ref == (nodes[-1].ref if nodes else thread.parent)


@checked
@given(packs(), st.data())
def test_a_pack_in_which_anything_was_changed_is_refused(pack: Pack, data: st.DataObject):
    body = bytearray(encode_pack(pack))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    try:
        decoded = decode_pack(bytes(body))
    except BadPack:
        return
    # Media types are not part of a ref, so the digest does not cover them.
    assert [content.data for content in decoded.contents] == [content.data for content in pack.contents]
    assert [thread.ref for thread in decoded.threads] == [thread.ref for thread in pack.threads]


@checked
@given(packs(), st.data())
def test_a_pack_that_was_cut_off_is_refused(pack: Pack, data: st.DataObject):
    body = encode_pack(pack)
    with pytest.raises(BadPack):
        decode_pack(body[: data.draw(st.integers(0, len(body) - 1))])
    with pytest.raises(BadPack, match="follow the last content"):
        decode_pack(body + b"x")


@checked
@given(st.binary(max_size=60))
def test_any_other_bytes_are_refused(data: bytes):
    with pytest.raises(BadPack):
        decode_pack(data)


def body_of(header: Any) -> bytes:
    head = orjson.dumps(header)
    return len(head).to_bytes(4, "big") + head


GOOD: dict[str, Any] = {"v": 1, "media": [JSON], "contents": [], "threads": [], "digest": ""}
REF = ContentRef.of(b"")


@pytest.mark.parametrize(
    "header",
    [
        [], 5, None, {}, {"v": 2},
        {name: value for name, value in GOOD.items() if name != "digest"},
        GOOD | {"contents": 5},
        GOOD | {"contents": [[0]]},
        GOOD | {"contents": [[0, 0, 0]]},
        GOOD | {"contents": [[0, -1]]},
        GOOD | {"contents": [[-1, 0]]},
        GOOD | {"contents": [[0, True]]},
        GOOD | {"contents": [["0", 0]]},
        GOOD | {"contents": [[1, 0]]},
        GOOD | {"contents": [[0, 0]], "media": [7]},
        GOOD | {"threads": [[None]]},
        GOOD | {"threads": [[0, []]]},
        GOOD | {"threads": [[None, []], [-1, []]]},
        GOOD | {"threads": [[False, []]]},
        GOOD | {"threads": [["", []]]},
        GOOD | {"threads": [["sha256:no", []]]},
        GOOD | {"threads": [[None, [0]]]},
        GOOD | {"contents": [[0, 0]], "threads": [[None, [-1]]]},
        GOOD | {"threads": [[None, [1.5]]]},
        GOOD | {"threads": [[None, [None]]]},
        GOOD | {"threads": [[REF, ["x"]]]},
        GOOD | {"digest": 5},
        GOOD,
    ],
    ids=repr,
)  # fmt: skip
def test_a_header_that_says_nonsense_is_refused(header: Any):
    with pytest.raises(BadPack):
        decode_pack(body_of(header))
