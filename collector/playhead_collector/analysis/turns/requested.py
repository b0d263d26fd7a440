"""[analysis]: which turn asked for a tool call?  Pure.

A tool call belongs to the answer that names its id; else to the latest one that asked for this tool with these
arguments; else, if only the name is the same, to the last answer before it of the same caller.  The same caller goes
before others: the call has the same call around it, or the same agent.  Each request is taken once.  An answer more
than `REACH` events before the tool call did not ask for it, so that a part of a run gives what the whole run gives.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from playhead.model.canonical import canonical_json
from playhead.model.json_value import JsonValue, is_object
from playhead.model.message import Message
from playhead_collector.analysis.turns.outline import MadeCall, ModelCall

REACH = 1_024
"""How many events may lie between an answer and a tool call that it asked for."""


@dataclass(slots=True, eq=False)
class AskedCall:
    """A tool call that an answer asks for. `made`: the call, None if it was not made. `seq`: of the answer's event."""

    model: ModelCall
    seq: int
    name: str
    call_id: str | None
    arguments: JsonValue
    made: MadeCall | None = None
    key: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.key = canonical_json([self.name, _parsed(self.arguments)])


def requests_in(model: ModelCall, messages: Mapping[int, Message | None]) -> Iterator[AskedCall]:
    """Yields the tool calls that a model call's answer asks for. `messages`: its output messages, by seq."""
    for output in model.outputs:
        message = messages.get(output.seq)
        for part in message["parts"] if message is not None else ():
            if part.get("type") == "tool_call":
                call_id, name = part.get("id"), str(part.get("name") or "")
                yield AskedCall(
                    model, output.seq, name, call_id if isinstance(call_id, str) else None, part.get("arguments")
                )


def assign(requests: Sequence[AskedCall], tools: Iterable[tuple[MadeCall, JsonValue]]) -> list[MadeCall]:
    """Sets `made` of the requests, from the tool calls with their arguments, in seq order. Returns the tool calls that
    no answer asked for."""
    by_id: dict[str, list[AskedCall]] = {}
    by_key: dict[bytes, list[AskedCall]] = {}
    by_caller: dict[_Caller, list[AskedCall]] = {}
    for request in sorted(requests, key=_seq_of):
        if request.call_id is not None:
            by_id.setdefault(request.call_id, []).append(request)
        by_key.setdefault(request.key, []).append(request)
        by_caller.setdefault(_caller(request.model), []).append(request)
    unasked: list[MadeCall] = []
    for tool, arguments in tools:
        begin = tool.begin
        key = canonical_json([begin.name, _parsed(arguments)])
        last = _last_answer(tool, by_caller.get(_caller(tool), ()))
        request = (
            _best(tool, by_id.get(begin.call_id or "", ()))
            or _best(tool, by_key.get(key, ()))
            or _best(tool, [request for request in last if request.name == begin.name])
        )
        if request is None:
            unasked.append(tool)
        else:
            request.made = tool
    return unasked


_Caller: TypeAlias = tuple[str | None, str | None]


def _caller(call: MadeCall | ModelCall) -> _Caller:
    """The call around a call, and its agent."""
    return call.begin.parent, call.begin.actor


def _seq_of(request: AskedCall) -> int:
    return request.seq


def _best(tool: MadeCall, candidates: Sequence[AskedCall]) -> AskedCall | None:
    """The latest open request within reach, of the same caller if there is one; of one answer the first. `candidates`:
    in seq order. Only those within reach are looked at: a run may ask for the same thing thousands of times."""
    first = bisect_left(candidates, tool.begin.seq - REACH, key=_seq_of)
    upto = bisect_left(candidates, tool.begin.seq, key=_seq_of)
    open_ones = (request for request in candidates[first:upto] if request.made is None)
    return max(open_ones, key=lambda request: (_closeness(tool, request.model), request.seq), default=None)


def _last_answer(tool: MadeCall, requests: Sequence[AskedCall]) -> Sequence[AskedCall]:
    """The requests of the last answer before the tool call. `requests`: of its caller, in seq order."""
    upto = first = bisect_left(requests, tool.begin.seq, key=_seq_of)
    while first > 0 and requests[first - 1].model is requests[upto - 1].model:
        first -= 1
    return requests[first:upto]


def _closeness(tool: MadeCall, model: ModelCall) -> int:
    begin, called = tool.begin, model.begin
    return 2 * (begin.parent is not None and begin.parent == called.parent) + (begin.actor == called.actor)


def _parsed(arguments: JsonValue) -> JsonValue:
    return {} if arguments is None or (is_object(arguments) and not arguments) else arguments
