"""[analysis]: one turn: what its model saw, what was new, what it answered, what it called, and what followed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import text_of
from playhead.model.json_value import JsonValue, is_object
from playhead.model.ref import ContentRef
from playhead.model.state import CANCELLED
from playhead.model.times import rfc3339
from playhead.wire.operations.calls import CallError
from playhead.wire.operations.turns import RunTurn, TurnArgument, TurnCall, TurnThought
from playhead.wire.operations.verdict import RunError
from playhead.wire.operations.why import Attribution
from playhead_collector.analysis.reasoning import TAG
from playhead_collector.analysis.reasoning.reasoning import thinking_text
from playhead_collector.analysis.reasoning.written_down import read_structured
from playhead_collector.analysis.transcript.arguments import scalars
from playhead_collector.analysis.transcript.shown_calls import call_line, in_order
from playhead_collector.analysis.turns.error_answers import error_answer, failed_spans, read_exceptions
from playhead_collector.analysis.turns.errors import error_chains
from playhead_collector.analysis.turns.loading import RunPart, read_outline, read_part
from playhead_collector.analysis.turns.outline import MadeCall, ModelCall, has_raised
from playhead_collector.analysis.turns.reasons import TurnReasons, read_reasons
from playhead_collector.analysis.turns.requested import AskedCall
from playhead_collector.analysis.turns.rows import Lines, begun_ns, run_output, shown_call
from playhead_collector.analysis.turns.turn_context import answer_new, answer_seen, read_context
from playhead_collector.analysis.turns.turn_state import read_state_changes
from playhead_collector.read.calls import CallEvents, llm_call
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import ContentCache, fetch

MAX_RESULT = 20_000
_MAX_BESIDE = 20


async def answer_turn(record: RunRecord, prices: Prices, number: int, *, why: bool) -> RunTurn:
    """Returns turn `number`. `why`: also the choice, origins of arguments, and what rested on it. Raises Refused."""
    seq = await seq_at(record, f"turn:{number}")
    part = await read_part(record, seq - 1, lambda outline: seq if outline.last_seq >= seq else None, lambda _: ())
    model = next(model for model in part.outline.models if model.begin.seq == seq)
    context = await read_context(record, part, model)
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
        "saw": await answer_seen(record, prices, model, context),
        "new": answer_new(part, model, context),
        "thoughts": [*_thoughts(part, model, contents), *([reasons.thought] if reasons.thought is not None else [])],
        "choice": reasons.choice,
        "answer": _answer(model, part.cache, contents),
        "answer_ref": _answer_ref(model),
        "to": row["to"],
        "calls": [_call(part, lines, request, contents, errors, reasons.attributions) for request in calls],
        "error": errors.get(seq),
        "then": reasons.then,
        "state": await read_state_changes(record, part.outline, model, last_seq),
        "missing": list(dict.fromkeys([*context.cache.missing, *contents.missing])),
    }
    return turn


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
