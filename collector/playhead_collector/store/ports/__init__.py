"""The interfaces that the store has for other stages, and the values in them: a module for each subject.

`store.postgres` implements all of them; `store.records` implements `ReadStore`.  The first parameter of most methods is
the id of the project: the data of projects is separate.
"""

from typing import Protocol

from playhead_collector.store.ports.contents import ContentReader
from playhead_collector.store.ports.events import EventReader
from playhead_collector.store.ports.notes import NoteReader
from playhead_collector.store.ports.promises import PromiseReader
from playhead_collector.store.ports.runs import RunReader
from playhead_collector.store.ports.scores import ScoreReader
from playhead_collector.store.ports.search import SearchIndex
from playhead_collector.store.ports.spans import SpanReader
from playhead_collector.store.ports.uses import UseReader


class ReadStore(Protocol):
    """What questions about recorded runs read, by subject.  Implemented on Postgres and by `store.records`."""

    @property
    def contents(self) -> ContentReader:
        """Contents and threads by their refs."""
        ...

    @property
    def spans(self) -> SpanReader:
        """Spans and log events of a run."""
        ...

    @property
    def events(self) -> EventReader:
        """Events of a run, and snapshots of its state."""
        ...

    @property
    def runs(self) -> RunReader:
        """Summaries of runs."""
        ...

    @property
    def scores(self) -> ScoreReader:
        """Scores of runs and calls."""
        ...

    @property
    def promises(self) -> PromiseReader:
        """What runs wait for."""
        ...

    @property
    def notes(self) -> NoteReader:
        """Notes of people about runs."""
        ...

    @property
    def search(self) -> SearchIndex:
        """The index of decisions and texts of all runs."""
        ...

    @property
    def uses(self) -> UseReader:
        """Which runs had a content, and which model calls a context."""
        ...
