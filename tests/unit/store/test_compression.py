import hashlib
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zstandard

from playhead_collector.store.packing import zstd
from playhead_collector.store.packing.zstd import LARGE_BYTES, builtin, compress_json, decompress_json
from playhead_collector.store.postgres.dictionaries import train

# Bodies out there were written with these, so they never change: a better dictionary gets the next number.
PINNED = {
    "1.txt": "261ac18fbc302ec8d608cde4d1fd42fc2e1879392109ca9e1cf8e9c5b8cdae16",
    "2.txt": "f36eebb0432ac0aefdd717fed632fcaef0be7ad8a9db45310e2c6bc5b7860b5d",
}


def test_the_dictionaries_are_what_they_always_were():
    folder = Path(zstd.__file__).with_name("dictionaries")
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()} == PINNED


@pytest.mark.parametrize("size", [0, 1, 400, LARGE_BYTES, LARGE_BYTES + 1, 3_000_000])
def test_any_size_can_be_read_again(size: int):
    data = bytes(n * n % 251 for n in range(min(size, 10_000))) * (size // 10_000 + 1)
    assert builtin(1).read(builtin(1).compress(data[:size])) == data[:size]


def test_a_short_message_becomes_a_fraction():
    message = b'{"parts":[{"content":"Where is my order?","type":"text"}],"role":"user"}'
    assert len(builtin(1).compress(message)) < len(message) / 2


@pytest.mark.parametrize("level", [zstd.LEVEL, zstd.ARRIVING_LEVEL])
def test_many_items_are_compressed_as_each_of_them_alone(level: int):
    items = [b"", b"x", b'{"parts":[{"content":"Where is it?","type":"text"}],"role":"user"}', b"large " * LARGE_BYTES]
    bodies = builtin(1).compress_many([*items, *items], level)
    assert bodies == [builtin(1).compress(item, level) for item in items] * 2
    assert [builtin(1).read(body) for body in bodies] == items * 2
    assert builtin(1).compress_many([b""], level) == [builtin(1).compress(b"", level)]
    assert builtin(1).compress_many([], level) == []


def test_each_level_is_the_one_that_was_asked_for():
    """The level at which a dictionary was digested counts, so each level has one of its own."""
    chance = random.Random(1)
    text = " ".join(chance.choices(["order", "parcel", "refund", "ticket", "invoice", "customer"], k=4_000)).encode()
    best, arriving, large = (builtin(1).compress(text, level) for level in (9, zstd.ARRIVING_LEVEL, zstd.LARGE_LEVEL))
    assert len(best) < len(arriving) < len(large)


def test_json_can_be_read_again():
    json = b'{"a":["\\u0000\\ud800",123456789012345678901234567890]}'
    assert decompress_json(compress_json(json)) == json


def test_damage_is_an_error():
    with pytest.raises(zstandard.ZstdError):
        builtin(1).read(b"\x00damaged")


def test_threads_may_share_a_dictionary():
    texts = [b"%d " % n * 2_000 for n in range(200)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda text: builtin(1).read(builtin(1).compress(text)), texts)) == texts


def test_a_dictionary_is_kept_only_when_it_is_worth_it():
    alike = [b'{"order":%d,"status":"shipped from Rotterdam","customer":"%d"}' % (n, n * 7919) for n in range(500)]
    learnt = train(alike, builtin(1))
    assert learnt is not None
    assert train(alike, zstd.Zstd(learnt, trained=True)) is None
    assert train([hashlib.sha256(b"%d" % n).digest() for n in range(500)], builtin(1)) is None
    assert train([b"x"] * 3, builtin(1)) is None
