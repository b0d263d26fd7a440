"""The port through which [serve] asks analysis questions, and an implementation without worker processes."""

from dataclasses import dataclass
from typing import Protocol

from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.search import SearchIndex
from playhead_collector.workers.questions import AnalysisQuestion, answer


class Analysis(Protocol):
    """Answers analysis questions about runs that are projected."""

    async def ask(self, question: AnalysisQuestion) -> bytes:
        """Returns the answer as JSON. Cancelling this cancels the question.

        Raises Refused (503 when it takes too long, or too many wait), StoreUnavailable, ContentMissing, ContentCorrupt.
        """
        ...


@dataclass(frozen=True, slots=True)
class InProcessAnalysis:
    """Answers in this process, without limits of time or memory: for tests, and for PLAYHEAD_ANALYSIS_PROCESSES=0."""

    store: ReadStore
    settings: AnalysisSettings
    index: SearchIndex | None = None
    """Written to by the question that indexes a run."""

    async def ask(self, question: AnalysisQuestion) -> bytes:
        return await answer(self.store, self.settings, question, self.index)
