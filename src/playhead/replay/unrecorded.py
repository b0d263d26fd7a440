"""Finds tool calls that a model asked for and whose execution the record does not have.

The model's answer is given again when the run goes on, and the program executes those tools again: they are not
observed, so nothing answers them.  It is told before anything runs.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from playhead.api.calls.requested_tools import is_contained_in
from playhead.errors import UnrecordedTools
from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json, value_of
from playhead.model.message import read_message
from playhead.model.objects.plain_forms import safe_repr
from playhead.model.ref import ContentRef
from playhead.replay.matching.nesting import FOREVER, Nesting
from playhead.replay.matching.recorded_calls import Outcome, RecordedCall
from playhead.replay.policy import Unrecorded
from playhead.replay.record import Record
from playhead.replay.starting import order_of

log = logging.getLogger("playhead")

_MAX_SHOWN = 20
_MAX_SHOWN_ARGUMENTS = 120
_OPTIONS = (
    "Record them next time (@observe(kind='tool') on the functions, or playhead.instrument()). To go on with this run "
    "all the same, and execute them again: unrecorded='rerun' (playhead resume --unrecorded rerun)"
)


@dataclass(frozen=True, slots=True)
class AskedTool:
    """A tool call in a model's answer.  `at`: the order of the model's call."""

    at: int
    name: str
    call_id: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        said = safe_repr(self.arguments)
        return f"{self.name}({said if len(said) <= _MAX_SHOWN_ARGUMENTS else f'{said[:_MAX_SHOWN_ARGUMENTS]}...'})"


def stop_before_unrecorded(
    record: Record,
    calls: Sequence[RecordedCall],
    unrecorded: Unrecorded,
    *,
    upto: int = FOREVER,
    again: Collection[str] = (),
) -> None:
    """Raises UnrecordedTools if going on with this record executes tools again that it has no execution of; with
    `unrecorded="rerun"`, warns of them.  `upto`, `again`: see `unrecorded_tools`."""
    tools = unrecorded_tools(record, calls, upto, again)
    if not tools:
        return
    sentence = unrecorded_sentence(tools)
    if unrecorded != "rerun":
        raise UnrecordedTools(f"{sentence}\n{_OPTIONS}")
    log.warning("%s", sentence)


def unrecorded_tools(
    record: Record, calls: Sequence[RecordedCall], upto: int = FOREVER, again: Collection[str] = ()
) -> list[AskedTool]:
    """Tools that models asked for before the call with the order `upto`, and that were executed outside the record.

    A tool was executed if a later call of a model has its result.  One that the last answer of a model asks for may
    not have begun: it counts where the same tool was executed outside the record before.  What was asked for inside a
    call that is answered as a whole is not asked for again; `again` are span ids of those that are executed.
    """
    answerable = [call for call in calls if call.can_answer and call.span.span_id not in again]
    models = [call for call in Nesting(calls, upto).outermost(answerable) if call.kind == "llm" and call.order < upto]
    models = [call for call in models if call.outcome is Outcome.COMPLETED]
    executed = _Executions(record, calls)
    missing = [asked for call in models for asked in _asked_tools(record, call) if not executed.has(asked)]
    if not missing:
        return []
    answered = _answered_ids(record, calls, {asked.call_id for asked in missing})
    outside = {asked.name for asked in missing if asked.call_id in answered}
    last = set({call.flow: call.order for call in models}.values())
    return [asked for asked in missing if asked.call_id in answered or (asked.name in outside and asked.at in last)]


def unrecorded_sentence(tools: Sequence[AskedTool]) -> str:
    """What a person has to know before these are executed again."""
    by_call: dict[int, list[AskedTool]] = {}
    for asked in tools[:_MAX_SHOWN]:
        by_call.setdefault(asked.at, []).append(asked)
    lines = [f"  at recorded call {at}: {', '.join(map(str, asked))}" for at, asked in by_call.items()]
    more = len(tools) - _MAX_SHOWN
    count = f"{len(tools)} tool call{'' if len(tools) == 1 else 's'}"
    were = "was" if len(tools) == 1 else "were"
    return "\n".join(
        [
            f"{count} that a model asked for {were} executed outside the record, and will be executed again:",
            *lines,
            *([f"  and {more} more"] if more > 0 else []),
        ]
    )


class _Executions:
    """What the record has of tools, by the ways in which a model's request is found among them."""

    def __init__(self, record: Record, calls: Sequence[RecordedCall]):
        self._record = record
        tools = [call for call in calls if call.can_answer and call.kind not in ("llm", "embedding")]
        self._ids = {str(call.span.attributes.get(names.TOOL_CALL_ID)) for call in tools}
        self._names = {name for call in tools for name in _names_of(call)}
        for span in record.elsewhere:  # of other processes
            if span.attributes.get(names.KIND) == "tool":
                self._ids.add(str(span.attributes.get(names.TOOL_CALL_ID)))
                self._names.add(str(span.attributes.get(names.TOOL_NAME)))
        self._tools = tools
        self._handoffs = [
            (order_of(entry), _letters(str(entry.attributes.get(names.HANDOFF_TO))))
            for entry in record.logs
            if entry.name == names.HANDOFF and entry.attributes.get(names.HANDOFF_TO)
        ]
        self._arguments: dict[str, Any] = {}
        around = {call.span.span_id: call for call in calls}
        for call in tools:  # a step that only wraps recorded calls executes nothing by itself
            above = around.get(call.span.parent_id or "")
            while above is not None and not above.can_answer:
                self._names.update(_names_of(above) if above.kind == "step" else ())
                above = around.get(above.span.parent_id or "")

    def has(self, asked: AskedTool) -> bool:
        """Whether the tool is one whose calls are recorded, or this call of it is."""
        if asked.name in self._names or asked.call_id in self._ids:
            return True
        later = [call for call in self._tools if call.order > asked.at]
        if any(_is_execution(asked, self._arguments_of(call)) for call in later):
            return True
        commands = (call for call in later if call.span.attributes.get(names.TOOL_TYPE) == names.COMMAND)
        if any(_is_in_command(asked, self._arguments_of(call)) for call in commands):
            return True
        # A handoff is executed by the framework, and recorded as one.
        said = _letters(f"{asked.name} {list(_values_in(asked.arguments))}")
        return any(order > asked.at and to in said for order, to in self._handoffs)

    def _arguments_of(self, call: RecordedCall) -> Any:
        ref = call.arguments
        if ref is None:
            return None
        if ref not in self._arguments:
            content = self._record.content(ContentRef(ref))
            self._arguments[ref] = None if content is None else value_of(content)
        return self._arguments[ref]


def _names_of(call: RecordedCall) -> Iterable[str]:
    """A method `Shop.refund` is `refund` to a model."""
    told = str(call.span.attributes.get(names.TOOL_NAME, call.name))
    return told, told.rpartition(".")[2], call.name, call.name.rpartition(".")[2]


def _is_execution(asked: AskedTool, arguments: Any) -> bool:
    """Whether a recorded call with these arguments is the tool under another name, or a function that is given which
    tool to execute: the call's id, or its name and arguments."""
    if asked.arguments and is_contained_in(asked.arguments, arguments):
        return True
    values = list(_values_in(arguments))
    if asked.call_id and asked.call_id in values:
        return True
    return asked.name in values and any(_says_the_same(asked.arguments, value) for value in values)


def _is_in_command(asked: AskedTool, arguments: Any) -> bool:
    """Whether a command that was recorded is, or holds, a text that the tool was asked with."""
    command = cast("dict[str, Any]", arguments).get("command") if isinstance(arguments, dict) else None
    said = " ".join(map(str, cast("list[Any]", command))) if isinstance(command, list) else str(command)
    words = [value for value in _values_in(asked.arguments) if isinstance(value, str) and value.strip()]
    return any(" ".join(word.split()) in " ".join(said.split()) for word in words)


def _letters(text: str) -> str:
    """Frameworks make names of tools out of names of agents: without what they replace in them."""
    return "".join(filter(str.isalnum, text)).lower()


def _says_the_same(arguments: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return False
    return isinstance(value, dict) and canonical_json(value) == canonical_json(arguments)


def _values_in(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, dict):
            waiting += cast("dict[str, Any]", item).values()
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)


def _asked_tools(record: Record, call: RecordedCall) -> Iterator[AskedTool]:
    for part in _parts(record, call.ref(names.OUTPUT_MESSAGES_REF)):
        if part.get("type") == "tool_call" and isinstance(part.get("name"), str):
            given = part.get("arguments")
            arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
            yield AskedTool(call.order, str(part["name"]), str(part.get("id") or ""), arguments)


def _answered_ids(record: Record, calls: Sequence[RecordedCall], ids: set[str]) -> set[str]:
    """Those of the ids whose results later calls of models have among their messages."""
    found: set[str] = set()
    seen: set[ContentRef] = set()
    for call in reversed(calls):  # the last call of a conversation has most of it
        thread = call.ref(names.INPUT_MESSAGES_REF) if call.kind == "llm" else None
        if thread is None or found == ids:
            continue
        for part in _parts(record, thread, seen):
            if part.get("type") == "tool_call_response":
                found |= ids.intersection({str(part.get("id") or "")})
    return found


def _parts(
    record: Record, thread: ContentRef | None, seen: set[ContentRef] | None = None
) -> Iterator[Mapping[str, Any]]:
    refs = record.messages(thread) if thread is not None else None
    for ref in refs or ():
        if seen is not None:
            if ref in seen:
                continue
            seen.add(ref)
        content = record.content(ref)
        if content is None:
            continue
        try:
            message = read_message(content.data)
        except ValueError:
            continue
        yield from cast("list[Mapping[str, Any]]", message["parts"])
