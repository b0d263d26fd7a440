"""Content over HTTP: asked for by ref, uploaded as packs."""

import gzip
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
import zstandard

from playhead.model.canonical import Content, content_of
from playhead.model.ref import ContentRef
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead_collector.errors import StoreUnavailable
from tests.unit.receive.http_app import Memory, client_of, make_app
from tests.unit.receive.otlp import as_json

JSON = {"content-type": "application/json"}
TYPE = {"content-type": PACK}
CONTENTS = (content_of("hello"), content_of({"role": "user"}))
PARENT = ContentRef.of(b"parent")
UPLOAD = Pack(CONTENTS, (ThreadExtension(PARENT, (CONTENTS[1].ref,)),))


async def post(memory: Memory, path: str, body: bytes, headers: dict[str, str], **app: Any) -> httpx.Response:
    async with client_of(make_app(memory, **app)) as client:
        return await client.post(path, content=body, headers=headers)


async def test_missing_answers_with_refs_and_the_epoch():
    memory = Memory()
    refs = [ContentRef.of(b"1"), ContentRef.of(b"2")]
    answer = await post(memory, "/v1/content/missing", as_json({"refs": refs}), JSON)
    assert answer.status_code == 200
    assert answer.json() == {"missing": refs[:1], "epoch": "e1"}
    assert memory.asked == refs


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [("zstd", zstandard.ZstdCompressor().compress), ("gzip", gzip.compress), ("identity", bytes)],
)
async def test_a_pack_is_stored_whatever_its_encoding(encoding: str, compress: Callable[[bytes], bytes]):
    memory = Memory()
    answer = await post(memory, "/v1/content", compress(encode_pack(UPLOAD)), {**TYPE, "content-encoding": encoding})
    assert answer.status_code == 200
    assert answer.json() == {"stored": 2, "refused": [], "unknown_parents": [PARENT], "epoch": "e1"}
    assert memory.packs == [UPLOAD]


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "code"),
    [
        ("/v1/content/missing", b'{"refs": ["sha256:xyz"]}', JSON, 400, "bad_ref"),
        ("/v1/content/missing", b'{"refs": [5]}', JSON, 400, "bad_ref"),
        ("/v1/content/missing", b'{"refs": "all"}', JSON, 400, "bad_request"),
        ("/v1/content/missing", b"[]", JSON, 400, "bad_request"),
        ("/v1/content/missing", b"{", JSON, 400, "bad_request"),
        ("/v1/content/missing", as_json({"refs": ["x"] * 10_001}), JSON, 413, "too_many_refs"),
        ("/v1/content/missing", b"{}", {"content-type": "text/plain"}, 415, "unknown_type"),
        ("/v1/content", b"not a pack", TYPE, 400, "bad_pack"),
        ("/v1/content", encode_pack(UPLOAD)[:-1], TYPE, 400, "bad_pack"),
        ("/v1/content", encode_pack(UPLOAD)[:-1] + b"?", TYPE, 400, "bad_pack"),
        ("/v1/content", b"not zstd", {**TYPE, "content-encoding": "zstd"}, 400, "bad_compression"),
        ("/v1/content", encode_pack(UPLOAD), {**TYPE, "content-encoding": "br"}, 415, "unknown_encoding"),
        ("/v1/content", encode_pack(UPLOAD), {"content-type": "application/octet-stream"}, 415, "unknown_type"),
        ("/v1/content", bytes(2**22), TYPE, 413, "too_large"),
    ],
)
async def test_what_cannot_be_done_is_answered_with_a_code(
    path: str, body: bytes, headers: dict[str, str], status: int, code: str
):
    answer = await post(Memory(), path, body, headers)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code
    assert answer.json()["error"]["message"]


async def test_content_of_the_largest_size_fits_and_a_byte_more_does_not():
    limits = {"limit": 1_000, "content_limit": 5_000}
    fits, larger = (encode_pack(Pack((Content(bytes(size), "text/plain"),), ())) for size in (5_000, 5_001))
    assert (await post(Memory(), "/v1/content", fits, TYPE, **limits)).status_code == 200
    answer = await post(Memory(), "/v1/content", larger, TYPE, **limits)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "content_too_large"
    assert "5001 bytes and the limit is 5000" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [("/v1/content/missing", b'{"refs": []}', JSON), ("/v1/content", encode_pack(UPLOAD), TYPE)],
)
async def test_a_store_that_is_down_is_a_503_to_be_retried(path: str, body: bytes, headers: dict[str, str]):
    answer = await post(Memory(failure=StoreUnavailable("Postgres is down")), path, body, headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json() == {"error": {"code": "store_unavailable", "message": "Postgres is down"}}


@pytest.mark.parametrize(
    "header",
    [
        {"media": ["a/b"], "contents": [[0, 0]] * 100_000, "threads": []},
        {"media": ["a/b"], "contents": [[0, 0]], "threads": [[None, [0] * 100_000]]},
        {"media": ["a/b"], "contents": [[0, 0]], "threads": [[None, []]] * 100_000},
        {"media": ["a/b"] * 100_000, "contents": [], "threads": []},
    ],
    ids=["contents", "messages", "threads", "media types"],
)
async def test_a_small_pack_that_becomes_many_things_is_refused_before_any_is_made(header: dict[str, Any]):
    head = orjson.dumps({"v": 1, "digest": "", **header})
    packed = gzip.compress(len(head).to_bytes(4, "big") + head)
    assert len(packed) < 5_000
    memory = Memory()
    async with client_of(make_app(memory, limit=10 * 2**20)) as client:
        answer = await client.post("/v1/content", content=packed, headers={**TYPE, "content-encoding": "gzip"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_many_items")
    assert memory.packs == []
