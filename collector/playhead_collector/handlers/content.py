"""Handlers of stored content, by ref, and of the instrumentation scopes whose content no dialect could read."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from playhead.model.canonical import JSON, Content
from playhead.model.names import PACK_LOOKED_AT_HEADER
from playhead.wire.operations.content import (
    ContentAbout,
    ContentOperations,
    ContentValue,
    ScopeOperations,
    Scopes,
)
from playhead.wire.pack import PACK, encode_pack
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.handlers.replies import BytesReply, StoredContentReply
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.content import pack_refs, parse_ref, read_batch, read_thread
from playhead_collector.read.content_uses import read_about, read_about_in_run


@handles(ContentOperations.content, waits=True)
async def content(
    asking: Asking, ref: str, *, view: Literal["messages"] | None = None
) -> BytesReply | StoredContentReply:
    parsed = parse_ref(ref)
    if view == "messages":
        return BytesReply(Content(json_bytes(await read_thread(asking.store, asking.project_id, parsed)), JSON))
    # It is read completely before it is sent.
    async with asking.services.looking_up():
        return StoredContentReply(parsed, await asking.store.contents.get(asking.project_id, parsed))


@handles(ContentOperations.about, waits=True)
async def about(
    asking: Asking, ref: str, *, limit: int = 20, cursor: str | None = None, run: str | None = None
) -> ContentAbout:
    if run is not None:
        return await read_about_in_run(asking.store, asking.project_id, parse_ref(ref), run)
    return await read_about(asking.store, asking.project_id, parse_ref(ref), limit, cursor)


@handles(ContentOperations.contents, waits=True)
async def contents(asking: Asking, refs: Sequence[str]) -> dict[str, ContentValue]:
    async with asking.services.looking_up():
        return dict(await read_batch(asking.store, asking.project_id, refs))


@handles(ContentOperations.content_pack, waits=True)
async def content_pack(asking: Asking, refs: Sequence[str]) -> BytesReply:
    parsed = [parse_ref(ref).plain for ref in refs]
    # A pack may hold a content of 64 MiB, and is completely in memory.
    async with asking.services.packing():
        packed = await pack_refs(asking.store, asking.project_id, parsed)
        body = await asyncio.to_thread(encode_pack, packed.pack)
    return BytesReply(Content(body, PACK), {PACK_LOOKED_AT_HEADER: str(packed.looked_at)})


@handles(ScopeOperations.scopes)
async def scopes(asking: Asking) -> Scopes:
    counted = sorted(asking.services.not_understood.get(asking.project_id, {}).items(), key=lambda pair: -pair[1])
    return {"not_understood": [{"scope": scope, "count": count} for scope, count in counted]}
