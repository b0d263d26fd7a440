"""HEAD of a stored content, by hand: a declared operation has a route for its own method only."""

from typing import Annotated, Literal

from fastapi import Query, Request, Response

from playhead_collector.handlers.asking import Turn
from playhead_collector.read.content import parse_ref, read_thread
from playhead_collector.serve import routing
from playhead_collector.serve.responses import content_answer, json_answer
from playhead_collector.serve.routing import ApiRoutes
from playhead_collector.store.ports import ReadStore

As = Annotated[Literal["messages"] | None, Query(alias="as")]


def add_head(api: ApiRoutes, store: ReadStore, project_id: int, looking_up: Turn) -> None:
    """Registers HEAD of the path whose GET is `ContentOperations.content`."""

    async def head(ref: routing.Ref, request: Request, view: As = None) -> Response:
        parsed = parse_ref(ref)
        if view == "messages":
            return json_answer(await read_thread(store, project_id, parsed))
        async with looking_up():
            return content_answer(parsed, await store.contents.get(project_id, parsed), request.headers)

    api.add("/content/{ref}", head, methods=["HEAD"], include_in_schema=False)
