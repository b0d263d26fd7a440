"""Bounds of connections; `settings.py` has the reasons."""

from dataclasses import dataclass

from playhead_collector.settings import KIB, MIB, CollectorSettings

# Bytes that a client must receive within `send_seconds`, unless fewer are waiting: 13 kB/s with the default of 20 s.
MIN_TAKEN = 256 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of connections. Times in seconds."""

    max_connections: int = 1_000
    max_connections_per_client: int = 400
    max_head_bytes: int = 32 * KIB
    head_seconds: float = 10
    body_seconds: float = 60
    send_seconds: float = 20
    idle_seconds: float = 75
    max_dropped_bytes: int = 64 * MIB
    """Most bytes of a body that are still read after its request was refused: most clients read the answer only after
    they have sent everything."""

    @property
    def reserve(self) -> int:
        """Connections above the limit that still get answers: probes as usual, all others a 503."""
        return max(1, self.max_connections // 2)


def limits_of(settings: CollectorSettings) -> Limits:
    """Returns the limits that the operator set."""
    return Limits(
        max_connections=settings.max_connections,
        max_connections_per_client=settings.max_connections_per_client,
        max_head_bytes=settings.max_head_bytes,
        head_seconds=settings.head_seconds,
        body_seconds=settings.body_seconds,
        send_seconds=settings.send_seconds,
        idle_seconds=settings.idle_seconds,
        max_dropped_bytes=settings.max_request_bytes,
    )
