"""[analysis]: puts sealed runs into the search index: the decisions of each, and the contents whose text is searched.

A run's record has only what the run itself recorded, not the events that a fork shares with its parent.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import text_of
from playhead.model.ref import ContentRef
from playhead_collector.analysis.decisions import ANSWER, APPROVAL, BRANCH, HANDOFF, STOP, decisions
from playhead_collector.analysis.provenance.attribution import ToolAttribution, attributions
from playhead_collector.analysis.provenance.attributions import is_suspect
from playhead_collector.analysis.search.records import (
    EMPTY,
    ERROR,
    FIRST,
    OK,
    SHOWN_LENGTH,
    SearchedDecision,
    SearchedValue,
    SearchRecord,
    encode,
    result_of,
)
from playhead_collector.analysis.search.settings import AS_THEY_ARE, SearchSettings
from playhead_collector.analysis.search.terms import terms_of
from playhead_collector.analysis.search.text_terms import text_terms
from playhead_collector.analysis.search.texts import SearchableText, searchable
from playhead_collector.analysis.search.words import NO_LEXEMES, Lexemes, words_of
from playhead_collector.analysis.transcript.arguments import scalars
from playhead_collector.analysis.transcript.loading import read_transcript
from playhead_collector.analysis.transcript.transcript import ToolRequest, ToolRun, Transcript
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch
from playhead_collector.store.ports.search import IndexedRun, SearchedText, SearchIndex

# Contents that are read at a time.
_CONTENTS_AT_ONCE = 500


async def index_runs(
    *records: RunRecord, index: SearchIndex, attribute: bool, language: str, characters: int
) -> dict[str, Any]:
    """Puts these runs into the index. Returns the ids of those that were indexed, since they are still sealed.

    `attribute`: see `searched_decisions`; `language`, `characters`: see `SearchSettings`. Raises StoreUnavailable, and
    the errors of damaged contents.
    """
    settings = SearchSettings(language, characters)
    return {"indexed": [record.run for record in records if await _index(record, index, settings, attribute=attribute)]}


async def _index(record: RunRecord, index: SearchIndex, settings: SearchSettings, *, attribute: bool) -> bool:
    transcript = await read_transcript(record)
    searched = await asyncio.to_thread(searched_decisions, transcript, attribute=attribute)
    seen = searched_refs(transcript)
    texts: dict[ContentRef, SearchableText] = {}
    refs = list(seen)
    for start in range(0, len(refs), _CONTENTS_AT_ONCE):
        cache = await fetch(record.store, record.project_id, refs[start : start + _CONTENTS_AT_ONCE])
        texts |= await asyncio.to_thread(
            _searchable_texts, refs[start : start + _CONTENTS_AT_ONCE], cache, settings.characters
        )
    distinct = dict(without_repeats(refs, texts.get))
    lexemes = await read_lexemes(index, settings.language, distinct.values())
    found_by = await asyncio.to_thread(lambda: [_searched_text(ref, text, lexemes) for ref, text in distinct.items()])
    run = indexed_run(
        record.run,
        record.row.started_ns,
        SearchRecord(record.row.status, searched),
        {ref: seen[ref] for ref in distinct},
    )
    return await index.index_run(record.project_id, run, found_by)


def indexed_run(run: str, started_ns: int, record: SearchRecord, seen: Mapping[ContentRef, int]) -> IndexedRun:
    """Converts a record to the store's form. `seen`: the searched contents, with the seq at which each entered the run.
    Pure."""
    returned = {
        decision.seq: decision.result == ERROR for decision in record.decisions if decision.result in (OK, EMPTY, ERROR)
    }
    return IndexedRun(run, started_ns, sorted(terms_of(record)), seen, encode(record, started_ns), returned)


async def read_lexemes(index: SearchIndex, language: str, texts: Iterable[SearchableText]) -> Lexemes:
    """Returns the lexemes of all words of these texts."""
    if language == AS_THEY_ARE:
        return NO_LEXEMES
    forms = await asyncio.to_thread(lambda: {word.form for text in texts for word in words_of(text.text)})
    return await index.lexemes(language, forms)


def _searched_text(ref: ContentRef, text: SearchableText, lexemes: Lexemes) -> SearchedText:
    return SearchedText(ref, text.role, text_terms(text.text, lexemes))


def _searchable_texts(refs: Sequence[ContentRef], cache: ContentCache, most: int) -> dict[ContentRef, SearchableText]:
    candidates = ((ref, searchable(ref, cache, most)) for ref in refs)
    return {ref: text for ref, text in candidates if text is not None}


# --- what the index has of a run, pure -------------------------------------------------------------------------------

# Searched values per tool call: calls with more have data that a model copied, not choices.
MAX_VALUES = 100
# Contents that entered or left the run. Not those that name other contents (threads, requests) or repeat them.
_SEARCHED_REFS: Mapping[type[ev.Event], Sequence[str]] = {
    ev.RunStarted: ("input",),
    ev.RunCompleted: ("output",),
    ev.MessageAdded: ("message",),
    ev.LlmCalled: ("system",),
    ev.LlmCompleted: ("reasoning", "output"),
    ev.ToolCalled: ("arguments",),
    ev.ToolCompleted: ("result",),
    ev.StepStarted: ("input",),
    ev.StepCompleted: ("output",),
    ev.AgentHandoff: ("reason",),
    ev.PlanCreated: ("plan",),
    ev.OrchestrationDecision: ("annotation",),
    ev.UserInterrupted: ("reason",),
    ev.ApprovalRequested: ("arguments",),
    ev.ApprovalGranted: ("reason",),
    ev.ApprovalDenied: ("reason",),
    ev.InputRequested: ("prompt",),
    ev.InputReceived: ("value",),
    ev.ContextCompressed: ("summary",),
    ev.StateChanged: ("value",),
    ev.EventLogged: ("value",),
}
_OTHER_KINDS = (ANSWER, APPROVAL, BRANCH, HANDOFF, STOP)


def searched_decisions(transcript: Transcript, *, attribute: bool) -> list[SearchedDecision]:
    """Returns the decisions of the run's own events, in order. `attribute`: also why tools were called and where their
    arguments are from, which takes most of the time."""
    tools = [tool for tool in transcript.tools if _is_own(transcript, tool.begin)]
    by_seq = {entry.tool.begin.seq: entry for entry in attributions(transcript, tools)} if attribute else {}
    after = _results_before(transcript)
    searched = [_tool_call(transcript, tool, by_seq.get(tool.begin.seq), after[tool.begin.seq]) for tool in tools]
    for turn in transcript.turns:
        if turn.end is not None and _is_own(transcript, turn.end):
            seq = turn.end.seq
            searched += [_tool_request(transcript, entry, seq) for entry in turn.requests if entry.tool_run is None]
    searched += _other_decisions(transcript)
    return sorted(searched, key=lambda entry: entry.seq)


def searched_refs(transcript: Transcript) -> dict[ContentRef, int]:
    """Returns the contents of the run's own events whose text may be searched, each with the seq with which it entered.
    Messages come first, so that `without_repeats` drops other contents with the same text."""
    refs: dict[ContentRef, int] = {}
    own_events = [event for event in transcript.events if _is_own(transcript, event)]
    for event in sorted(own_events, key=lambda candidate: not isinstance(candidate, ev.MessageAdded)):
        for name in _SEARCHED_REFS.get(type(event), ()):
            ref = getattr(event, name)
            if ref is not None:
                refs.setdefault(ref.plain, event.seq)
    return refs


def without_repeats(
    refs: Iterable[ContentRef], read: Callable[[ContentRef], SearchableText | None]
) -> Iterator[tuple[ContentRef, SearchableText]]:
    """Yields the contents that have a text, except those whose parts all occur in earlier ones."""
    seen_texts = set[str]()
    for ref in refs:
        searched = read(ref)
        if searched is not None and not seen_texts.issuperset(searched.whole):
            seen_texts.update(searched.whole)
            yield ref, searched


def _is_own(transcript: Transcript, event: ev.RunEvent) -> bool:
    """Whether the run itself recorded the event. False for events that a fork shares with its parent."""
    return event.run == transcript.run


def _tool_call(
    transcript: Transcript, tool: ToolRun, attribution: ToolAttribution | None, after: str
) -> SearchedDecision:
    return SearchedDecision(
        seq=tool.begin.seq,
        kind="tool_call",
        time_ns=tool.begin.time_ns,
        agent=tool.begin.actor,
        tool=tool.begin.name,
        attribution=attribution.kind if attribution else None,
        result=result_of(tool, transcript.cache),
        after=after,
        values=_searched_values(tool.arguments, attribution),
    )


def _tool_request(transcript: Transcript, request: ToolRequest, seq: int) -> SearchedDecision:
    event = transcript.event(seq)
    values = _searched_values(request.arguments, None)
    return SearchedDecision(seq, "tool_request", event.time_ns, event.actor, tool=request.name, values=values)


def _searched_values(arguments: Any, attribution: ToolAttribution | None) -> list[SearchedValue]:
    origins = {origin.path: origin for origin in attribution.origins} if attribution else {}
    values: list[SearchedValue] = []
    for path, value in scalars(arguments):
        if len(values) == MAX_VALUES:
            break
        origin = origins.get(path)
        source, suspect = (origin.source, is_suspect(origin)) if origin else (None, False)
        values.append(SearchedValue.of(path, text_of(value), source, suspect=suspect))
    return values


def _results_before(transcript: Transcript) -> dict[int, str]:
    """For the seq of each tool call: the result of this agent's tool call that had ended last before, or `first`."""
    begun = {tool.begin.seq: tool for tool in transcript.tools}
    ended = {tool.end.seq: tool for tool in transcript.tools if tool.end is not None}
    latest: dict[str | None, str] = {}
    before: dict[int, str] = {}
    for seq in sorted(begun.keys() | ended.keys()):
        if (tool := ended.get(seq)) is not None:
            latest[tool.begin.actor] = result_of(tool, transcript.cache)
        if (tool := begun.get(seq)) is not None:
            before[seq] = latest.get(tool.begin.actor, FIRST)
    return before


def _other_decisions(transcript: Transcript) -> Iterator[SearchedDecision]:
    """Decisions that are not about a tool."""
    for decision, _ in decisions(transcript):
        event = transcript.event(decision["seq"])
        if decision["kind"] in _OTHER_KINDS and _is_own(transcript, event):
            chosen = _chosen_text(decision["kind"], decision["chosen"])
            yield SearchedDecision(event.seq, decision["kind"], event.time_ns, event.actor, chosen=chosen)


def _chosen_text(kind: str, chosen: Any) -> str | None:
    match kind:
        case "handoff":
            text = str(chosen["to"])
        case "stop":
            text = str(chosen["outcome"])
        case "approval":
            text = "approved" if chosen["approved"] else "denied"
        case "branch":
            text = text_of(chosen)
        case _:
            return None  # an answer's text is searched as content
    return text[:SHOWN_LENGTH]
