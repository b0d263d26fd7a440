"""Which instrumentation scopes were taken without understanding their content."""

from collections.abc import Mapping

from fastapi import APIRouter, Response

from playhead.wire.answers.scopes import Scopes
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes.registering import get


class ScopeRoutes:
    """The handler; its docstring is what OpenAPI says about it. `not_understood` grows while the collector runs."""

    def __init__(self, not_understood: Mapping[str, int]) -> None:
        self._not_understood = not_understood

    async def scopes(self) -> Response:
        """Instrumentation scopes whose content was taken without being understood, since the collector started."""
        counted = sorted(self._not_understood.items(), key=lambda each: -each[1])
        answer: Scopes = {"not_understood": [{"scope": scope, "count": count} for scope, count in counted]}
        return json_answer(answer)


def add_routes(api: APIRouter, not_understood: Mapping[str, int]) -> None:
    """Registers the operations of this file."""
    get(api, "senders", "/scopes", ScopeRoutes(not_understood).scopes, Scopes)
