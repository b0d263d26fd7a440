"""[serve]: adds the routes of routers to an application without building them again."""

from fastapi import APIRouter, FastAPI


def attach(to: FastAPI | APIRouter, *routers: APIRouter) -> None:
    """Adds the routes of these routers as they are, with the prefix and the dependencies of their own router.

    FastAPI's `include_router` builds each route again, with all of its models, when the first request arrives: a third
    of a second for this API. A route that is included a second time also loses the prefix in its path.
    """
    for router in routers:
        to.routes.extend(router.routes)
