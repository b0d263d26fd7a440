"""The store's interface for the events of a run, and snapshots of its state."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from playhead.model.event import RunEvent
from playhead.model.state import RunState


class EventReader(Protocol):
    """Reads the events of projected runs."""

    async def read(
        self, project_id: int, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[RunEvent]:
        """Returns events with after < seq <= upto, in order, at most `limit`. An empty list means that there are no
        more.

        The events that a fork shares with its parent come first; their `run` is the parent.
        """
        ...

    def pages(self, project_id: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        """Yields the events with seq > after, page by page, for questions that read all of a long run."""
        ...

    async def seq_of(self, project_id: int, run: str, event_id: str) -> int | None:
        """Returns the seq of the event with this id, or of the first event of the span with this id; None when there is
        none."""
        ...

    async def snapshot(self, project_id: int, run: str, seq: int) -> RunState | None:
        """Returns the latest stored state at or before seq, with its history; None when there is none."""
        ...
