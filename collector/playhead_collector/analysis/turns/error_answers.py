"""[analysis]: reads what spans recorded of the errors of a run; an error as an answer, with the turn that led to it."""

from collections.abc import Iterable, Iterator, Sequence

from playhead.model import names
from playhead.model.json_value import object_of
from playhead.model.ref import ContentRef, is_ref
from playhead.wire.operations.verdict import RunError
from playhead_collector.analysis.transcript.shown_calls import call_line, shown_arguments
from playhead_collector.analysis.turns.errors import ErrorAnswers, ErrorChain, FailedCall, Recorded, exception_in
from playhead_collector.analysis.turns.loading import Definitions
from playhead_collector.analysis.turns.outline import MadeCall, ModelCall, Outline, has_raised
from playhead_collector.analysis.turns.requested import REACH, assign, requests_in
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch

# Answers of the same agent that may have asked for a tool that raised.
_LAST_ANSWERS = 16


def failed_spans(outline: Outline) -> Iterator[str]:
    """Yields the spans that may have recorded an exception of the run."""
    calls = (*outline.models, *outline.tools, *outline.steps)
    yield from (call.begin.span for call in calls if has_raised(call.end) and call.begin.span is not None)
    if outline.run_end is not None and outline.run_end.span is not None:
        yield outline.run_end.span


async def read_exceptions(record: RunRecord, spans: Iterable[str]) -> Recorded:
    """Returns the exceptions that these spans recorded, by span."""
    wanted = set(spans)
    read = await record.store.spans.read(record.project_id, record.run)
    found = {span.span_id: span for span in read if span.span_id in wanted}
    refs = {name: span.attributes.get(names.ERROR_REF) for name, span in found.items()}
    named = {name: ContentRef(ref) for name, ref in refs.items() if isinstance(ref, str) and is_ref(ref)}
    cache = await fetch(record.store, record.project_id, named.values())
    exceptions = {name: exception_in(span, object_of(cache.parsed(named.get(name)))) for name, span in found.items()}
    return {name: exception for name, exception in exceptions.items() if exception is not None}


async def error_answer(record: RunRecord, outline: Outline, recorded: Recorded, chain: ErrorChain) -> RunError:
    """Returns the answer about an error, with the turn that led to it."""
    inner = chain.innermost
    asking = _may_have_asked(outline, inner) if isinstance(inner, MadeCall) else []
    refs = [output.message for model in asking for output in model.outputs]
    refs += [model.begin.tools for model in asking]
    refs += [inner.begin.arguments] if isinstance(inner, MadeCall) else []
    cache = await fetch(record.store, record.project_id, refs)
    asked_by = _asked_by(inner, asking, cache) if isinstance(inner, MadeCall) else None
    definitions = Definitions(cache)

    def turn_of(call: FailedCall) -> int | None:
        model = asked_by if call is inner and asked_by is not None else turn_around(outline, call)
        return None if model is None else model.number

    def line_of(call: FailedCall) -> str:
        if not isinstance(call, MadeCall):
            return call.begin.model or "" if isinstance(call, ModelCall) else call.begin.name
        definition = None if asked_by is None else definitions.of(asked_by.begin, call.begin.name)
        return call_line(call.begin.name, shown_arguments(cache.parsed(call.begin.arguments), definition))

    return ErrorAnswers(outline, recorded, turn_of, line_of).answer(chain)


def _may_have_asked(outline: Outline, tool: MadeCall) -> list[ModelCall]:
    near = (model for model in outline.models if tool.begin.seq - REACH <= model.begin.seq < tool.begin.seq)
    group = outline.group_above(tool.begin)
    return [model for model in near if outline.group_above(model.begin) == group][-_LAST_ANSWERS:]


def _asked_by(tool: MadeCall, models: Sequence[ModelCall], cache: ContentCache) -> ModelCall | None:
    requests = [
        request
        for model in models
        for request in requests_in(model, {out.seq: cache.parsed_message(out.message) for out in model.outputs})
    ]
    assign(requests, [(tool, cache.parsed(tool.begin.arguments))])
    return next((request.model for request in requests if request.made is tool), None)


def turn_around(outline: Outline, call: FailedCall) -> ModelCall | None:
    """The turn that a call belongs to: its own, else the last one of its group that began before it ended."""
    if isinstance(call, ModelCall):
        return call
    ended = call.end.seq if call.end is not None else outline.last_seq
    return last_turn_before(outline, outline.group_of(call.begin.span), ended)


def last_turn_before(outline: Outline, group: str | None, seq: int) -> ModelCall | None:
    """The last turn of a group that began before seq; None without one."""
    before = (model for model in reversed(outline.models) if model.begin.seq < seq)
    return next((model for model in before if outline.group_above(model.begin) == group), None)
