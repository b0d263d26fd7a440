"""[analysis]: what calls of two runs did, in one line each; and sentences: where they part, what differs in the end.

`read_deeds` reads what the lines show; the rest is pure.  In sentences, names and recorded values stand between
backticks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from playhead.model import event as ev
from playhead.model.json_value import JsonValue
from playhead.model.ref import ContentRef
from playhead.wire.operations.compare import Did
from playhead_collector.analysis.compare.actions import (
    answer_text,
    differing_values,
    one_line,
    requested_calls,
    shown_text,
)
from playhead_collector.analysis.compare.comparable_calls import ComparableCall, ComparableRun
from playhead_collector.analysis.transcript.arguments import ToolDefinition, definitions_of
from playhead_collector.analysis.transcript.shown_calls import call_line, shown_arguments
from playhead_collector.read.events import cut
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch

_LONGEST_ERROR = 120


@dataclass(frozen=True, slots=True)
class ComparedTool:
    """A tool with its arguments, and the call in one line."""

    name: str
    arguments: JsonValue
    shown: str


@dataclass(frozen=True, slots=True)
class Deed:
    """What a call did.  `uses`: of a model the tools that it called, of a tool the call itself."""

    did: Did
    shown: str
    uses: Sequence[ComparedTool]
    turn: int | None
    seq: int
    error: str | None = None


class Deeds:
    """What calls did; see `read_deeds`."""

    def __init__(self, cache: ContentCache, runs: Sequence[ComparableRun]) -> None:
        self._cache = cache
        self._definitions: dict[ContentRef, Mapping[str, ToolDefinition]] = {}
        self._tools = [_tools_by_turn(run) for run in runs]

    def of(self, call: ComparableCall, side: int) -> Deed:
        """What the call of a run did; `side`: 0 for the first run, 1 for the other."""
        tools = self._tools[side].get(call.turn or 0)
        if isinstance(call.begin, ev.LlmCalled):
            return self._of_model(call, tools)
        arguments = self._cache.parsed(call.request_refs()["arguments"])
        use = self._use(call.name or call.kind, arguments, tools)
        did: Did = "open" if call.end is None else "failed" if call.error else "returned"
        return Deed(did, use.shown, [use], call.turn, call.begin.seq, _error_line(call))

    def _of_model(self, call: ComparableCall, tools: ContentRef | None) -> Deed:
        messages = [message for ref in call.outputs if (message := self._cache.parsed_message(ref)) is not None]
        uses = [
            self._use(each.name, each.arguments, tools) for message in messages for each in requested_calls(message)
        ]
        said = shown_text("\n".join(answer_text(message) for message in messages))
        did: Did = "open" if call.end is None else "failed" if call.error else "called" if uses else "answered"
        error = _error_line(call)
        shown = shown_text("; ".join(use.shown for use in uses)) or said or error or ""
        return Deed(did, shown, uses, call.turn, call.begin.seq, error)

    def _use(self, name: str, arguments: JsonValue, tools: ContentRef | None) -> ComparedTool:
        definition = self._definitions_in(tools).get(name)
        return ComparedTool(name, arguments, call_line(name, shown_arguments(arguments, definition)))

    def _definitions_in(self, tools: ContentRef | None) -> Mapping[str, ToolDefinition]:
        if tools is None:
            return {}
        if tools not in self._definitions:
            self._definitions[tools] = definitions_of(self._cache.parsed(tools))
        return self._definitions[tools]


async def read_deeds(
    record: RunRecord, runs: Sequence[ComparableRun], calls: Sequence[Iterable[ComparableCall | None]]
) -> Deeds:
    """Reads what these calls of two runs (`runs`, `calls` of each) did."""
    refs: list[ContentRef | None] = []
    for run, of_run in zip(runs, calls, strict=True):
        tools = _tools_by_turn(run)
        for call in of_run:
            if call is not None:
                refs += (tools.get(call.turn or 0), call.request_refs().get("arguments"), *call.outputs)
    return Deeds(await fetch(record.store, record.project_id, dict.fromkeys(refs)), runs)


def _tools_by_turn(run: ComparableRun) -> dict[int, ContentRef]:
    calls = (call for call in run.calls if isinstance(call.begin, ev.LlmCalled))
    return {
        call.turn: call.begin.tools
        for call in calls
        if call.turn is not None and isinstance(call.begin, ev.LlmCalled) and call.begin.tools is not None
    }


def _error_line(call: ComparableCall) -> str | None:
    return None if call.error is None else cut(one_line(": ".join(filter(None, call.error))), _LONGEST_ERROR)


# --- sentences, pure -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sides:
    """What both runs did at a place.  None: a run did nothing more.  `only` is the run (`a` or `b`) that has a call
    there which the other lacks; the other's deed is then its next one."""

    a: Deed | None
    b: Deed | None
    only: str | None = None


def parting_sentence(sides: Sides) -> str:
    """Says where two runs part, and what each of them did there."""
    where, a, b = _where(sides), sides.a, sides.b
    if a is not None and b is not None and a.uses and b.uses:
        return f"They part {where}: {_both_used(a, b)}."
    goes_on = sides.only or ("a" if a is not None and a.uses else "b" if b is not None and b.uses else None)
    if goes_on == "a":
        return f"They part {where}: A went on to {_infinitive(a)}, B {_past(b)}."
    if goes_on == "b":
        return f"They part {where}: B went on to {_infinitive(b)}, A {_past(a)}."
    return f"They part {where}: A {_past(a)}, B {_past(b)}."


def _both_used(a: Deed, b: Deed) -> str:
    same = _same_tool(a, b)
    if same is None:
        return f"A {_past(a)}, B {_past(b)}"
    if (differing := _differing_arguments(*same)) is not None:
        return f"both called {_code(same[0].name)}, with other arguments: {differing}"
    if a.did != b.did:
        return f"{_code(same[0].shown)} {_past_result(a)} in A, {_past_result(b)} in B"
    return f"A {_past(a)}, B {_past(b)}"


def result_sentence(sides: Sides) -> str:
    """Says that a tool returned something else to both runs."""
    deed = sides.a or sides.b
    shown = _code(deed.shown) if deed else "a call"
    return f"They made the same tool calls; {shown} returned something else {_where(sides)}."


def words_sentence(sides: Sides, *, has_same_answers: bool, tool_calls: int) -> str:
    """Says whether runs that called the same tools answered with the same words."""
    same = f"Both made {_the_same(tool_calls)}" if tool_calls else "Neither called a tool"
    if has_same_answers:
        return f"{same}, and their answers are equal; what the models got differs {_where(sides)}."
    return f"{same}; their answers differ from {_where(sides).removeprefix('at ')} on."


def until_then(tool_calls: int, other_results: int) -> str | None:
    """Says what both did before they parted; None if they called no tools."""
    if tool_calls == 0:
        return None
    made = f"Until then both made {_the_same(tool_calls)}"
    if other_results == 0:
        return f"{made} and got the same {'result' if tool_calls == 1 else 'results'}."
    return f"{made}; {counted(other_results, 'result')} differed."


def last_difference(sides: Sides, unless_in: str) -> str | None:
    """Says how the last tool call that both made differs; None if it does not, or if `unless_in` says so already."""
    same = None if sides.a is None or sides.b is None else _same_tool(sides.a, sides.b)
    differing = None if same is None else _differing_arguments(*same)
    if same is None or differing is None or differing in unless_in:
        return None
    return f"In the end they differ in {_code(same[0].name)}: {differing}."


def counted(number: int, noun: str) -> str:
    """`1 tool call`, `2 tool calls`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _the_same(tool_calls: int) -> str:
    return "the same tool call" if tool_calls == 1 else f"the same {counted(tool_calls, 'tool call')}"


def _where(sides: Sides) -> str:
    deeds = [("A", sides.a), ("B", sides.b)]
    present = [(name, deed) for name, deed in deeds if deed is not None]
    if sides.only is not None and any(deed.turn is None for _, deed in present):
        present = [(name, deed) for name, deed in present if name.lower() == sides.only]
    turns = {deed.turn for _, deed in present}
    if len(turns) == 1 and (turn := next(iter(turns))) is not None:
        return f"at turn {turn}"
    if None in turns or not turns:
        return "at " + " and ".join(f"event {deed.seq} of {name}" for name, deed in present)
    return "at " + " and ".join(f"turn {deed.turn} of {name}" for name, deed in present)


def _same_tool(a: Deed, b: Deed) -> tuple[ComparedTool, ComparedTool] | None:
    """The first tools that differ, if both deeds used the same tools; else the first ones; None for other tools."""
    if not a.uses or [use.name for use in a.uses] != [use.name for use in b.uses]:
        return None
    pairs = list(zip(a.uses, b.uses, strict=True))
    return next((pair for pair in pairs if differing_values(pair[0].arguments, pair[1].arguments)), pairs[0])


def _differing_arguments(ours: ComparedTool, theirs: ComparedTool) -> str | None:
    differing = differing_values(ours.arguments, theirs.arguments)
    if not differing:
        return None
    path, a, b = differing[0]
    named = f"{_code(path)} is " if path else ""
    more = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
    return f"{named}{_code(a)} in A, {_code(b)} in B{more}"


def _infinitive(deed: Deed | None) -> str:
    if deed is None:
        return "end"
    return f"call {_calls(deed)}" if deed.uses else "answer"


def _past(deed: Deed | None) -> str:
    if deed is None:
        return "made no more calls"
    if deed.did == "failed" and not deed.uses:
        return f"failed: {_code(deed.error or 'error')}"
    if deed.did == "open" and not deed.uses:
        return "has not answered yet"
    return f"called {_calls(deed)}" if deed.uses else "answered the user"


def _past_result(deed: Deed) -> str:
    if deed.did == "failed":
        return f"failed with {_code(deed.error or 'an error')}"
    return "has not returned yet" if deed.did == "open" else "returned"


def _calls(deed: Deed) -> str:
    more = f" and {counted(len(deed.uses) - 1, 'more tool')}" if len(deed.uses) > 1 else ""
    return f"{_code(deed.uses[0].shown)}{more}"


def _code(text: str) -> str:
    """A recorded text between backticks; those in it become apostrophes."""
    return f"`{text.replace('`', chr(39))}`"
