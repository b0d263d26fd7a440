"""store → [project]: what relates a run to others: the traces of its spans, and the runs that these name."""

import re
from collections.abc import Iterable

from playhead.model import names
from playhead.model.span import Span
from playhead.project.attributes import texts

# A row of a list stays small.
_MAX = 100
_RUN_ID = re.compile("[0-9a-f]{32}")


class Relations:
    """Grows with the spans of a run. Of more than 100 ids it keeps the smallest, in whatever order they come."""

    def __init__(self, run: str, spans: Iterable[Span] = ()) -> None:
        self._run = run
        self._traces: set[str] = set()
        self._linked: set[str] = set()
        for span in spans:
            self.add(span)

    def add(self, span: Span) -> None:
        """One more span, or another version of one."""
        _keep(self._traces, span.trace_id)
        for run in texts(span.attributes, names.LINKED_RUNS):
            if run != self._run and _RUN_ID.fullmatch(run):
                _keep(self._linked, run)

    @property
    def traces(self) -> tuple[str, ...]:
        """Their ids, sorted."""
        return tuple(sorted(self._traces))

    @property
    def linked(self) -> tuple[str, ...]:
        """Ids of runs that are no part of this one, sorted."""
        return tuple(sorted(self._linked))


def _keep(ids: set[str], one: str) -> None:
    ids.add(one)
    if len(ids) > _MAX:
        ids.remove(max(ids))
