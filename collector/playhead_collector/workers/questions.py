"""The analysis questions, which compute over runs. Plain reads (events, state, context, ...) are not among them."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from playhead.wire.operations.declared import operations_by_key
from playhead.wire.operations.operation import DeclaredOperation
from playhead_collector.access import Access
from playhead_collector.analysis.judging import read_judging_brief
from playhead_collector.analysis.reasoning.explanation import read_brief
from playhead_collector.analysis.scoring.answer import answer_scored_run
from playhead_collector.analysis.search.indexing import index_runs
from playhead_collector.analysis.texts.limits import begin_reading, with_cuts
from playhead_collector.handlers import handler_of
from playhead_collector.handlers.asking import Asking, RequestFacts
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.outcomes import read_moment
from playhead_collector.read.record import stored_record
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.search import SearchIndex


@dataclass(frozen=True, slots=True)
class AnalysisQuestion:
    """An analysis question about projected runs. `options` are JSON values by parameter name of the functions in
    `_QUESTIONS`; of a declared operation, whose key is the `name`, those of `_answer_operation`."""

    name: str
    project_id: int
    runs: tuple[str, ...]
    options: Mapping[str, Any]


async def answer(
    store: ReadStore, settings: AnalysisSettings, question: AnalysisQuestion, index: SearchIndex | None = None
) -> bytes:
    """Returns the answer as JSON. `index`: the search index, to which the question `index` writes.

    Raises Refused, StoreUnavailable, ContentMissing, ContentCorrupt.
    """
    if (operation := operations_by_key().get(question.name)) is not None:
        return await _answer_operation(store, settings, operation, question)
    begin_reading(settings.longest_text)
    records = [await stored_record(store, question.project_id, run) for run in question.runs]
    more: dict[str, Any] = {}
    if question.name == "index":
        more["index"] = index
    ask, encode = _QUESTIONS[question.name]
    value = await ask(*records, **question.options, **more)
    return await asyncio.to_thread(encode, value)  # the answer may be as large as the contexts


async def _answer_operation(
    store: ReadStore, settings: AnalysisSettings, operation: DeclaredOperation, question: AnalysisQuestion
) -> bytes:
    """Answers a declared operation. The options are its arguments (`values`), in which runs are ids, and the
    `cursor`."""
    facts = RequestFacts(cursor=question.options["cursor"], access=Access(project_id=question.project_id))
    asking = Asking(store=store, settings=settings, projector=None, request=facts)
    value = await handler_of(operation).answer(asking, question.options["values"])
    return await asyncio.to_thread(json_bytes, value)  # the answer may be as large as the contexts


def _plain(value: object) -> bytes:
    """Encodes an answer. Fragments of JSON in it are copied without parsing."""
    return json_bytes(with_cuts(value))


def _as_object(value: Any) -> bytes:
    return json.dumps(asdict(value)).encode("ascii")


_Ask = Callable[..., Awaitable[Any]]
_QUESTIONS: Mapping[str, tuple[_Ask, Callable[[Any], bytes]]] = MappingProxyType(
    {
        # The prompt for the model that explains reasoning; the process that serves sends it.
        "brief": (read_brief, _as_object),
        # The same for the model that judges a compression.
        "judging": (read_judging_brief, _as_object),
        # A run for a scorer, or its score by a rule; see `scoring`.
        "scored_run": (answer_scored_run, _plain),
        # What happened in a run that an older version projected; see `outcome_finder`.
        "happened": (read_moment, _plain),
        # No question: it puts sealed runs into the search index, with the limits that questions have.
        "index": (index_runs, _plain),
    }
)
NAMES = frozenset(_QUESTIONS)
