"""POST /v1/content/missing and POST /v1/content: uploads of content, each content once.  [receive] → store.

A client asks which refs are missing and uploads only those, as a pack with a digest over all of it.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import orjson
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from playhead.model.canonical import is_media_type
from playhead.model.ref import ContentRef, NotARef
from playhead.wire.pack import PACK, BadPack, Pack, decode_pack
from playhead_collector.access import access_of
from playhead_collector.errors import Refused
from playhead_collector.receive.ports import ContentIntake, ContentIntakeOf, Counts
from playhead_collector.receive.request_limiter import AdmittedRequest, RequestLimiter, off_loop
from playhead_collector.settings import MIB

# 10,000 refs are 740 kB of JSON and one look-up of a few milliseconds; a client with more sends two requests.
MAX_REFS = 10_000
MAX_QUESTION_BYTES = MIB
# The shortest entry of a content in a pack's header is `[0,5],`: a bracket and two commas.
_MARKS_PER_ITEM = 3
# Bytes of a pack besides its contents: 9 bytes for each content, and its threads.
PACK_OVERHEAD = MIB


class MissingAnswer(BaseModel):
    """Those of the refs that are not stored."""

    missing: list[str]
    epoch: str = Field(description="What is not missing stays stored for as long as this does not change.")


class RefusedContent(BaseModel):
    """One content of a pack that is not stored."""

    content: int = Field(description="Its place in the pack, from 0.")
    ref: str
    message: str = Field(description="Why, and what to do.")


class StoredAnswer(BaseModel):
    """The pack is stored, but for the contents that are refused."""

    stored: int = Field(description="How many contents of the pack are stored now.")
    refused: list[RefusedContent] = Field(description="Contents that cannot be kept; the others are stored.")
    unknown_parents: list[str] = Field(description="Threads that the pack continues and that are not stored yet.")
    epoch: str


@dataclass(frozen=True, slots=True)
class ContentHttp:
    """The two endpoints."""

    intake: ContentIntakeOf
    counts: Counts
    flow: RequestLimiter
    max_request_bytes: int
    max_content_bytes: int
    max_items: int

    def router(self) -> APIRouter:
        """The routes, to be included in an application."""
        router = APIRouter(tags=["content"])
        refs = {"type": "array", "items": {"type": "string"}, "maxItems": MAX_REFS}
        question: dict[str, Any] = {"schema": {"type": "object", "required": ["refs"], "properties": {"refs": refs}}}
        pack: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
        router.add_api_route(
            "/v1/content/missing",
            self.missing,
            methods=["POST"],
            summary="Which of these refs, of contents or threads, are not stored",
            openapi_extra={"requestBody": {"required": True, "content": {"application/json": question}}},
        )
        router.add_api_route(
            "/v1/content",
            self.upload,
            methods=["POST"],
            summary="Store the contents and threads of a pack",
            openapi_extra={"requestBody": {"required": True, "content": {PACK: pack}}},
        )
        return router

    async def missing(self, request: Request) -> MissingAnswer:
        """Which of these refs, of contents or threads, are not stored."""
        _require_type(request, "application/json")
        async with self.flow.take(request, MAX_QUESTION_BYTES) as share, self._turn(request):
            body = await self._body(share)
            answer = await self._intake(request).missing(_refs(body))
        return MissingAnswer(missing=[*answer.refs], epoch=answer.epoch)

    async def upload(self, request: Request) -> StoredAnswer:
        """Store the contents and threads of a pack."""
        _require_type(request, PACK)
        # A content of the largest size must fit, also if the limit of other requests is smaller.
        limit = max(self.max_request_bytes, self.max_content_bytes + PACK_OVERHEAD)
        async with self.flow.take(request, limit) as share, self._turn(request):
            pack, refused = await self._pack(share)
            result = await self._intake(request).put(pack)
        taken_bytes = sum(len(content.data) for content in pack.contents)
        self.counts.content(len(pack.contents), taken_bytes)
        self.counts.arrived(access_of(request).project_id, 0, taken_bytes)
        self.counts.rejected("content", len(refused))
        parents: list[str] = [*result.unknown_parents]
        return StoredAnswer(stored=len(pack.contents), refused=refused, unknown_parents=parents, epoch=result.epoch)

    def _turn(self, request: Request) -> AbstractAsyncContextManager[object]:
        return self.flow.turns.of(access_of(request).project_id)

    def _intake(self, request: Request) -> ContentIntake:
        return self.intake(access_of(request).project_id)

    async def _pack(self, share: AdmittedRequest) -> tuple[Pack, list[RefusedContent]]:
        body = await self._body(share)
        return await off_loop(len(body), partial(self._unpack, body))

    async def _body(self, share: AdmittedRequest) -> bytes:
        body, sent_bytes = await share.body()
        self.counts.body(sent_bytes, len(body))
        return body

    def _unpack(self, body: bytes) -> tuple[Pack, list[RefusedContent]]:
        # Checked before parsing: every content and every message of a thread has a comma or a bracket before it.
        header = body[4 : 4 + int.from_bytes(body[:4], "big")]
        if header.count(b",") + header.count(b"[") > _MARKS_PER_ITEM * self.max_items:
            raise Refused(
                413,
                "too_many_items",
                f"more than {self.max_items} contents and messages in one pack: send smaller ones, or raise "
                "PLAYHEAD_MAX_PACK_ITEMS",
            )
        try:
            pack = decode_pack(body)
        except BadPack as error:
            raise Refused(400, "bad_pack", str(error)) from error
        for content in pack.contents:
            if len(content.data) > self.max_content_bytes:
                raise Refused(
                    413,
                    "content_too_large",
                    f"{content.ref} has {len(content.data)} bytes and the limit is {self.max_content_bytes}: send a "
                    "marker in its place, or raise PLAYHEAD_MAX_CONTENT_BYTES",
                )
        refused = [
            RefusedContent(content=place, ref=content.ref.plain, message=_not_a_type(content.media_type))
            for place, content in enumerate(pack.contents)
            if not is_media_type(content.media_type)
        ]
        if not refused:
            return pack, []
        accepted = tuple(content for content in pack.contents if is_media_type(content.media_type))
        return Pack(accepted, pack.threads), refused


def _not_a_type(media_type: str) -> str:
    description = f"{media_type[:50]!r}" if media_type else "an empty text"
    return f"its media type is {description}: send one such as application/json or text/plain; charset=utf-8"


def _require_type(request: Request, expected: str) -> None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != expected:
        raise Refused(415, "unknown_type", f"Content-Type is {media_type[:100] or 'missing'}: send {expected}")


def _refs(body: bytes) -> list[ContentRef]:
    try:
        refs = orjson.loads(body)["refs"]
    except (ValueError, TypeError, KeyError, IndexError):
        refs = None
    if not isinstance(refs, list):
        raise Refused(400, "bad_request", 'the body is not {"refs": [...]}: send a JSON object with a list of refs')
    refs = cast(list[Any], refs)
    if len(refs) > MAX_REFS:
        raise Refused(413, "too_many_refs", f"{len(refs)} refs in one question: ask for at most {MAX_REFS} at a time")
    try:
        return [ContentRef.parse(ref) for ref in refs]
    except (NotARef, TypeError) as error:
        raise Refused(400, "bad_ref", str(error)) from error
