"""The gRPC server: its port, and bounds for its connections, which gRPC's library enforces.

The bounds for messages are in `receive/otlp_grpc.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import grpc.aio

from playhead_collector.network.guard import Limits

# Calls of a connection at a time; further ones wait at the client. Exporters have one or two.
_MAX_STREAMS = 16
# Clients have to reconnect after this time, which they do without an error. It ends connections that are idle or never
# complete a request. The library's own limit for idle connections makes exporters log an error at each pause.
AGE_SECONDS = 300.0


class Servicer(Protocol):
    """A gRPC service."""

    def handlers(self) -> list[Any]:
        """Returns its generic handlers for gRPC's library."""
        ...


class CannotBind(Exception):
    """The server cannot listen on the port."""


@dataclass(slots=True)
class GrpcServer:
    """A server that is bound to `port` and answers after `start()`."""

    server: Any
    port: int

    async def start(self, servicers: Sequence[Servicer]) -> None:
        """Adds the services and starts to answer calls."""
        for servicer in servicers:
            self.server.add_generic_rpc_handlers(tuple(servicer.handlers()))
        await self.server.start()

    async def stop(self, seconds: float) -> None:
        """Accepts no more calls, and returns when those in progress are answered, or after `seconds`."""
        await self.server.stop(seconds)


def bind(
    host: str, port: int, limits: Limits, max_message_bytes: int, *, age_seconds: float = AGE_SECONDS
) -> GrpcServer:
    """Returns a server that is bound to an address; port 0 takes any free port. Must be called on the event loop.
    Raises CannotBind."""
    options = [*_options(limits, max_message_bytes), ("grpc.max_connection_age_ms", _ms(age_seconds))]
    server: Any = cast(Any, grpc.aio).server(options=options)
    try:
        bound = server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except RuntimeError as error:
        raise CannotBind(str(error)) from error
    return GrpcServer(server, bound)


def _options(limits: Limits, max_message_bytes: int) -> list[tuple[str, int]]:
    return [
        # Off: otherwise two collectors could listen on one port, and each would get some of the calls.
        ("grpc.so_reuseport", 0),
        # Off: the library would decompress without a limit, and a message of 64 MiB may become 64 GiB.
        ("grpc.per_message_decompression", 0),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_concurrent_streams", _MAX_STREAMS),
        # Calls that were not accepted yet: from 1,000 on, the library cancels some of them at random, also those of
        # honest clients. There cannot be more than this number.
        ("grpc.server.max_pending_requests", _MAX_STREAMS * limits.max_connections),
        ("grpc.server.max_pending_requests_hard_limit", _MAX_STREAMS * limits.max_connections),
        ("grpc.max_metadata_size", limits.max_head_bytes),
        ("grpc.absolute_max_metadata_size", limits.max_head_bytes),
        ("grpc.max_allowed_incoming_connections", limits.max_connections),
        ("grpc.server_handshake_timeout_ms", _ms(limits.head_seconds)),
        ("grpc.max_connection_age_grace_ms", _ms(limits.body_seconds)),
        # A vanished client is noticed because it does not answer a ping.
        ("grpc.keepalive_time_ms", _ms(limits.body_seconds)),
        ("grpc.keepalive_timeout_ms", _ms(limits.send_seconds)),
        ("grpc.http2.settings_timeout", _ms(limits.send_seconds)),
        # Off: it would let senders send more than 64 KiB before anybody reads it: see `receive/grpc_turns.py`.
        ("grpc.http2.bdp_probe", 0),
    ]


def _ms(seconds: float) -> int:
    return max(1, min(int(seconds * 1_000), 2**31 - 1))
