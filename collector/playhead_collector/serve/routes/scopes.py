"""Route that lists the instrumentation scopes whose content no dialect could read."""

from collections.abc import Mapping

from fastapi import APIRouter, Response

from playhead.wire.operations.content import Scopes
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes.registering import get


class ScopeRoutes:
    """Handler of the request. `not_understood`: spans and log events by scope, counted while the collector runs."""

    def __init__(self, not_understood: Mapping[str, int]) -> None:
        self._not_understood = not_understood

    async def scopes(self) -> Response:
        """Instrumentation scopes with content that no dialect could read, since the collector started; most first."""
        counted = sorted(self._not_understood.items(), key=lambda pair: -pair[1])
        answer: Scopes = {"not_understood": [{"scope": scope, "count": count} for scope, count in counted]}
        return json_answer(answer)


def add_routes(api: APIRouter, not_understood: Mapping[str, int]) -> None:
    """Registers the operations of this file."""
    get(api, "senders", "/scopes", ScopeRoutes(not_understood).scopes, Scopes)
