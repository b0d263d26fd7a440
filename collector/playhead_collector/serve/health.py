"""Whether the collector works, for probes over HTTP and gRPC.

GET /healthz: the process runs. GET /readyz and the service grpc.health.v1.Health: its database answers.

Probes do not wait behind other requests: `network.protocol` answers /healthz before the application gets it, and the
store checks the database continuously, over its own connection.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

import grpc
from fastapi import APIRouter, Response
from grpc_health.v1 import health, health_pb2
from pydantic import BaseModel

from playhead_collector.errors import StoreUnavailable
from playhead_collector.receive.otlp_grpc import SERVICES


class Health(BaseModel):
    """`status`: `alive` or `ready`. Otherwise the response is an error. `object_store`: why contents cannot move to the
    object store at present; left out if they can, or there is none."""

    status: str
    object_store: str | None = None


class Ready(Protocol):
    """A store that knows whether its database answers."""

    async def ready(self) -> None:
        """Returns at once, or after a fraction of a second, if the database answers. Raises StoreUnavailable if not."""
        ...


def router(store: Ready, object_store_problem: Callable[[], str | None] = lambda: None) -> APIRouter:
    """The two routes. `object_store_problem`: what the object store said when it last failed. Migrations run before the
    store is opened, so readiness does not check them."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz", summary="Whether the process is alive", response_model_exclude_none=True)
    async def healthz(response: Response) -> Health:
        """Whether the process is alive."""
        response.headers["Cache-Control"] = "no-store"
        return Health(status="alive")

    @routes.get(
        "/readyz", summary="Whether the database answers; 503 while it does not", response_model_exclude_none=True
    )
    async def readyz(response: Response) -> Health:
        """Whether the database answers; 503 while it does not."""
        await store.ready()
        response.headers["Cache-Control"] = "no-store"
        return Health(status="ready", object_store=object_store_problem())

    return routes


_GRPC_RESPONSE: Any = cast(Any, health_pb2).HealthCheckResponse


class GrpcHealth:
    """The service; its status is SERVING while the database answers. It needs no key, like /readyz."""

    def __init__(self, store: Ready) -> None:
        self._store = store
        self._statuses: Any = cast(Any, health).aio.HealthServicer()

    async def Check(self, request: object, context: object) -> Any:  # noqa: N802 - the name of the method in gRPC
        """Returns SERVING or NOT_SERVING for the server (the service "") or for one of OTLP's services."""
        try:
            await self._store.ready()
            status = _GRPC_RESPONSE.SERVING
        except StoreUnavailable:
            status = _GRPC_RESPONSE.NOT_SERVING
        for service in ("", *SERVICES.values()):
            await self._statuses.set(service, status)
        return await self._statuses.Check(request, context)

    def handlers(self) -> list[Any]:
        """Returns the handlers to add to a server. `Watch` is not implemented: clients can do without it."""
        handler: Any = cast(Any, grpc).unary_unary_rpc_method_handler(
            self.Check,
            request_deserializer=cast(Any, health_pb2).HealthCheckRequest.FromString,
            response_serializer=_GRPC_RESPONSE.SerializeToString,
        )
        return [cast(Any, grpc).method_handlers_generic_handler(health.SERVICE_NAME, {"Check": handler})]
