"""Handlers of exports: the stored spans of a run as OTLP, and a run as one file."""

import asyncio
import tempfile
from contextlib import ExitStack

from playhead.wire.operations.exports import BUNDLE, ExportOperations
from playhead.wire.operations.page import Page
from playhead.wire.operations.runs import OtlpRequest
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.handlers.replies import FileReply
from playhead_collector.read.spans import list_otlp


@handles(ExportOperations.otlp, waits=True)
async def otlp(asking: Asking, run: str, *, limit: int | None = None) -> Page[OtlpRequest]:
    return await list_otlp(await asking.record(run), asking.page(limit), asking.cursor)


@handles(ExportOperations.bundle, waits=True)
async def bundle(asking: Asking, run: str) -> FileReply:
    from playhead_collector.read.bundle import write_bundle  # noqa: PLC0415 - few ask for it

    record = await asking.record(run)
    with ExitStack() as closing:
        # The file has no name in the file system, so it disappears however the download ends.
        file = closing.enter_context(await asyncio.to_thread(tempfile.TemporaryFile, prefix="playhead-bundle-"))
        async with asking.services.packing():
            await write_bundle(record, file)
        closing.pop_all()  # it is closed when it was sent
    return FileReply(file, f"playhead-{record.run[-8:]}.tar.gz", BUNDLE)
