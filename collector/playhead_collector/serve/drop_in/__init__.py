"""What clients of other products ask besides sending spans; `hints.py` has the right paths for wrong ones.

Their spans go to the paths of `receive/otlp_http.py`. Here is what they ask before: Langfuse's SDK in `auth_check()`,
and LangSmith's when it starts. Langfuse's uploads of images are in `receive/langfuse_media.py`. Scope of the key:
`ingest`, which is what such a client has.
"""

from typing import Any, Final

from fastapi import APIRouter

# Paths of Langfuse's API and of LangSmith's.
PATHS: Final = ("/api/public/projects", "/api/public/health", "/info")


def router(version: str) -> APIRouter:
    """The three routes; not part of the query API's description."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/api/public/projects")
    async def projects() -> dict[str, Any]:
        """The project of a key, in Langfuse's form."""
        owner = {"id": "playhead", "name": "Playhead"}
        return {"data": [{"id": "1", "name": "Playhead", "organization": owner, "metadata": {}}]}

    @routes.get("/api/public/health")
    async def public_health() -> dict[str, str]:
        """That this answers, in Langfuse's form."""
        return {"status": "OK", "version": version}

    @routes.get("/info")
    async def info() -> dict[str, Any]:
        """What LangSmith's SDK asks when it starts: no format of its own is taken."""
        return {"version": version, "instance_flags": {}}

    return routes
