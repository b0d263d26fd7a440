"""[analysis]: how do two runs differ: their common part, their first difference, their aligned calls, their outcomes.

The first difference is shown as lines: of texts, of messages, and of JSON values (one `path: value` per line).
"""

import asyncio
import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.message import Message, message_lines
from playhead.model.ref import ContentRef
from playhead.wire.operations import compare as c
from playhead_collector.analysis.compare.actions import one_line
from playhead_collector.analysis.compare.alignment import Facets, Pair, align
from playhead_collector.analysis.compare.comparable_calls import (
    CallMessages,
    ComparableCall,
    ComparableRun,
    Keys,
    differing,
    facets_of,
    read_argument_keys,
    read_call_messages,
    read_run,
)
from playhead_collector.analysis.compare.deeds import (
    Deed,
    Deeds,
    Sides,
    counted,
    last_difference,
    parting_sentence,
    read_deeds,
    result_sentence,
    until_then,
    words_sentence,
)
from playhead_collector.read.events import cut
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import elapsed_ms
from playhead_collector.read.values import ContentCache, fetch

SAME, SIMILAR, CHANGED, ONLY_A, ONLY_B = "same", "similar", "changed", "only_a", "only_b"
_LONGEST_ERROR = 120
_FIGURES = ("llm_calls", "tool_calls", "input_tokens", "output_tokens")


async def answer_compare(a: RunRecord, b: RunRecord, limit: int, after: int) -> c.Comparison:
    """Compares two runs. `items`: at most `limit` pairs of calls after the common part, from pair number `after` on."""
    run_a, run_b = await read_run(a), await read_run(b)
    shared = _shared_calls(run_a.calls, run_b.calls)
    rest = [*run_a.calls[shared:], *run_b.calls[shared:]]
    messages = await read_call_messages(a, rest)
    facets = [[facets_of(call, messages.keys) for call in run.calls[shared:]] for run in (run_a, run_b)]
    pairs = [(n, n) for n in range(shared)] + [
        (_shifted(i, shared), _shifted(j, shared)) for i, j in await asyncio.to_thread(align, *facets)
    ]
    comparison = RunComparison(run_a, run_b, shared, facets[0], facets[1], messages, pairs)
    comparison.argument_keys = await read_argument_keys(a, comparison.differing_arguments())
    places = comparison.places()
    first, acts = places.first, places.acts
    page = pairs[first + after : first + after + limit]
    end = after + len(page)
    deeds = await _read_deeds(comparison, [*page, *comparison.pairs_to_tell(places)])
    outcome = await _outcome(run_a, run_b, messages.keys)
    told = _Telling(comparison, deeds, places)
    return {
        "a": _run_answer(run_a),
        "b": _run_answer(run_b),
        "common": _common(run_a, run_b, pairs[:first]),
        "parts": await _first_difference(comparison, deeds, first, first) if first < len(pairs) else None,
        "acts": await _first_difference(comparison, deeds, first, acts) if acts is not None else None,
        "sentence": told.sentence(),
        "more": told.more(outcome),
        "counts": comparison.counts(),
        "outcome": outcome,
        "items": [comparison.pair(pair, deeds) for pair in page],
        "next_cursor": str(end) if first + end < len(pairs) else None,
    }


@dataclass(frozen=True, slots=True)
class _Places:
    """Numbers of pairs.  `first`: the first that differs (the number of all pairs, if none does); `acts`: the first at
    which the runs did different things; `result`: at which a tool returned something else; `words`: at which they said
    something else; `last`: the last tool call that both made with other arguments."""

    first: int
    acts: int | None
    result: int | None
    words: int | None
    last: int | None


class RunComparison:
    """Comparison of two runs, call by call. Pure."""

    def __init__(
        self,
        one: ComparableRun,
        other: ComparableRun,
        shared: int,
        ours: Sequence[Facets],
        theirs: Sequence[Facets],
        messages: CallMessages,
        pairs: Sequence[Pair],
    ) -> None:
        self.one, self.other, self.pairs, self.shared = one, other, pairs, shared
        self.argument_keys: Mapping[ContentRef, bytes] = {}
        """Of the refs that `differing_arguments` yields."""
        self._ours, self._theirs, self._messages = ours, theirs, messages

    def op(self, pair: Pair) -> str:
        """`same`, `similar`, `changed`, `only_a` or `only_b`."""
        i, j = pair
        if i is None or j is None:
            return ONLY_B if i is None else ONLY_A
        differs = self.differs(pair)
        return SAME if not differs else SIMILAR if self._is_similar(pair, differs) else CHANGED

    def differs(self, pair: Pair) -> list[str]:
        """Names of the facets that differ; [] for a call without a counterpart."""
        i, j = pair
        if i is None or j is None or i < self.shared:
            return []
        return differing(self._ours[i - self.shared], self._theirs[j - self.shared])

    def differing_arguments(self) -> Iterator[ContentRef]:
        """Refs of the arguments of tool calls that correspond and have other arguments."""
        for pair in self.pairs:
            if "arguments" in self.differs(pair):
                yield from (ref for call in self.calls(pair) if call and (ref := call.request_refs()["arguments"]))

    def acts_differ(self, pair: Pair) -> bool:
        """Whether the runs did different things: other tools, other arguments, or one of them failed."""
        ours, theirs = self.calls(pair)
        if ours is None or theirs is None:
            call = ours or theirs
            return call is not None and (call.kind != "llm" or bool(self._messages.called_by(call)))
        differs = self.differs(pair)
        if "status" in differs:
            return True
        if ours.kind == "llm":
            return bool(differs) and self._messages.called_by(ours) != self._messages.called_by(theirs)
        return "arguments" in differs and not self._has_like_arguments(ours, theirs)

    def _is_similar(self, pair: Pair, differs: Sequence[str]) -> bool:
        ours, theirs = self.calls(pair)
        if ours is None or theirs is None:
            return False
        if ours.kind == "llm":
            tools = self._messages.called_by(ours)
            same_tools = bool(tools) and tools == self._messages.called_by(theirs) and ours.result() == theirs.result()
            return not {"status", "error"} & {*differs} and (same_tools or "answer" not in differs)
        return differs == ["arguments"] and self._has_like_arguments(ours, theirs)

    def _has_like_arguments(self, ours: ComparableCall, theirs: ComparableCall) -> bool:
        a, b = (self._argument_key(call) for call in (ours, theirs))
        return a is not None and a == b

    def _argument_key(self, call: ComparableCall) -> bytes | None:
        ref = call.request_refs()["arguments"]
        return None if ref is None else self.argument_keys.get(ref)

    def calls(self, pair: Pair) -> tuple[ComparableCall | None, ComparableCall | None]:
        """The two calls of a pair; None for a missing one."""
        i, j = pair
        return None if i is None else self.one.calls[i], None if j is None else self.other.calls[j]

    def beside(self, number: int) -> Pair:
        """A pair that only one run has, with the call that the other run made in its place: of its calls without a
        counterpart there the first that acts, else the first; else its next call; None if it made no more."""
        side = 0 if self.pairs[number][0] is None else 1
        start = end = number
        while start > 0 and None in self.pairs[start - 1]:
            start -= 1
        while end < len(self.pairs) and None in self.pairs[end]:
            end += 1
        there = [pair for pair in self.pairs[start:end] if pair[side] is not None]
        rest = self.pairs[end : end + 1]  # both runs have a call in it
        chosen = next(iter((*filter(self.acts_differ, there), *there, *rest)), (None, None))
        own = self.pairs[number]
        return (chosen[0], own[1]) if side == 0 else (own[0], chosen[1])

    def has_other_result(self, pair: Pair) -> bool:
        """Whether a tool returned something else."""
        ours, _ = self.calls(pair)
        return ours is not None and ours.kind != "llm" and "result" in self.differs(pair)

    def places(self) -> _Places:
        """The pairs that the sentences speak of."""
        total, ops = len(self.pairs), [self.op(pair) for pair in self.pairs]
        first = next((n for n, op in enumerate(ops) if op != SAME), total)
        after = range(first, total)
        return _Places(
            first=first,
            acts=next((n for n in after if self.acts_differ(self.pairs[n])), None),
            result=next((n for n in after if self.has_other_result(self.pairs[n])), None),
            words=next((n for n in after if ops[n] not in (SAME, SIMILAR)), None),
            last=next((n for n in reversed(after) if self._returned_otherwise(self.pairs[n])), None),
        )

    def _returned_otherwise(self, pair: Pair) -> bool:
        ours, theirs = self.calls(pair)
        if ours is None or theirs is None or ours.kind != "tool":
            return False
        return ours.status == theirs.status == "completed" and self.acts_differ(pair)

    def pairs_to_tell(self, places: _Places) -> Iterator[Pair]:
        """Pairs of the calls that the sentences speak of."""
        for number in (places.first, places.acts, places.result, places.words, places.last):
            if number is not None and number < len(self.pairs):
                yield self.beside(number) if None in self.pairs[number] else self.pairs[number]

    def counts(self) -> c.PairCounts:
        """Number of pairs by `op`."""
        counts = Counter(map(self.op, self.pairs))
        return {
            "same": counts[SAME],
            "similar": counts[SIMILAR],
            "changed": counts[CHANGED],
            "only_a": counts[ONLY_A],
            "only_b": counts[ONLY_B],
        }

    def pair(self, pair: Pair, deeds: Deeds) -> c.CallPair:
        """Converts a pair to an answer."""
        ours, theirs = self.calls(pair)
        return {
            "op": self.op(pair),
            "a": ours and _call_answer(ours, deeds.of(ours, 0)),
            "b": theirs and _call_answer(theirs, deeds.of(theirs, 1)),
            "differs": self.differs(pair),
        }


class _Telling:
    """Says in words how two runs differ.  Pure."""

    def __init__(self, comparison: RunComparison, deeds: Deeds, places: _Places) -> None:
        self._comparison, self._deeds, self._places = comparison, deeds, places

    def sentence(self) -> str:
        """Where the runs part; if they did the same, that they did."""
        places, total = self._places, len(self._comparison.pairs)
        if places.acts is not None:
            return parting_sentence(self._sides(places.acts))
        if places.first == total:
            return f"Both did the same: {counted(total, 'call')}, all equal." if total else "Neither made a call."
        if places.result is not None:
            return result_sentence(self._sides(places.result))
        place = places.first if places.words is None else places.words
        return words_sentence(
            self._sides(place), has_same_answers=places.words is None, tool_calls=self._tool_calls(total)
        )

    def more(self, outcome: c.ComparedOutcome) -> list[str]:
        """What was equal until the runs parted, and what differs in the end."""
        acts, last = self._places.acts, self._places.last
        before = None
        if acts is not None:
            other_results = sum(map(self._comparison.has_other_result, self._comparison.pairs[:acts]))
            before = until_then(self._tool_calls(acts), other_results)
        end = _end_sentence(outcome)
        if end is None and last is not None:
            end = last_difference(self._sides(last), unless_in=self.sentence())
        if end is None and "answer" in outcome["differs"] and self._places.first < len(self._comparison.pairs):
            end = "In the end their answers differ."
        return [sentence for sentence in (before, end) if sentence is not None]

    def _sides(self, number: int) -> Sides:
        comparison, pair = self._comparison, self._comparison.pairs[number]
        only = {ONLY_A: "a", ONLY_B: "b"}.get(comparison.op(pair))
        if only is not None:
            pair = comparison.beside(number)
        ours, theirs = comparison.calls(pair)
        a, b = ours and self._deeds.of(ours, 0), theirs and self._deeds.of(theirs, 1)
        return Sides(a, b, None if a and b and a.uses and b.uses else only)

    def _tool_calls(self, before: int) -> int:
        """Number of the pairs of tool calls before this pair."""
        pairs = map(self._comparison.calls, self._comparison.pairs[:before])
        return sum(ours is not None and theirs is not None and ours.kind == "tool" for ours, theirs in pairs)


def _end_sentence(outcome: c.ComparedOutcome) -> str | None:
    """Says how the runs ended, if one of them failed and the other did not; else None."""
    status, error = outcome["status"], outcome["error"]
    if status["a"] == status["b"]:
        return None
    a, b = _ended(status["a"], error["a"]), _ended(status["b"], error["b"])
    return f"In the end A {a} and B {b}."


def _ended(status: str, error: str | None) -> str:
    if error is None:
        return status
    shown = cut(one_line(error), _LONGEST_ERROR).replace("`", "'")
    return f"{status} with `{shown}`"


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


async def _read_deeds(comparison: RunComparison, pairs: Sequence[Pair]) -> Deeds:
    calls = [comparison.calls(pair) for pair in pairs]
    sides = [[ours for ours, _ in calls], [theirs for _, theirs in calls]]
    return await read_deeds(comparison.one.record, (comparison.one, comparison.other), sides)


def _call_answer(call: ComparableCall, deed: Deed) -> c.ComparedCall:
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
        "turn": deed.turn,
        "did": deed.did,
        "shown": deed.shown,
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


async def _first_difference(comparison: RunComparison, deeds: Deeds, first: int, number: int) -> c.FirstDifference:
    """The pair with this number; `first`: number of the first pair after the common beginning."""
    pair = comparison.pairs[number]
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
    return {**comparison.pair(pair, deeds), "number": number - first, "changes": changes}


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
