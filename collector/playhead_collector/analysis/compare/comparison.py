"""[analysis]: how do two runs differ: their common part, their first difference, their aligned calls, their outcomes.

The first difference is shown as lines: of texts, of messages, and of JSON values (one `path: value` per line).
"""

import asyncio
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.message import Message, message_lines
from playhead.model.ref import ContentRef
from playhead.wire.operations import compare as c
from playhead_collector.analysis.compare.alignment import Facets, Pair, align
from playhead_collector.analysis.compare.comparable_calls import (
    ComparableCall,
    ComparableRun,
    Keys,
    differing,
    facets_of,
    read_keys,
    read_run,
)
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import elapsed_ms
from playhead_collector.read.values import ContentCache, fetch

SAME, CHANGED, ONLY_A, ONLY_B = "same", "changed", "only_a", "only_b"
_FIGURES = ("llm_calls", "tool_calls", "input_tokens", "output_tokens")


async def answer_compare(a: RunRecord, b: RunRecord, limit: int, after: int) -> c.Comparison:
    """Compares two runs. `items`: at most `limit` pairs of calls after the common part, from pair number `after` on."""
    run_a, run_b = await read_run(a), await read_run(b)
    shared = _shared_calls(run_a.calls, run_b.calls)
    rest = [*run_a.calls[shared:], *run_b.calls[shared:]]
    keys = await read_keys(a, rest)
    facets = [[facets_of(call, keys) for call in run.calls[shared:]] for run in (run_a, run_b)]
    pairs = [(n, n) for n in range(shared)] + [
        (_shifted(i, shared), _shifted(j, shared)) for i, j in await asyncio.to_thread(align, *facets)
    ]
    comparison = RunComparison(run_a, run_b, shared, facets[0], facets[1])
    ops = [comparison.op(pair) for pair in pairs]
    first = next((n for n, op in enumerate(ops) if op != SAME), len(pairs))
    page = pairs[first + after : first + after + limit]
    end = after + len(page)
    return {
        "a": _run_answer(run_a),
        "b": _run_answer(run_b),
        "common": _common(run_a, run_b, pairs[:first]),
        "parts": await _first_difference(comparison, pairs[first]) if first < len(pairs) else None,
        "counts": cast(c.PairCounts, {op: Counter(ops)[op] for op in (SAME, CHANGED, ONLY_A, ONLY_B)}),
        "outcome": await _outcome(run_a, run_b, keys),
        "items": [comparison.pair(pair) for pair in page],
        "next_cursor": str(end) if first + end < len(pairs) else None,
    }


class RunComparison:
    """Comparison of two runs, call by call. Pure."""

    def __init__(
        self, one: ComparableRun, other: ComparableRun, shared: int, ours: Sequence[Facets], theirs: Sequence[Facets]
    ) -> None:
        self.one, self.other = one, other
        self._shared, self._ours, self._theirs = shared, ours, theirs

    def op(self, pair: Pair) -> str:
        """`same`, `changed`, `only_a` or `only_b`."""
        i, j = pair
        if i is None or j is None:
            return ONLY_B if i is None else ONLY_A
        return CHANGED if self.differs(pair) else SAME

    def differs(self, pair: Pair) -> list[str]:
        """Names of the facets that differ; [] for a call without a counterpart."""
        i, j = pair
        if i is None or j is None or i < self._shared:
            return []
        return differing(self._ours[i - self._shared], self._theirs[j - self._shared])

    def calls(self, pair: Pair) -> tuple[ComparableCall | None, ComparableCall | None]:
        """The two calls of a pair; None for a missing one."""
        i, j = pair
        return None if i is None else self.one.calls[i], None if j is None else self.other.calls[j]

    def pair(self, pair: Pair) -> c.CallPair:
        """Converts a pair to an answer."""
        ours, theirs = self.calls(pair)
        return {
            "op": self.op(pair),
            "a": ours and _call_answer(ours),
            "b": theirs and _call_answer(theirs),
            "differs": self.differs(pair),
        }


def _shared_calls(ours: Sequence[ComparableCall], theirs: Sequence[ComparableCall]) -> int:
    """Number of leading calls whose events, ends included, are the same events in both runs."""
    count = 0
    for left, right in zip(ours, theirs, strict=False):
        ends = (left.end and left.end.id, right.end and right.end.id)
        if left.begin.id != right.begin.id or ends[0] != ends[1] or left.status != right.status:
            break
        count += 1
    return count


def _shifted(position: int | None, by: int) -> int | None:
    return None if position is None else position + by


# --- parts of the answer ---------------------------------------------------------------------------------------------


def _run_answer(run: ComparableRun) -> c.ComparedRun:
    row = run.record.row
    return {
        "run": row.run,
        "name": row.name,
        "fork_of": row.fork_of,
        "fork_at": row.fork_at,
        "events": row.events,
        "calls": len(run.calls),
    }


def _call_answer(call: ComparableCall) -> c.ComparedCall:
    begin = call.begin
    refs: dict[str, Any] = {name: ref for name, ref in call.request_refs().items() if ref is not None}
    if isinstance(begin, ev.LlmCalled):
        refs |= {"thread": begin.thread, "messages": call.new, "answer": call.outputs}
    refs["result"] = call.result()
    return {
        "seq": begin.seq,
        "ended_seq": call.end.seq if call.end else None,
        "event": begin.id,
        "kind": call.kind,
        "name": call.name,
        "actor": begin.actor,
        "status": call.status,
        "refs": {name: ref for name, ref in refs.items() if ref},
    }


def _common(run_a: ComparableRun, run_b: ComparableRun, pairs: Sequence[Pair]) -> c.CommonPart:
    i, j = pairs[-1] if pairs else (None, None)
    return {
        "calls": len(pairs),
        "a": 0 if i is None else _last_seq(run_a.calls[i]),
        "b": 0 if j is None else _last_seq(run_b.calls[j]),
        "shared": _shared_events(run_a.parts, run_b.parts),
    }


def _last_seq(call: ComparableCall) -> int:
    return call.end.seq if call.end else call.begin.seq


def _shared_events(ours: Sequence[tuple[str, int]], theirs: Sequence[tuple[str, int]]) -> int:
    """Number of events that both runs share because one is a fork."""
    shared = 0
    for (run, upto), (other, other_upto) in zip(ours, theirs, strict=False):
        if run != other:
            break
        shared = min(upto, other_upto)
        if upto != other_upto:
            break
    return shared


async def _first_difference(comparison: RunComparison, pair: Pair) -> c.FirstDifference:
    ours, theirs = comparison.calls(pair)
    differs = comparison.differs(pair)
    sides = [_differing_refs(call, differs) for call in (ours, theirs)]
    record = comparison.one.record
    cache = await fetch(
        record.store, record.project_id, [ref for side in sides for refs in side.values() for ref in refs]
    )
    changes: list[c.ChangedText] = []
    for name in differs if ours and theirs else dict.fromkeys(name for side in sides for name in side):
        texts = [
            _facet_lines(call, name, side.get(name, ()), cache)
            for call, side in zip((ours, theirs), sides, strict=True)
        ]
        if lines := unified(*texts):
            changes.append({"what": name, "lines": lines})
    return {**comparison.pair(pair), "changes": changes}


def _differing_refs(call: ComparableCall | None, differs: Sequence[str]) -> dict[str, Sequence[ContentRef]]:
    """Refs of the facets that differ, by name; of all facets for a call without a counterpart."""
    if call is None:
        return {}
    refs_by_name: dict[str, Sequence[ContentRef]] = {
        name: [ref] for name, ref in call.request_refs().items() if ref is not None
    }
    result = call.result()
    results = [] if result is None else [result]
    if isinstance(call.begin, ev.LlmCalled):
        refs_by_name |= {"messages": call.new, "answer": [*call.outputs, *results]}
    else:
        refs_by_name["result"] = results
    return {name: refs for name, refs in refs_by_name.items() if name in differs} if differs else refs_by_name


def _facet_lines(call: ComparableCall | None, name: str, refs: Sequence[ContentRef], cache: ContentCache) -> list[str]:
    match name:
        case _ if call is None:
            return []
        case "status":
            return [call.status]
        case "model":
            return [call.name or ""]
        case "error":
            return [": ".join(call.error)] if call.error else []
        case _:
            return [line for ref in refs for line in lines_of(ref, cache)]


async def _outcome(run_a: ComparableRun, run_b: ComparableRun, keys: Keys) -> c.ComparedOutcome:
    runs = (run_a, run_b)
    rows = [run.record.row for run in runs]
    answers = [run.answer() for run in runs]
    cache = await fetch(run_a.record.store, run_a.record.project_id, answers)
    figures: dict[str, c.Both] = {name: _both(*(getattr(row, name) for row in rows)) for name in _FIGURES}
    figures["status"] = _both(*(row.status for row in rows))
    figures["error"] = _both(*(_run_error(run) for run in runs))
    told_apart = [None if ref is None else keys.get(ref) or ref for ref in answers]
    differs = [name for name in ("status", "error") if figures[name]["a"] != figures[name]["b"]]
    differs += ["answer"] if told_apart[0] != told_apart[1] else []
    differs += [name for name in _FIGURES if figures[name]["a"] != figures[name]["b"]]
    figures["answer"] = _both(*answers)
    figures["answers"] = _both(*(cache.parsed_message(ref) or cache.parsed(ref) for ref in answers))
    figures["elapsed_ms"] = _both(*(elapsed_ms(row.started_ns, row.ended_ns) for row in rows))
    return cast(c.ComparedOutcome, {**figures, "differs": differs})


def _run_error(run: ComparableRun) -> str | None:
    ended = run.ended
    return f"{ended.error_type}: {ended.message}" if isinstance(ended, ev.RunFailed) else None


def _both(a: Any, b: Any) -> c.Both:
    return {"a": a, "b": b}


# --- differences as lines, pure --------------------------------------------------------------------------------------

# Lines and characters that are shown; and lines given to difflib, whose time grows with their square.
_MAX_SHOWN, _WIDEST = 40, 300
_MAX_COMPARED = 1_000


def lines_of(ref: ContentRef, cache: ContentCache) -> list[str]:
    """Returns a content as lines: a message as role and text, JSON as one `path: value` per line."""
    message = cache.parsed_message(ref)
    if message is not None:
        return _lines_of_message(message)
    value = cache.parsed(ref)
    if value is None:
        return [f"({ref} is not stored, or not to be read)"]
    return value.splitlines() if isinstance(value, str) else list(_lines_of_json("", value))


def unified(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Returns the removed lines with `-` and the added ones with `+`; an empty list when there are none."""
    compared = (list(before[:_MAX_COMPARED]), list(after[:_MAX_COMPARED]))
    lines = [
        line[:_WIDEST]
        for line in difflib.unified_diff(*compared, lineterm="", n=0)
        if not line.startswith(("--- ", "+++ ", "@@ "))
    ]
    more = len(lines) - _MAX_SHOWN
    visible = lines[:_MAX_SHOWN] + ([f"... and {more} more lines"] if more > 0 else [])
    uncompared = max(len(before), len(after)) - _MAX_COMPARED
    return visible + ([f"... and {uncompared} lines that were not compared"] if uncompared > 0 else [])


def _lines_of_message(message: Message) -> list[str]:
    lines = [line for text in message_lines(message) for line in text.splitlines() or [""]] or [""]
    return [f"{message['role']}: {lines[0]}", *lines[1:]]


def _lines_of_json(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in cast(dict[str, Any], value).items():
            yield from _lines_of_json(f"{path}.{key}" if path else key, item)
    elif isinstance(value, list) and value:
        for index, item in enumerate(cast(list[Any], value)):
            yield from _lines_of_json(f"{path}[{index}]", item)
    else:
        text = canonical_json(value).decode("utf-8", "replace")
        yield f"{path}: {text}" if path else text
