"""Which answers are compressed, and how."""

import gzip
from collections.abc import AsyncIterator, Mapping

import httpx
import pytest
import zstandard
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from playhead_collector.serve.compressed_answers import CompressAnswers, accepted_coding

LONG = [{"run": f"{n:032x}", "status": "completed"} for n in range(100)]
LARGE = [{"run": f"{n:032x}", "status": "completed"} for n in range(10_000)]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("", None), ("gzip", "gzip"), ("zstd", "zstd"), ("gzip, deflate, br, zstd", "zstd"), ("GZIP;q=0.5", "gzip"),
        ("br", None), ("zstd;q=0, gzip", "gzip"), ("zstd;q=0.000, gzip;q=0", None), ("*", None), ("gzip;q", None),
        ("identity", None), (";;,,", None), ("gzip ; q = 1", "gzip"),
    ],
)  # fmt: skip
def test_the_best_coding_that_a_client_accepts_is_taken(header: str, name: str | None):
    found = accepted_coding(header)
    assert (found and found[0]) == name


async def _answers(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"data: {}\n\n" * 1_000

    match request.path_params["kind"]:
        case "long":
            return JSONResponse(LONG)
        case "large":
            return JSONResponse(LARGE)
        case "short":
            return JSONResponse([1])
        case "refused":
            return JSONResponse(LONG, 400)
        case "stream":
            return StreamingResponse(pieces(), media_type="text/event-stream")
        case "streamed json":
            return StreamingResponse(pieces(), media_type="application/json")
        case "tagged":
            return JSONResponse(LONG, headers={"etag": '"sha256:..."'})
        case "packed":
            return JSONResponse(LONG, headers={"content-encoding": "br"})
        case _:
            return Response(b"x" * 10_000, media_type="image/png")


async def asked(kind: str, accept: str) -> tuple[Mapping[str, str], bytes]:
    app = CompressAnswers(Starlette(routes=[Route("/{kind}", _answers)]))
    async with (
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
        client.stream("GET", f"/{kind}", headers={"accept-encoding": accept}) as answer,
    ):
        return answer.headers, b"".join([piece async for piece in answer.aiter_raw()])


@pytest.mark.parametrize("kind", ["long", "large", "refused"])
async def test_long_answers_are_compressed_and_the_same_inside(kind: str):
    _, plain = await asked(kind, "identity")
    for accept, unpack in (("gzip", gzip.decompress), ("gzip, zstd", zstandard.decompress)):
        headers, body = await asked(kind, accept)
        assert headers["content-encoding"] == accept.rpartition(" ")[2]
        assert (int(headers["content-length"]), headers["vary"]) == (len(body), "Accept-Encoding")
        assert unpack(body) == plain
        assert len(body) < len(plain) / 4


async def test_caches_learn_that_the_plain_answer_is_one_of_several():
    headers, _ = await asked("long", "identity")
    assert ("content-encoding" in headers, headers["vary"]) == (False, "Accept-Encoding")


@pytest.mark.parametrize("kind", ["short", "stream", "streamed json", "tagged", "image"])
async def test_other_answers_are_as_they_were(kind: str):
    assert await asked(kind, "gzip, zstd") == await asked(kind, "identity")
    assert "content-encoding" not in (await asked(kind, "zstd"))[0]


async def test_what_is_compressed_already_is_not_compressed_again():
    headers, body = await asked("packed", "zstd")
    assert (headers["content-encoding"], body[:1]) == ("br", b"[")
