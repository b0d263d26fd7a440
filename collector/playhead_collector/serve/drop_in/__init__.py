"""Routes that SDKs of other products call besides sending spans. `hints.py` has the right paths for wrong ones.

Spans of these SDKs arrive at the paths of `receive/otlp_http.py`. The routes here answer their first requests:
Langfuse's SDK in `auth_check()`, and LangSmith's when it starts. Langfuse's uploads of images are in
`receive/langfuse_media.py`. The routes need the scope `ingest`, which the keys of such clients have.
"""

from typing import Any, Final

from fastapi import APIRouter

# Paths of Langfuse's API and of LangSmith's.
PATHS: Final = ("/api/public/projects", "/api/public/health", "/info")


def router(version: str) -> APIRouter:
    """Returns the three routes; they are not part of the query API's description."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/api/public/projects")
    async def projects() -> dict[str, Any]:
        """Returns the project of a key, in Langfuse's form."""
        owner = {"id": "playhead", "name": "Playhead"}
        return {"data": [{"id": "1", "name": "Playhead", "organization": owner, "metadata": {}}]}

    @routes.get("/api/public/health")
    async def public_health() -> dict[str, str]:
        """Returns that the collector answers, in Langfuse's form."""
        return {"status": "OK", "version": version}

    @routes.get("/info")
    async def info() -> dict[str, Any]:
        """Answers LangSmith's SDK when it starts, without flags for LangSmith's own format, which is not accepted."""
        return {"version": version, "instance_flags": {}}

    return routes
