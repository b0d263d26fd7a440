"""store → [projection]: relations of a run to other runs: trace ids of its spans, and run ids that they link."""

from collections.abc import Iterable

from playhead.model import names
from playhead.model.ids import WHOLE_ID
from playhead.model.span import Span
from playhead.projection.attributes import texts

# Limits the size of a row in lists of runs.
_MAX = 100


class Relations:
    """Collects trace ids and linked run ids from the spans of a run. Keeps the 100 smallest of each, so the result does
    not depend on the order of the spans."""

    def __init__(self, run: str, spans: Iterable[Span] = ()) -> None:
        self._run = run
        self._traces: set[str] = set()
        self._linked: set[str] = set()
        for span in spans:
            self.add(span)

    def add(self, span: Span) -> None:
        """Adds a span, or another version of a span."""
        _keep(self._traces, span.trace_id)
        for run in texts(span.attributes, names.LINKED_RUNS):
            if run != self._run and WHOLE_ID.fullmatch(run):
                _keep(self._linked, run)

    @property
    def traces(self) -> tuple[str, ...]:
        """The trace ids of the spans, sorted."""
        return tuple(sorted(self._traces))

    @property
    def linked(self) -> tuple[str, ...]:
        """Ids of other runs that the spans link, sorted."""
        return tuple(sorted(self._linked))


def _keep(ids: set[str], new_id: str) -> None:
    ids.add(new_id)
    if len(ids) > _MAX:
        ids.remove(max(ids))
