"""Routes for stored content, by ref, and for the instrumentation scopes whose content no dialect could read."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import Body, Query, Request, Response

from playhead.wire import operations
from playhead.wire.operations.content import ContentAbout, Scopes
from playhead_collector.read.content import parse_ref, read_batch, read_thread
from playhead_collector.read.content_uses import read_about, read_about_in_run
from playhead_collector.serve import routing
from playhead_collector.serve.responses import content_answer, json_answer
from playhead_collector.serve.routing import ApiRoutes, Responses, get, refusal, refusals, schema
from playhead_collector.store.ports import ReadStore

Refs = Annotated[list[str], Body(embed=True, max_length=1_000, description="Refs (`sha256:...`), at most 1,000.")]
As = Annotated[
    Literal["messages"] | None, Query(alias="as", description="`messages`: return a thread as its list of messages.")
]

OneRun = Annotated[
    str | None,
    Query(
        pattern="^[0-9a-f]{32}$",
        description="Count this run alone, by its whole id: of a fork, also the events that it shares with its parent.",
    ),
]


class ContentRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: ReadStore, project_id: int) -> None:
        self._store, self._project_id = store, project_id
        # A content of up to 64 MiB is read completely before it is sent, so at most two are read at a time.
        self._looking_up = asyncio.Semaphore(2)

    async def content(self, ref: routing.Ref, request: Request, view: As = None) -> Response:
        """Bytes of a content, with its media type. A thread's ref gives its last node, or with `as=messages` its list.

        The bytes of a ref never change, so caches may keep them. `Range`, `If-Range` and `If-None-Match` are supported.
        Response headers forbid browsers to execute the content.
        """
        parsed = parse_ref(ref)
        if view == "messages":
            return json_answer(await read_thread(self._store, self._project_id, parsed))
        async with self._looking_up:
            return content_answer(parsed, await self._store.contents.get(self._project_id, parsed), request.headers)

    async def about(
        self,
        ref: routing.Ref,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        cursor: routing.Cursor = None,
        run: OneRun = None,
    ) -> Response:
        """What a content is, how large, when it was first and last seen, and which runs and calls had it.

        `calls` counts model calls that were given it, so that `bytes_sent` is its size times that number.  With `run`,
        only that run counts, with up to 1,000 of its events that had the content instead of 20; `complete` is then
        false if its contexts are too many to be read.
        """
        if run is not None:
            return json_answer(await read_about_in_run(self._store, self._project_id, parse_ref(ref), run))
        return json_answer(await read_about(self._store, self._project_id, parse_ref(ref), limit, cursor))

    async def batch(self, refs: Refs) -> Response:
        """Several contents by ref. Refs that are not stored are absent from the answer."""
        async with self._looking_up:
            return json_answer(await read_batch(self._store, self._project_id, refs))


_BYTES: Responses = {
    200: {
        "description": "The bytes, with their media type; JSON for `as=messages`.",
        "content": {"*/*": {}},
    },
    206: {"description": "The requested range.", "content": {"*/*": {}}},
    304: {"description": "The caller has this content already (`If-None-Match`)."},
    416: refusal("The range lies outside the content."),
}


def add_routes(api: ApiRoutes, store: ReadStore, project_id: int) -> None:
    """Registers the operations of this file."""
    routes = ContentRoutes(store, project_id)
    content, batch = routes.content, routes.batch
    api.get("/content/{ref}", tags=["content"], name="content", responses=_BYTES, response_class=Response)(content)
    api.head("/content/{ref}", include_in_schema=False)(content)
    get(api, "content", "/content/{ref}/about", routes.about, ContentAbout)
    values = schema(dict[str, operations.ContentValue])
    api.post("/content/batch", tags=["content"], name="batch", response_model=values, responses=refusals(413))(batch)


class ScopeRoutes:
    """Handler of the request. `not_understood`: spans and log events by scope, counted while the collector runs."""

    def __init__(self, not_understood: Mapping[str, int]) -> None:
        self._not_understood = not_understood

    async def scopes(self) -> Response:
        """Instrumentation scopes with content that no dialect could read, since the collector started; most first."""
        counted = sorted(self._not_understood.items(), key=lambda pair: -pair[1])
        answer: Scopes = {"not_understood": [{"scope": scope, "count": count} for scope, count in counted]}
        return json_answer(answer)


def add_scope_routes(api: ApiRoutes, not_understood: Mapping[str, int]) -> None:
    """Registers the operations of this file."""
    get(api, "senders", "/scopes", ScopeRoutes(not_understood).scopes, Scopes)
