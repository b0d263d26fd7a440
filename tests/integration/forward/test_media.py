"""Uploads to a Langfuse, or a storage of its, that misbehaves."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256

import pytest

from playhead.outbound.answers import Verdict
from playhead.outbound.langfuse_media import OutboundMedia
from playhead_collector.forward.senders import UploadFailed
from playhead_collector.forward.senders.langfuse_media import LangfuseMedia

PNG = b"\x89PNG"
IMAGE = OutboundMedia(PNG, "image/png", base64.b64encode(sha256(PNG).digest()).decode(), "1" * 32, "2" * 16, "input")


@asynccontextmanager
async def server(answer: bytes, piece: bytes, pause_s: float) -> AsyncIterator[str]:
    """Answers the same to all, and goes on with `piece` after `piece` until its client is gone."""

    serving: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            while not reader.at_eof():
                writer.write(piece)
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1_000), pause_s)
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.create_task(serve(reader, writer)))

    started = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with started:
        yield f"http://127.0.0.1:{started.sockets[0].getsockname()[1]}"
        await asyncio.gather(*serving)


async def test_an_answer_that_comes_a_byte_at_a_time_holds_up_nothing_for_long():
    async with server(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", 0.05) as url:
        langfuse = LangfuseMedia(url, {}, ["127.0.0.1"], timeout_s=0.3)
        async with asyncio.timeout(60):
            with pytest.raises(UploadFailed) as failed:
                await langfuse.upload([IMAGE])
        await langfuse.close()
    assert failed.value.answer.verdict is Verdict.UNAVAILABLE


async def test_an_answer_without_an_end_is_not_read_to_its_end():
    async with server(b"HTTP/1.1 503 No\r\n\r\n", b"x" * 65_536, 0.0) as url:
        langfuse = LangfuseMedia(url, {}, ["127.0.0.1"], timeout_s=20.0)
        async with asyncio.timeout(60):
            with pytest.raises(UploadFailed) as failed:
                await langfuse.upload([IMAGE])
        await langfuse.close()
    assert failed.value.answer.reason.startswith("answered 503 to an image or file: xxx")


async def test_a_proxy_for_the_internet_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    async with server(b"HTTP/1.1 503 No\r\ncontent-length: 2\r\n\r\nno", b"", 0.05) as url:
        langfuse = LangfuseMedia(url, {}, ["127.0.0.1"], timeout_s=20.0)
        with pytest.raises(UploadFailed) as failed:
            await langfuse.upload([IMAGE])
        await langfuse.close()
    assert failed.value.answer.reason == "answered 503 to an image or file: no"
