"""[client]: what the collector forwards to other backends."""

from collections.abc import Sequence
from urllib.parse import quote

from playhead.client.operation import ApiRequest, client_method
from playhead.wire.answers.forward import Affected, Backfilled, Destinations, ForwardDeadLetters


class ForwardOperations:
    """Forwarding.  If the collector has keys, operations that change something need one with the scope `admin`."""

    @client_method
    def destinations(self) -> ApiRequest[Destinations]:
        """The backends that the collector forwards to, with what waits for each and what was refused."""
        return ApiRequest("forward")

    @client_method
    def dead_letters(self, destination: str, *, after: int = 0, limit: int = 100) -> ApiRequest[ForwardDeadLetters]:
        """What a destination refused, oldest first; `after` is the last `entry` of the page before."""
        return ApiRequest(f"{_path(destination)}/dead", {"after": after or None, "limit": limit})

    @client_method
    def retry_forward(self, destination: str, entries: Sequence[int] | None = None) -> ApiRequest[Affected]:
        """Send dead letters again (None: all), and end a pause that the destination was given.  Raises NotFound."""
        return ApiRequest(f"{_path(destination)}/retry", body={"entries": _listed(entries)})

    @client_method
    def drop_forward(
        self, destination: str, entries: Sequence[int] | None = None, *, waiting: bool = False
    ) -> ApiRequest[Affected]:
        """Forget dead letters (None: all); with `waiting`, also all that waits to be sent."""
        return ApiRequest(f"{_path(destination)}/drop", body={"entries": _listed(entries), "waiting": waiting})

    @client_method
    def backfill(self, destination: str, run: str | None = None, *, since: str | None = None) -> ApiRequest[Backfilled]:
        """Send what is stored of a run, or of all runs that began since.  Raises NotFound."""
        return ApiRequest(f"{_path(destination)}/backfill", body={"run": run, "since": since})


def _path(destination: str) -> str:
    return f"forward/{quote(destination, safe='')}"


def _listed(entries: Sequence[int] | None) -> list[int] | None:
    return None if entries is None else list(entries)
