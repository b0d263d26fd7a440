"""[analysis]: one turn: what its model saw, what was new, what it answered, what it called, and what followed."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import text_of
from playhead.model.json_value import JsonValue, is_object
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.state import CANCELLED
from playhead.model.times import rfc3339
from playhead.wire.operations.calls import CallError
from playhead.wire.operations.turns import (
    NewInContext,
    NewMessage,
    RunTurn,
    SeenContext,
    ShownCall,
    StateChange,
    TurnArgument,
    TurnCall,
    TurnThought,
)
from playhead.wire.operations.verdict import RunError
from playhead.wire.operations.why import Attribution
from playhead_collector.analysis.reasoning import TAG
from playhead_collector.analysis.reasoning.reasoning import thinking_text
from playhead_collector.analysis.reasoning.written_down import read_structured
from playhead_collector.analysis.transcript.arguments import scalars
from playhead_collector.analysis.transcript.shown_calls import call_line, in_order
from playhead_collector.analysis.turns.context_parts import (
    ContextChange,
    PartEstimates,
    context_change,
    is_complete,
    part_estimates,
)
from playhead_collector.analysis.turns.error_answers import error_answer, failed_spans, read_exceptions
from playhead_collector.analysis.turns.errors import error_chains
from playhead_collector.analysis.turns.loading import RunPart, read_outline, read_part
from playhead_collector.analysis.turns.outline import MadeCall, ModelCall, Outline, has_raised
from playhead_collector.analysis.turns.reasons import TurnReasons, read_reasons
from playhead_collector.analysis.turns.requested import AskedCall
from playhead_collector.analysis.turns.rows import Lines, begun_ns, run_output, shown_call
from playhead_collector.errors import ContentMissing
from playhead_collector.read.calls import CallEvents, llm_call
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at, state_at
from playhead_collector.read.token_estimates import CALIBRATED, ESTIMATED, REPORTED, Scale, read_scales
from playhead_collector.read.values import ContentCache, fetch, messages_of

MAX_MESSAGES, MAX_RESULT = 100, 20_000
_MAX_BESIDE, _MAX_CHANGES = 20, 100
# More messages than any model's context has today; of a longer thread only the beginning and the end are read.
_FIRST_MESSAGES, _LAST_MESSAGES = 64, 4_096
# Events that are searched for the agent's last call, and for the first call of the model that was counted.
_SEARCHED = 20_000


async def answer_turn(record: RunRecord, prices: Prices, number: int, *, why: bool) -> RunTurn:
    """Returns turn `number`. `why`: also the choice, origins of arguments, and what rested on it. Raises Refused."""
    seq = await seq_at(record, f"turn:{number}")
    part = await read_part(record, seq - 1, lambda outline: seq if outline.last_seq >= seq else None, lambda _: ())
    model = next(model for model in part.outline.models if model.begin.seq == seq)
    context = await _read_context(record, part, model)
    lines = Lines(part, prices, await begun_ns(record), await run_output(record))
    calls = part.requests.get(model, [])
    made = [request.made for request in calls if request.made is not None]
    last_seq = max([model.last_seq, *(tool.last_seq for tool in made)])
    reasons = await read_reasons(record, seq, number) if why else TurnReasons()
    errors = await _errors(record, [model, *made])
    contents = await fetch(record.store, record.project_id, _own_contents(model, made))
    row, call = lines.turn(model), llm_call(CallEvents(model.begin, model.end))
    turn: RunTurn = {
        "run": record.run,
        "number": number,
        "total": record.row.llm_calls,
        "seq": seq,
        "ended_seq": row["ended_seq"],
        "last_seq": last_seq,
        "event": model.begin.id,
        "group": row["group"],
        "agent": row["agent"],
        "model": row["model"],
        "provider": model.begin.provider,
        "status": row["status"],
        "time": rfc3339(model.begin.time_ns),
        "elapsed_ms": row["elapsed_ms"],
        "model_ms": row["model_ms"],
        "first_chunk_ms": row["first_chunk_ms"],
        "stream": model.begin.stream,
        "finish_reasons": call["finish_reasons"],
        "usage": call["usage"],
        "cost": row["cost"],
        "saw": await _saw(record, prices, model, context),
        "new": _new(part, model, context),
        "thoughts": [*_thoughts(part, model, contents), *([reasons.thought] if reasons.thought is not None else [])],
        "choice": reasons.choice,
        "answer": _answer(model, part.cache, contents),
        "answer_ref": _answer_ref(model),
        "to": row["to"],
        "calls": [_call(part, lines, request, contents, errors, reasons.attributions) for request in calls],
        "error": errors.get(seq),
        "then": reasons.then,
        "state": await _state_changes(record, part.outline, model, last_seq),
        "missing": list(dict.fromkeys([*context.cache.missing, *contents.missing])),
    }
    return turn


# --- the context -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _TurnContext:
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


async def _read_context(record: RunRecord, part: RunPart, model: ModelCall) -> _TurnContext:
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
    return _TurnContext(thread, cache, since, messages, cuts, change, whole)


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


async def _saw(record: RunRecord, prices: Prices, model: ModelCall, context: _TurnContext) -> SeenContext:
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


def _new(part: RunPart, model: ModelCall, context: _TurnContext) -> NewInContext:
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


# --- what it answered and called -------------------------------------------------------------------------------------


def _own_contents(model: ModelCall, made: Iterable[MadeCall]) -> Iterator[ContentRef | None]:
    yield from (output.message for output in model.outputs)
    if isinstance(model.end, ev.LlmCompleted):
        yield model.end.reasoning
        yield None if model.outputs else model.end.output
    yield from (tool.end.result for tool in made if isinstance(tool.end, ev.ToolCompleted))


def _answer_ref(model: ModelCall) -> str | None:
    if model.outputs:
        return model.outputs[0].message
    return model.end.output if isinstance(model.end, ev.LlmCompleted) else None


def _answer(model: ModelCall, cache: ContentCache, contents: ContentCache) -> dict[str, Any] | None:
    """The message that a model call answered; of several, one message with the parts of all."""
    messages = [contents.parsed_message(output.message) for output in model.outputs if output.message is not None]
    known = [message for message in messages if message is not None]
    if known:
        return {**known[0], "parts": [part for message in known for part in message["parts"]]}
    end = model.end
    value: JsonValue = contents.parsed(end.output) if isinstance(end, ev.LlmCompleted) and not model.outputs else None
    if value is None:
        return None
    return {"role": "assistant", "parts": [{"type": "text", "content": text_of(value)}]}


def _thoughts(part: RunPart, model: ModelCall, contents: ContentCache) -> Iterator[TurnThought]:
    """Yields reasoning that the provider returned, and what the model wrote in its form."""
    ref = model.end.reasoning if isinstance(model.end, ev.LlmCompleted) else None
    captured = thinking_text(contents.parsed(ref))
    if captured:
        yield {"basis": "captured", "text": captured, "strength": None, "rule": None}
    for output in model.outputs:
        message = part.message(output.message)
        for each in message["parts"] if message is not None else ():
            text = each.get("content")
            if each.get("type") == "text" and isinstance(text, str):
                for block in read_structured(text, TAG):
                    yield {
                        "basis": "structured", "text": text[block.start : block.end], "strength": None, "rule": None
                    }  # fmt: skip


def _call(
    part: RunPart,
    lines: Lines,
    request: AskedCall,
    contents: ContentCache,
    errors: Mapping[int, RunError],
    attributions: Mapping[int, Attribution],
) -> TurnCall:
    made = request.made
    end = made.end if made is not None else None
    why = attributions.get(made.begin.seq) if made is not None else None
    ref = end.result if isinstance(end, ev.ToolCompleted) else None
    value: JsonValue = contents.parsed(ref)
    text = None if value is None else text_of(value)
    error: CallError | None = None
    if isinstance(end, ev.ToolFailed) and end.outcome != CANCELLED:
        error = {"type": end.error_type, "message": end.message}
    return {
        **lines.asked_call(request),
        "arguments": list(_arguments(part, request, why)),
        "result": ref,
        "result_text": None if text is None else text[:MAX_RESULT],
        "result_length": None if text is None else len(text),
        "missing": ref is not None and ref in contents.missing,
        "error": error,
        "raised": errors.get(made.begin.seq) if made is not None else None,
        "kind": why["kind"] if why is not None else None,
        "reason": why["reason"] if why is not None else None,
        "strength": why["strength"] if why is not None else None,
        "rule": why["rule"] if why is not None else None,
        "promise": _promise(part, lines, made),
        "beside": [] if made is None else _beside(part, made),
    }


def _arguments(part: RunPart, request: AskedCall, why: Attribution | None) -> Iterator[TurnArgument]:
    definition = part.definitions.of(request.model.begin, request.name)
    arguments = in_order(request.arguments, {} if definition is None else definition.schema)
    origins = {value["path"]: value for value in why["values"]} if why is not None else {}
    if is_object(arguments) and not arguments:
        return
    for path, value in scalars(arguments):
        yield {"path": path, "value": value, "origin": origins.get(path)}


def _promise(part: RunPart, lines: Lines, made: MadeCall | None) -> str | None:
    """What a tool call waited for: a promise that was opened in it."""
    span = made.begin.span if made is not None else None
    waits = (wait for wait in part.outline.waits if span is not None and wait.begin.span == span)
    return next((promise for wait in waits if (promise := lines.wait(wait)["promise"]) is not None), None)


def _beside(part: RunPart, made: MadeCall) -> list[str]:
    """Calls of other agents that were under way when a tool call ended, in one line each."""
    ended = made.end.seq if made.end is not None else part.outline.last_seq
    group = part.outline.group_above(made.begin)
    found = [
        _line_of(part, call)
        for call in (*part.outline.models, *part.outline.tools)
        if call.begin.seq < ended
        and (call.end is None or call.end.seq > ended)
        and part.outline.group_above(call.begin) != group
    ]
    return found[:_MAX_BESIDE]


def _line_of(part: RunPart, call: ModelCall | MadeCall) -> str:
    if isinstance(call, ModelCall):
        line = call.begin.model or ""
    else:
        shown = shown_call(call, call.begin.name, part.cache.parsed(call.begin.arguments), None)
        line = call_line(shown["name"], shown["shown"])
    return f"{call.begin.actor}: {line}" if call.begin.actor else line


async def _errors(record: RunRecord, calls: Sequence[ModelCall | MadeCall]) -> dict[int, RunError]:
    """The errors of these calls, by the seq of their start. The whole run is read only if there are some."""
    failed = {call.begin.seq for call in calls if has_raised(call.end)}
    if not failed:
        return {}
    outline = await read_outline(record)
    recorded = await read_exceptions(record, failed_spans(outline))
    answers: dict[int, RunError] = {}
    for chain in error_chains(outline, recorded):
        for seq in failed & {call.begin.seq for call in chain.calls}:
            answers[seq] = await error_answer(record, outline, recorded, chain)
    return answers


# --- state -----------------------------------------------------------------------------------------------------------


async def _state_changes(record: RunRecord, outline: Outline, model: ModelCall, last_seq: int) -> list[StateChange]:
    """The fields of the state that the turn changed: from the start of its model call to its last event."""
    changes: dict[str, ContentRef | None] = {}
    group = outline.group_above(model.begin)
    async for block in record.onwards(model.begin.seq):
        for event in block:
            if event.seq <= last_seq and isinstance(event, ev.StateChanged) and outline.group_of(event.span) == group:
                changes[event.key] = event.value
        if block[-1].seq >= last_seq:
            break
    if not changes:
        return []
    before = (await state_at(record, model.begin.seq)).user_state
    cache = await fetch(record.store, record.project_id, [*changes.values(), *(before.get(key) for key in changes)])
    found = (
        change
        for key, ref in changes.items()
        for change in state_changes(key, cache.parsed(before.get(key)), cache.parsed(ref))
    )
    return [change for change, _ in zip(found, range(_MAX_CHANGES), strict=False)]


def state_changes(path: str, before: JsonValue, after: JsonValue) -> Iterator[StateChange]:
    """Yields what differs between two values: of objects by their fields.  Pure."""
    if is_object(before) and is_object(after):
        for key in dict.fromkeys([*before, *after]):
            yield from state_changes(f"{path}.{key}", before.get(key), after.get(key))
    elif before != after:
        yield {"path": path, "before": before, "after": after}
