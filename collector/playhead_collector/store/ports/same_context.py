"""[store] → analysis: which other model calls had exactly the same context."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from playhead.model.ref import ContentRef


class EventRange(NamedTuple):
    """The events of a run with after < seq <= upto, without events shared with a parent."""

    run: str
    after: int
    upto: int


class SameContext(NamedTuple):
    """The model call at seq `here` of the requested run had the same context as the call at `seq` of `run`."""

    here: int
    run: str
    seq: int


class SameContextStore(Protocol):
    """Finds model calls by their context.

    The index uses a short hash, so very rarely it returns a call with another thread: compare the thread in the call's
    event.
    """

    async def calls_with_thread(self, project_id: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        """Returns (run, seq) of projected model calls that had this thread as context, newest runs first."""
        ...

    async def runs_with_same_context(
        self, project_id: int, parts: Sequence[EventRange], *, without: Sequence[str], limit: int
    ) -> Sequence[SameContext]:
        """Returns other runs with a model call that had the same context as a call in these parts of a run. Runs that
        match a later call come first; runs that match the same call are sorted by run id.

        Each other run is returned once, with the latest call here that matches and the first call there that has its
        context. `limit` bounds both the matches of each context and the result. Runs in `without` are left out.
        """
        ...
