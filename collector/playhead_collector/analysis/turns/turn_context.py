"""[analysis]: what the model of a turn saw, and what was new in it since the agent's last call."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from playhead.model import event as ev
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.wire.operations.turns import NewInContext, NewMessage, SeenContext, ShownCall
from playhead_collector.analysis.turns.context_parts import (
    ContextChange,
    PartEstimates,
    context_change,
    is_complete,
    part_estimates,
)
from playhead_collector.analysis.turns.loading import RunPart
from playhead_collector.analysis.turns.outline import ModelCall, Outline
from playhead_collector.analysis.turns.requested import AskedCall
from playhead_collector.analysis.turns.rows import shown_call
from playhead_collector.errors import ContentMissing
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import state_at
from playhead_collector.read.token_estimates import CALIBRATED, ESTIMATED, REPORTED, Scale, read_scales
from playhead_collector.read.values import ContentCache, fetch, messages_of

MAX_MESSAGES = 100
# More messages than any model's context has today; of a longer thread only the beginning and the end are read.
_FIRST_MESSAGES, _LAST_MESSAGES = 64, 4_096
# Events that are searched for the agent's last call, and for the first call of the model that was counted.
_SEARCHED = 20_000


@dataclass(slots=True)
class TurnContext:
    """What a model call saw: the messages of its thread, and how they differ from the agent's last call.

    `since`: the agent's last call, and the number of its turn.  `cuts`: compressions since then.  `whole`: all
    messages of the thread were read.
    """

    thread: list[ContentRef]
    cache: ContentCache
    since: ModelCall | None
    messages: Sequence[Message | None] = ()
    cuts: list[ev.ContextCompressed] = field(default_factory=list[ev.ContextCompressed])
    change: ContextChange = field(default_factory=ContextChange)
    whole: bool = True

    def with_new(self) -> Iterator[tuple[Message | None, bool]]:
        """Yields the messages, each with whether it is new."""
        for place, message in enumerate(self.messages):
            yield message, place in self.change.added_at

    @property
    def is_complete(self) -> bool:
        """Whether the record has the whole context."""
        return is_complete(self.messages)


async def read_context(record: RunRecord, part: RunPart, model: ModelCall) -> TurnContext:
    """Reads the context of a model call, and that of the agent's call before it."""
    begin = model.begin
    since = _call_before(part.outline, model) or await _earlier_call(record, part.outline, model)
    thread, whole = await _thread(record, begin.thread)
    before, _ = await _thread(record, since.begin.thread) if since is not None else ([], True)
    first = since.begin.seq if since is not None else 0
    cuts = [cut for cut in part.outline.cuts if first < cut.seq < begin.seq and _is_of(cut, model)]
    answered = [output.message for output in since.outputs if output.message is not None] if since is not None else []
    summarised = {ref for cut in cuts for ref in cut.summarised}
    change = await asyncio.to_thread(context_change, before, answered, thread, summarised)
    shown = [*change.added[:MAX_MESSAGES], *change.dropped[:MAX_MESSAGES], *change.summarised[:MAX_MESSAGES]]
    refs = [*thread, *shown, begin.system, begin.tools, begin.input, begin.thread if not thread else None]
    cache = await fetch(record.store, record.project_id, [ref for ref in refs if ref is not begin.thread])
    if begin.thread is not None and not thread:
        cache.value(begin.thread)  # its messages have not arrived
    messages = await asyncio.to_thread(lambda: [cache.parsed_message(ref) for ref in thread])
    return TurnContext(thread, cache, since, messages, cuts, change, whole)


async def _thread(record: RunRecord, ref: ContentRef | None) -> tuple[list[ContentRef], bool]:
    """The messages of a thread, and whether these are all; none of one that is not stored."""
    try:
        messages = await messages_of(record.store, record.project_id, ref)
    except ContentMissing:
        return [], False
    if len(messages) <= _FIRST_MESSAGES + _LAST_MESSAGES:
        return messages, True
    return [*messages[:_FIRST_MESSAGES], *messages[-_LAST_MESSAGES:]], False


def _is_of(cut: ev.ContextCompressed, model: ModelCall) -> bool:
    return cut.span == model.begin.span or cut.actor == model.begin.actor


def _call_before(outline: Outline, model: ModelCall) -> ModelCall | None:
    """The last call of the same agent, if it is in this part of the run. A call that wrote a summary is none."""
    group = outline.group_above(model.begin)
    before = (
        other
        for other in reversed(outline.models)
        if other.begin.seq < model.begin.seq
        and other.begin.actor == model.begin.actor
        and other.begin.span not in outline.summarisers
        and outline.group_above(other.begin) == group
    )
    return next(before, None)


async def _earlier_call(record: RunRecord, outline: Outline, model: ModelCall) -> ModelCall | None:
    """The last call of the same agent before this part of the run."""
    first = outline.models[0].begin.seq if outline.models else model.begin.seq
    outputs: dict[str | None, list[ev.MessageAdded]] = {}
    if outline.turns_before == 0:
        return None
    async for block in record.backwards(first - 1):
        for event in reversed(block):
            if isinstance(event, ev.MessageAdded) and event.source == "output":
                outputs.setdefault(event.span, []).insert(0, event)
            elif (
                isinstance(event, ev.LlmCalled)
                and event.actor == model.begin.actor
                and event.parent == model.begin.parent
            ):
                number = (await state_at(record, event.seq)).llm_calls
                return ModelCall(event, number, outputs=outputs.get(event.span, []))
        if first - block[0].seq > _SEARCHED:
            return None
    return None


async def answer_seen(record: RunRecord, prices: Prices, model: ModelCall, context: TurnContext) -> SeenContext:
    """What the model saw: how much of what, against its limit."""
    begin, cache = model.begin, context.cache
    estimates = await asyncio.to_thread(
        lambda: part_estimates(
            context.with_new(), cache.parsed(begin.system), cache.parsed(begin.tools), cache.parsed(begin.input)
        )
    )
    usage = model.end.usage if isinstance(model.end, ev.LlmCompleted) else ev.TokenUsage()
    name = begin.model or (model.end.model if model.end is not None else None)
    factor = await _first_factor(record, name)
    scale = Scale() if usage.input_tokens is not None else (await read_scales(record, [name]))[name]
    whole = usage.input_tokens if usage.input_tokens is not None else scale.tokens(estimates.total)
    is_known = bool(estimates.total) and not cache.missing and context.whole
    basis = scale.basis if usage.input_tokens is None else CALIBRATED
    return {
        "messages": begin.messages if begin.messages is not None else len(context.thread),
        "tokens": whole if usage.input_tokens is not None or is_known else None,
        "basis": REPORTED if usage.input_tokens is not None else scale.basis,
        "limit": prices.limit_of(name),
        "parts": estimates.parts(whole, scale.factor if factor is None else factor) if estimates.total else [],
        "parts_basis": basis if is_known else ESTIMATED,
        "cached": usage.cache_read_tokens,
        "complete": context.is_complete,
    }


async def _first_factor(record: RunRecord, model: str | None) -> float | None:
    """The reported tokens of the first call of a model that was counted, divided by their estimate; None if none of
    the first calls was."""
    outline = Outline()
    async for block in record.onwards(0):
        outline.take(block)
        for call in outline.models:
            end = call.end
            name = call.begin.model or (end.model if end is not None else None)
            if name != model or not isinstance(end, ev.LlmCompleted) or not end.usage.input_tokens:
                continue
            estimates = await _estimates_of(record, call.begin)
            if estimates is not None and estimates.total:
                return end.usage.input_tokens / estimates.total
        outline.models = [call for call in outline.models if call.end is None]
        if outline.last_seq > _SEARCHED:
            break
    return None


async def _estimates_of(record: RunRecord, begin: ev.LlmCalled) -> PartEstimates | None:
    """Estimates of a context; None if a part of it is not stored."""
    thread, whole = await _thread(record, begin.thread)
    cache = await fetch(record.store, record.project_id, [*thread, begin.system, begin.tools, begin.input])
    messages = [(cache.parsed_message(ref), False) for ref in thread]
    others = (cache.parsed(begin.system), cache.parsed(begin.tools), cache.parsed(begin.input))
    estimates = await asyncio.to_thread(part_estimates, messages, *others)
    return estimates if whole and not cache.missing else None


# --- what is new -----------------------------------------------------------------------------------------------------


def answer_new(part: RunPart, model: ModelCall, context: TurnContext) -> NewInContext:
    """What was new in the context since the agent's last call.  Pure."""
    change, known = context.change, context.is_complete and context.whole
    seqs = {
        event.message: event for other in part.outline.models for event in other.added if event.seq < model.begin.seq
    }
    seqs |= {event.message: event for event in model.added}
    results = {
        request.call_id: request
        for requests in part.requests.values()
        for request in requests
        if request.call_id is not None and request.model.begin.seq < model.begin.seq
    }
    entries = _Entries(context.cache, seqs, results, part)
    dropped, summarised = (change.dropped, change.summarised) if known else ([], [])
    return {
        "since": context.since.number if context.since is not None else None,
        "added": [entries.added(ref) for ref in change.added[:MAX_MESSAGES]],
        "dropped": [entries.gone(ref) for ref in dropped[:MAX_MESSAGES]],
        "summarised": [entries.gone(ref) for ref in summarised[:MAX_MESSAGES]],
        "added_total": len(change.added),
        "dropped_total": len(dropped),
        "summarised_total": len(summarised),
        "compression": context.cuts[-1].seq if context.cuts else None,
    }


@dataclass(slots=True)
class _Entries:
    """Makes the entries of messages. `seqs`: the event that added a message; `results`: tool calls, by id."""

    cache: ContentCache
    seqs: Mapping[ContentRef | None, ev.MessageAdded]
    results: Mapping[str, AskedCall]
    part: RunPart

    def added(self, ref: ContentRef) -> NewMessage:
        return {**self.gone(ref), "value": self.cache.message(ref)}

    def gone(self, ref: ContentRef) -> NewMessage:
        message, event = self.cache.parsed_message(ref), self.seqs.get(ref)
        request = self._request(message)
        return {
            "seq": event.seq if event is not None else None,
            "role": message["role"] if message is not None else event.role if event is not None else "",
            "message": ref,
            "result_of": None if request is None else self._shown(request),
            "turn": None if request is None else request.model.number,
        }

    def _request(self, message: Message | None) -> AskedCall | None:
        for part in message["parts"] if message is not None else ():
            call_id = part.get("id")
            if part.get("type") == "tool_call_response" and isinstance(call_id, str) and call_id in self.results:
                return self.results[call_id]
        return None

    def _shown(self, request: AskedCall) -> ShownCall:
        definition = self.part.definitions.of(request.model.begin, request.name)
        shown = shown_call(request.made, request.name, request.arguments, definition)
        return {**shown, "call_id": request.call_id}
