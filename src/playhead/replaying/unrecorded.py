"""Finds tool calls that a model asked for and whose execution the record does not have.

When the run continues, the model's recorded answer is returned again, and the program executes those tools again: they
are not observed, so they have no recorded answer. This is reported before anything runs.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from playhead.calls.requested_tools import is_contained_in
from playhead.errors import UnrecordedTools
from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json, value_of
from playhead.model.json_value import object_of, value_at
from playhead.model.message import read_message
from playhead.model.objects.plain_forms import safe_repr
from playhead.model.ref import ContentRef
from playhead.replaying.enclosing import FOREVER, CallNesting
from playhead.replaying.policy import Unrecorded
from playhead.replaying.record import Record
from playhead.replaying.recorded_calls import Outcome, RecordedCall
from playhead.replaying.starting import order_of

log = logging.getLogger("playhead")

_MAX_SHOWN = 20
_MAX_SHOWN_ARGUMENTS = 120
_OPTIONS = (
    "Record them next time (@observe(kind='tool') on the functions, or playhead.instrument()). To go on with this run "
    "all the same, and execute them again: unrecorded='rerun' (playhead resume --unrecorded rerun)"
)


@dataclass(frozen=True, slots=True)
class AskedTool:
    """A tool call in a model's answer. `at`: order number of the model call."""

    at: int
    name: str
    call_id: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        text = safe_repr(self.arguments)
        return f"{self.name}({text if len(text) <= _MAX_SHOWN_ARGUMENTS else f'{text[:_MAX_SHOWN_ARGUMENTS]}...'})"


def stop_before_unrecorded(
    record: Record,
    calls: Sequence[RecordedCall],
    unrecorded: Unrecorded,
    *,
    upto: int = FOREVER,
    again: Collection[str] = (),
) -> None:
    """Raises UnrecordedTools if continuing from this record executes tools again whose execution it does not have; with
    `unrecorded="rerun"`, only logs a warning. `upto`, `again`: see `unrecorded_tools`."""
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
    """Tools that models asked for before the call with the order number `upto`, and that were executed outside the
    record.

    A tool was executed if a later model call has its result. A tool that the last answer of a model asks for may not
    have begun: it counts if the same tool was executed outside the record before. Tools that the model was not offered
    do not count. Requests inside a call that is answered as a whole do not count, since they are not repeated; `again`:
    span ids of such calls that are executed again.
    """
    answerable = [call for call in calls if call.can_answer and call.span.span_id not in again]
    models = [
        call for call in CallNesting(calls, upto).outermost(answerable) if call.kind == "llm" and call.order < upto
    ]
    models = [call for call in models if call.outcome is Outcome.COMPLETED]
    executed = _Executions(record, calls)
    missing = [tool for call in models for tool in _asked_tools(record, call) if not executed.has(tool)]
    if not missing:
        return []
    offered = _offered_names(record, calls)
    offering = {call.order for call in models if call.ref(names.TOOL_DEFINITIONS_REF) is not None}
    missing = [tool for tool in missing if tool.at not in offering or not _is_invented(tool, offered)]
    answered = _answered_ids(record, calls, {tool.call_id for tool in missing})
    outside = {tool.name for tool in missing if tool.call_id in answered}
    last = set({call.flow: call.order for call in models}.values())
    return [tool for tool in missing if tool.call_id in answered or (tool.name in outside and tool.at in last)]


def unrecorded_sentence(tools: Sequence[AskedTool]) -> str:
    """Message about the tools that will be executed again, grouped by model call."""
    by_call: dict[int, list[AskedTool]] = {}
    for requested in tools[:_MAX_SHOWN]:
        by_call.setdefault(requested.at, []).append(requested)
    lines = [f"  at recorded call {order}: {', '.join(map(str, requested))}" for order, requested in by_call.items()]
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
    """The recorded executions of tools, indexed by the ways in which a model's request can be found among them."""

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

    def has(self, tool: AskedTool) -> bool:
        """Whether the record has executions of this tool, or of this call of it."""
        if tool.name in self._names or tool.call_id in self._ids:
            return True
        later = [call for call in self._tools if call.order > tool.at]
        if any(_is_execution(tool, self._arguments_of(call)) for call in later):
            return True
        commands = (call for call in later if call.span.attributes.get(names.TOOL_TYPE) == names.COMMAND)
        if any(_is_in_command(tool, self._arguments_of(call)) for call in commands):
            return True
        # A handoff is executed by the framework, and recorded as a log event.
        text = _letters(f"{tool.name} {list(_values_in(tool.arguments))}")
        return any(order > tool.at and to in text for order, to in self._handoffs)

    def _arguments_of(self, call: RecordedCall) -> Any:
        ref = call.arguments
        if ref is None:
            return None
        if ref not in self._arguments:
            content = self._record.content(ContentRef(ref))
            self._arguments[ref] = None if content is None else value_of(content)
        return self._arguments[ref]


def _names_of(call: RecordedCall) -> Iterable[str]:
    """Names that a model may use for the tool: the method `Shop.refund` is `refund` to a model."""
    tool_name = str(call.span.attributes.get(names.TOOL_NAME, call.name))
    return tool_name, tool_name.rpartition(".")[2], call.name, call.name.rpartition(".")[2]


def _is_execution(tool: AskedTool, arguments: object) -> bool:
    """Whether a recorded call with these arguments executed the tool: under another name, or as a function that gets
    the id of the tool call, or its name and arguments."""
    if tool.arguments and is_contained_in(tool.arguments, arguments):
        return True
    values = list(_values_in(arguments))
    if tool.call_id and tool.call_id in values:
        return True
    return tool.name in values and any(_says_the_same(tool.arguments, value) for value in values)


def _is_in_command(tool: AskedTool, arguments: object) -> bool:
    """Whether a recorded command contains a text from the tool's arguments."""
    command = value_at(arguments, "command")
    command_text = " ".join(map(str, cast("list[Any]", command))) if isinstance(command, list) else str(command)
    words = [value for value in _values_in(tool.arguments) if isinstance(value, str) and value.strip()]
    return any(" ".join(word.split()) in " ".join(command_text.split()) for word in words)


def _letters(text: str) -> str:
    """The letters and digits of the text in lower case: frameworks make tool names out of agent names, and replace
    other characters."""
    return "".join(filter(str.isalnum, text)).lower()


def _says_the_same(arguments: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return False
    return isinstance(value, dict) and canonical_json(value) == canonical_json(arguments)


def _values_in(value: object) -> Iterator[Any]:
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
            raw_arguments = part.get("arguments")
            arguments = object_of(raw_arguments)
            yield AskedTool(call.order, str(part["name"]), str(part.get("id") or ""), arguments)


# What JSON Schema and the definitions of functions have as `type`. Tools of a provider are named by it.
_COMMON_TYPES = {"function", "object", "string", "number", "integer", "boolean", "array", "null"}


def _offered_names(record: Record, calls: Sequence[RecordedCall]) -> set[str] | None:
    """The letters of the names of all tools that models were offered; None if a part of these is not available."""
    offered: set[str] = set()
    for ref in {call.ref(names.TOOL_DEFINITIONS_REF) for call in calls if call.kind == "llm"}:
        if ref is None:
            continue
        content = record.content(ref)
        if content is None:
            return None
        entries = [cast("dict[str, Any]", each) for each in _values_in(value_of(content)) if isinstance(each, dict)]
        values = [entry.get(key) for entry in entries for key in ("name", "type")]
        offered |= {_letters(each) for each in values if isinstance(each, str) and each not in _COMMON_TYPES}
    return offered - {""}


def _is_invented(tool: AskedTool, offered: Collection[str] | None) -> bool:
    """Whether the model asked for a tool that it was not offered: the program can only have told it so. Programs may
    correct a name, so a name that contains an offered one, or is contained in one, does not count."""
    asked = _letters(tool.name)
    return bool(offered) and not any(asked in each or each in asked for each in offered)


def _answered_ids(record: Record, calls: Sequence[RecordedCall], ids: set[str]) -> set[str]:
    """The ids among `ids` whose results are in the messages of later model calls."""
    answered: set[str] = set()
    seen: set[ContentRef] = set()
    for call in reversed(calls):  # the last call of a conversation has most messages
        thread = call.ref(names.INPUT_MESSAGES_REF) if call.kind == "llm" else None
        if thread is None or answered == ids:
            continue
        for part in _parts(record, thread, seen):
            if part.get("type") == "tool_call_response":
                answered |= ids.intersection({str(part.get("id") or "")})
    return answered


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
