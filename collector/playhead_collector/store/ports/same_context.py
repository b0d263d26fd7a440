"""[store] → analysis: which other model calls had exactly the same context."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from playhead.model.ref import ContentRef


class EventRange(NamedTuple):
    """Events of a run's own record with after < seq <= upto."""

    run: str
    after: int
    upto: int


class SameContext(NamedTuple):
    """The model call at seq `here` had the same context as the call at `seq` of another run."""

    here: int
    run: str
    seq: int


class SameContextStore(Protocol):
    """Finds model calls by their context.

    The index is by a short hash, so very rarely a call has another thread: compare its event.
    """

    async def calls_with_thread(self, project_id: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        """(run, seq) of projected model calls that had this thread as context; newest runs first."""
        ...

    async def runs_with_same_context(
        self, project_id: int, parts: Sequence[EventRange], *, without: Sequence[str], limit: int
    ) -> Sequence[SameContext]:
        """Runs with a model call whose context a call in these parts of a run had, too; those with a later one first,
        of equal ones by run.

        Of each run the last such call.  Of each context, and of all runs together, at most `limit`; none of `without`.
        """
        ...
