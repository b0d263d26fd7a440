"""[serve]: puts routers together without making their routes again."""

from fastapi import APIRouter, FastAPI


def attach(to: FastAPI | APIRouter, *routers: APIRouter) -> None:
    """Adds the routes of these routers as they are, with the prefix and the dependencies of their own router.

    FastAPI's `include_router` makes each route once more, with all of its models, when the first request comes: a
    third of a second for this API.  A route that is included in turn also loses the prefix in its path.
    """
    for router in routers:
        to.routes.extend(router.routes)
