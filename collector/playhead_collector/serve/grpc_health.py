"""grpc.health.v1.Health, for gRPC probes: the same status as GET /readyz."""

from typing import Any, cast

import grpc
from grpc_health.v1 import health, health_pb2

from playhead_collector.errors import StoreUnavailable
from playhead_collector.receive.otlp_grpc import SERVICES
from playhead_collector.serve.health import Ready

_STATUS: Any = cast(Any, health_pb2).HealthCheckResponse


class GrpcHealth:
    """The service; its status is SERVING while the database answers. It needs no key, like /readyz."""

    def __init__(self, store: Ready) -> None:
        self._store = store
        self._statuses: Any = cast(Any, health).aio.HealthServicer()

    async def Check(self, request: Any, context: Any) -> Any:  # noqa: N802 - the name of the method in gRPC
        """Returns SERVING or NOT_SERVING for the server (the service "") or for one of OTLP's services."""
        try:
            await self._store.ready()
            status = _STATUS.SERVING
        except StoreUnavailable:
            status = _STATUS.NOT_SERVING
        for service in ("", *SERVICES.values()):
            await self._statuses.set(service, status)
        return await self._statuses.Check(request, context)

    def handlers(self) -> list[Any]:
        """Returns the handlers to add to a server. `Watch` is not implemented: clients can do without it."""
        handler: Any = cast(Any, grpc).unary_unary_rpc_method_handler(
            self.Check,
            request_deserializer=cast(Any, health_pb2).HealthCheckRequest.FromString,
            response_serializer=_STATUS.SerializeToString,
        )
        return [cast(Any, grpc).method_handlers_generic_handler(health.SERVICE_NAME, {"Check": handler})]
