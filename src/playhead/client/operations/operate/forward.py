"""[client]: forwarding of spans and log events to other backends."""

from collections.abc import Sequence
from urllib.parse import quote

from playhead.client.operation import ApiRequest, client_method
from playhead.wire.operations.forward import Affected, Backfilled, Destinations, ForwardDeadLetters


class ForwardOperations:
    """Forwarding.  If the collector has keys, operations that change something need one with the scope `admin`."""

    @client_method
    def destinations(self) -> ApiRequest[Destinations]:
        """The backends that the collector forwards to, with the number of waiting and of refused entries of each."""
        return ApiRequest("forward")

    @client_method
    def dead_letters(self, destination: str, *, after: int = 0, limit: int = 100) -> ApiRequest[ForwardDeadLetters]:
        """Dead letters (entries that a destination refused), oldest first; `after` is the last `entry` of the previous
        page."""
        return ApiRequest(f"{_path(destination)}/dead", {"after": after or None, "limit": limit})

    @client_method
    def retry_forward(self, destination: str, entries: Sequence[int] | None = None) -> ApiRequest[Affected]:
        """Send dead letters again (`entries` None: all), and end the destination's pause after failures. Raises
        NotFound."""
        return ApiRequest(f"{_path(destination)}/retry", body={"entries": _listed(entries)})

    @client_method
    def drop_forward(
        self, destination: str, entries: Sequence[int] | None = None, *, waiting: bool = False
    ) -> ApiRequest[Affected]:
        """Delete dead letters (`entries` None: all) without sending them; with `waiting`, also all waiting entries."""
        return ApiRequest(f"{_path(destination)}/drop", body={"entries": _listed(entries), "waiting": waiting})

    @client_method
    def backfill(self, destination: str, run: str | None = None, *, since: str | None = None) -> ApiRequest[Backfilled]:
        """Forward what is stored of a run, or of all runs that began at `since` or later. Raises NotFound."""
        return ApiRequest(f"{_path(destination)}/backfill", body={"run": run, "since": since})


def _path(destination: str) -> str:
    return f"forward/{quote(destination, safe='')}"


def _listed(entries: Sequence[int] | None) -> list[int] | None:
    return None if entries is None else list(entries)
