"""What a sender should know about an OTLP request that was taken: the `error_message` of `partial_success`."""

from dataclasses import dataclass, field

from playhead.model.ref import ContentRef
from playhead_collector.receive.ports import Taken


@dataclass(slots=True)
class Remarks:
    """Gathered while a request is taken by portions; as text, empty when nothing is amiss."""

    rejected: int = 0
    _reason: str = ""
    _dropped: int = 0
    _pending: list[ContentRef] = field(default_factory=list[ContentRef])

    def left_out(self, count: int, reason: str) -> None:
        """So many items could not be kept."""
        self.rejected += count
        self._reason = self._reason or reason

    def taken(self, taken: Taken) -> None:
        """A portion is stored."""
        self._dropped += taken.dropped
        self._pending += taken.pending

    def __str__(self) -> str:
        said: list[str] = []
        if self.rejected:
            said.append(f"{self.rejected} left out: {self._reason}")
        if self._dropped:
            said.append(f"{self._dropped} spans and log events are of runs that were deleted, and were not kept")
        if self._pending:
            said.append(f"content pending: {len(self._pending)} refs, such as {self._pending[0]}, are not stored yet")
        return "; ".join(said)
