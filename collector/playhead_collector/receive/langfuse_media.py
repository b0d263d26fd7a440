"""Uploads of images and files by Langfuse's SDKs.  [receive] → store.

POST  /api/public/media               announces a medium of a run; the answer has the address for its bytes
PUT   /api/public/media/ID/SHA256     the bytes
PATCH /api/public/media/ID            result of the upload

An announcement is stored as a log event of the run that names the ref of the bytes. So the content is awaited, kept,
exported and deleted with the run, like all content of runs.

The PUT has no key, because SDKs send none to upload addresses. Its address has a ticket of the key that announced it,
and it stores only bytes whose digest a run of that key's project waits for.
"""

import base64
import binascii
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, cast

from fastapi import APIRouter, Request, Response

from playhead.dialect.langfuse_media import media_id
from playhead.model.canonical import Content, is_media_type
from playhead.model.ids import SPAN_ID, WHOLE_ID
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead.model.thread import THREAD
from playhead.wire.pack import Pack
from playhead_collector.access import access_of
from playhead_collector.errors import Refused
from playhead_collector.receive.ports import Counts, MediaIntake, MediaIntakeOf
from playhead_collector.receive.request_limiter import RequestLimiter, off_loop
from playhead_collector.settings import KIB

PATH: Final = "/api/public/media"
EVENT: Final = "langfuse.media"
REF: Final = "langfuse.media.content_ref"
# An announcement has seven short fields.
_MAX_BYTES: Final = 16 * KIB
_UPLOAD: Final = re.compile(PATH + r"/[A-Za-z0-9_-]{22}/[0-9a-f]{64}")


class _Announced(NamedTuple):
    """A medium that will be uploaded, and the span that has it."""

    ref: ContentRef
    content_type: str
    size: int
    trace_id: str
    span_id: str | None
    field: str

    def log(self, now_ns: int) -> LogEvent:
        """Returns the announcement as a log event of the run."""
        attributes = {
            REF: str(self.ref),
            "langfuse.media.id": media_id(self.ref.digest),
            "langfuse.media.content_type": self.content_type,
            "langfuse.media.bytes": self.size,
            "langfuse.media.field": self.field,
        }
        return LogEvent(EVENT, now_ns, self.trace_id, self.span_id, attributes, scope="langfuse-sdk")


_TICKET: Final = "ticket"


def ticket_in(request: Request) -> str | None:
    """Returns the ticket in the address of an upload."""
    return request.query_params.get(_TICKET)


def is_upload(method: str, path: str) -> bool:
    """Whether the request is a PUT of bytes, which needs no key."""
    return method == "PUT" and _UPLOAD.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class LangfuseMediaHttp:
    """The three endpoints; not part of the query API's description."""

    intake: MediaIntakeOf
    counts: Counts
    flow: RequestLimiter
    max_content_bytes: int
    ticket: Callable[[Request], Awaitable[str | None]]
    clock: Callable[[], int] = time.time_ns

    def router(self) -> APIRouter:
        """The routes, to be included in an application."""
        router = APIRouter(include_in_schema=False)
        router.add_api_route(PATH, self.announce, methods=["POST"])
        router.add_api_route(PATH + "/{number}/{digest}", self.upload, methods=["PUT"], response_class=Response)
        router.add_api_route(PATH + "/{number}", self.report, methods=["PATCH"], response_class=Response)
        return router

    async def announce(self, request: Request) -> dict[str, str | None]:
        """Returns the address for the bytes of a medium; none if they are already stored, or the run was deleted."""
        async with self.flow.take(request, _MAX_BYTES) as share:
            body, _ = await share.body()
            announced = self._read(body)
            result = await self._intake(request).ingest([], [announced.log(self.clock())])
        number = media_id(announced.ref.digest)
        if announced.ref.plain not in {ref.plain for ref in result.pending}:
            return {"mediaId": number, "uploadUrl": None}
        ticket = await self.ticket(request)
        query = "" if ticket is None else f"?{_TICKET}={ticket}"
        url = f"{_base_url(request)}{PATH}/{number}/{announced.ref.digest.hex()}{query}"
        return {"mediaId": number, "uploadUrl": url}

    async def upload(self, number: str, digest: str, request: Request) -> Response:
        """Store the bytes of a medium that was announced."""
        if not is_upload("PUT", request.url.path) or media_id(bytes.fromhex(digest)) != number:
            raise _not_announced()
        ref = ContentRef.from_digest(bytes.fromhex(digest))
        intake = self._intake(request)
        if not await intake.is_awaited(ref):
            if not (await intake.missing([ref])).refs:
                return Response(status_code=200)  # sent a second time
            raise _not_announced()
        media_type = request.headers.get("content-type", "").strip()
        if not is_media_type(media_type) or media_type.partition(";")[0].strip().lower() == THREAD:
            raise Refused(415, "unknown_type", "Content-Type is missing or invalid: send the type that was announced")
        async with self.flow.take(request, self.max_content_bytes) as share:
            body, sent_bytes = await share.body()
            self.counts.body(sent_bytes, len(body))
            content = Content(body, media_type)
            if await off_loop(len(body), partial(_digest, content)) != ref.digest:
                message = (
                    "the bytes do not have the announced sha256Hash: announce them with their own, and upload again"
                )
                raise Refused(400, "wrong_digest", message)
            await intake.put(Pack((content,), ()))
        self.counts.content(1, len(body))
        self.counts.arrived(access_of(request).project_id, 0, len(body))
        return Response(status_code=200)

    async def report(self, number: str, request: Request) -> Response:
        """Answers the SDK's report of an upload; the collector knows its result already."""
        async with self.flow.take(request, _MAX_BYTES) as share:
            await share.body()
        return Response(status_code=204)

    def _intake(self, request: Request) -> MediaIntake:
        return self.intake(access_of(request).project_id)

    def _read(self, body: bytes) -> _Announced:
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            raise Refused(400, "bad_request", "the body is not a JSON object: send contentType, contentLength, "
                          "sha256Hash, traceId and field")  # fmt: skip
        return self._checked(cast("dict[str, Any]", fields))

    def _checked(self, fields: dict[str, Any]) -> _Announced:
        size, media_type, trace_id = fields.get("contentLength"), fields.get("contentType"), fields.get("traceId")
        if type(size) is not int or size < 1:
            raise Refused(400, "bad_request", "contentLength is not a positive number: send the number of bytes")
        if size > self.max_content_bytes:
            raise Refused(413, "content_too_large", f"the medium has {size} bytes and the limit is "
                          f"{self.max_content_bytes}: send a smaller one, or raise "
                          "PLAYHEAD_MAX_CONTENT_BYTES")  # fmt: skip
        if not isinstance(media_type, str) or not is_media_type(media_type):
            raise Refused(400, "bad_request", "contentType is missing or invalid: send one such as image/png")
        if not isinstance(trace_id, str) or not WHOLE_ID.fullmatch(trace_id):
            raise Refused(400, "bad_request", "traceId is not 32 hex digits: only media of traces are kept here")
        span_id, field = fields.get("observationId"), fields.get("field")
        span_id = span_id if isinstance(span_id, str) and SPAN_ID.fullmatch(span_id) else None
        field = field if field in ("input", "output", "metadata") else "input"
        return _Announced(_ref(fields.get("sha256Hash")), media_type, size, trace_id, span_id, field)


def _ref(text: object) -> ContentRef:
    try:
        digest = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != 32:
        raise Refused(400, "bad_request", "sha256Hash is not the base64 of 32 bytes: send the SHA-256 of the bytes")
    return ContentRef.from_digest(digest)


def _digest(content: Content) -> bytes:
    return content.ref.digest


def _not_announced() -> Refused:
    message = f"no run waits for this medium: announce it with POST {PATH}, and upload to the address in the answer"
    return Refused(404, "not_announced", message)


def _base_url(request: Request) -> str:
    """The address under which the sender reached this collector, also behind a trusted proxy that ends TLS."""
    return f"{request.url.scheme}://{request.url.netloc}"
