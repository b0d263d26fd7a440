"""[analysis]: a run line by line: agents, words of users, turns with what they called, cuts and waits.

A page reads the events of its lines and some around them, not the run: how far, `requested.REACH` says.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final, Literal

from playhead.model import event as ev
from playhead.model.canonical import text_of
from playhead.model.json_value import JsonValue
from playhead.model.message import Message, message_text
from playhead.model.ref import ContentRef
from playhead.model.usage import ModelUsage, add_usage
from playhead.wire.operations.page import Page
from playhead.wire.operations.turns import RowKind, ShownCall, TurnRow
from playhead_collector.analysis.transcript.arguments import ToolDefinition
from playhead_collector.analysis.transcript.shown_calls import says_it_writes, shown_arguments
from playhead_collector.analysis.turns.loading import RunPart, read_on, read_part
from playhead_collector.analysis.turns.outline import (
    COMPLETED,
    DENIED,
    OPEN,
    CallBegin,
    CallEnd,
    MadeCall,
    ModelCall,
    Outline,
    StepCall,
    Wait,
    has_raised,
    is_agent,
    status_of,
)
from playhead_collector.analysis.turns.requested import REACH, AskedCall
from playhead_collector.read.events import cut
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import fetch

MAX_TEXT = 200
_PROMISE_ID = re.compile("[0-9a-f]{32}")
USER: Final = "user"


async def list_turns(record: RunRecord, prices: Prices, limit: int, after: int) -> Page[TurnRow]:
    """Returns a page of the lines of a run after seq `after`."""

    def enough(outline: Outline) -> int | None:
        seqs = sorted(seq for seq in _sure_lines(outline) if seq > after)
        return seqs[limit] if len(seqs) > limit else None

    part = await read_part(record, after, enough, lambda outline: _texts_to_read(outline, after))
    agents = [step for step in part.outline.steps if is_agent(step.begin) and after < step.begin.seq <= part.upto]
    await _read_ends(record, part.outline, agents)
    output = await run_output(record)
    lines = Lines(part, prices, await begun_ns(record), output)
    found = await asyncio.to_thread(lambda: list(islice(lines.after(after), limit + 1)))
    more = len(found) > limit
    return {"items": found[:limit], "next_cursor": str(found[limit - 1]["seq"]) if more else None}


def _sure_lines(outline: Outline) -> Iterator[int]:
    """Seqs of what is a line whatever the contents are."""
    yield from (model.begin.seq for model in outline.models)
    yield from (step.begin.seq for step in outline.steps if is_agent(step.begin))
    yield from (wait.begin.seq for wait in outline.waits)
    yield from (event.seq for event in outline.cuts)


def _texts_to_read(outline: Outline, after: int) -> Iterator[ContentRef | None]:
    """Contents that lines show, beside answers and arguments."""
    for model in outline.models:
        yield from (event.message for event in model.added if event.role == USER and event.seq > after)
        if isinstance(model.end, ev.LlmCompleted) and not model.outputs:
            yield model.end.output
    for wait in outline.waits:
        yield wait.begin.prompt if isinstance(wait.begin, ev.InputRequested) else None


async def _read_ends(record: RunRecord, outline: Outline, agents: list[StepCall]) -> None:
    """Reads on until these agents have ended, for their numbers of turns."""
    await read_on(record, outline, lambda: all(step.end is not None for step in agents))


async def begun_ns(record: RunRecord) -> int:
    """When the run began: the time of its first event, of a fork that of the run above it."""
    first = await record.events(limit=1)
    return first[0].time_ns if first else record.row.started_ns


async def run_output(record: RunRecord) -> str | None:
    """What the run returned, as text; None if it returned nothing, or has not ended."""
    end = await record.event(record.last) if record.last else None
    ref = end.output if isinstance(end, ev.RunCompleted) else None
    value: JsonValue = (await fetch(record.store, record.project_id, [ref])).parsed(ref)
    return None if value is None else text_of(value)


# --- lines, pure -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Lines:
    """Makes the lines of a part of a run.  `output`: what the run returned, as text."""

    part: RunPart
    prices: Prices
    started_ns: int
    output: str | None = None

    def after(self, seq: int) -> Iterator[TurnRow]:
        """Yields the lines after a seq, in order, up to the last one that is whole."""
        outline, upto = self.part.outline, self.part.upto
        made: list[tuple[int, TurnRow]] = []

        def add(rows: Iterable[TurnRow]) -> None:
            made.extend((row["seq"], row) for row in rows if seq < row["seq"] <= upto)

        add(self.agent(step) for step in outline.steps if is_agent(step.begin) and seq < step.begin.seq <= upto)
        add(self.turn(model) for model in outline.models if seq < model.begin.seq <= upto)
        add(self._users(seq, upto))
        add(self._unasked(tool) for tool in self.part.unasked if seq < tool.begin.seq <= upto)
        add(self._cut(event) for event in outline.cuts if seq < event.seq <= upto)
        add(self.wait(wait) for wait in outline.waits if seq < wait.begin.seq <= upto)
        made.sort(key=lambda item: item[0])
        for _, row in made:
            yield row

    def agent(self, step: StepCall) -> TurnRow:
        """The line of an agent's work."""
        row = self._row("agent", step.begin, step.end)
        usages = [_usage(model) for model in step.calls]
        counted = [usage for usage in usages if usage is not None]
        row["group"], row["within"] = step.begin.span, self.part.outline.group_above(step.begin)
        row["agent"], row["text"], row["turns"] = step.begin.name, cut(step.begin.name, MAX_TEXT), len(step.calls)
        row["elapsed_ms"] = step.end and step.end.elapsed_ms
        row["input_tokens"] = _sum(usage.input_tokens for usage in counted)
        row["output_tokens"] = _sum(usage.output_tokens for usage in counted)
        row["cost"] = self.prices.cost_of(counted)
        return row

    def turn(self, model: ModelCall) -> TurnRow:
        """The line of a turn."""
        begin, end = model.begin, model.end
        done = end if isinstance(end, ev.LlmCompleted) else None
        requests = self.part.requests.get(model, [])
        row = self._row("turn", begin, end)
        row["turn"], row["model"] = model.number, (end and end.model) or begin.model
        row["text"] = cut(_one_line(self.answer_text(model)), MAX_TEXT) or None
        row["calls"] = [self.asked_call(request) for request in requests]
        row["internal"] = begin.span in self.part.outline.summarisers
        row["to"] = self.addressee(model)
        made = [request.made for request in requests if request.made is not None]
        row["raised"] = has_raised(end) or any(has_raised(tool.end) for tool in made)
        if end is not None and any(tool.end is None for tool in made):
            row["status"] = OPEN
        row["elapsed_ms"] = None if row["status"] == OPEN else turn_elapsed_ms(model, made)
        row["model_ms"], row["first_chunk_ms"] = end and end.elapsed_ms, done and done.first_chunk_ms
        if done is not None:
            row["input_tokens"], row["output_tokens"] = done.usage.input_tokens, done.usage.output_tokens
        usage = _usage(model)
        row["cost"] = None if usage is None else self.prices.cost_of([usage])
        return row

    def addressee(self, model: ModelCall) -> Literal["user"] | None:
        """`user` for an answer to the user: one without tool calls, of the outermost agent, or of an agent whose answer
        the user replied to or the run returned."""
        text = self.answer_text(model).strip()
        if not text or self.part.requests.get(model) or model.begin.span in self.part.outline.summarisers:
            return None
        group = self.part.outline.group_above(model.begin)
        if group is None:
            return None if any(isinstance(above, ev.ToolCalled) for above in self._above(model.begin)) else USER
        near = takewhile(lambda other: other.begin.seq <= model.last_seq + REACH, self.part.outline.models_after(model))
        following = next((other for other in near if self.part.outline.group_above(other.begin) == group), None)
        if following is not None:
            return USER if any(self._is_users(event) for event in following.added) else None
        return USER if self.output is not None and self.output.strip() == text else None

    def _above(self, begin: CallBegin) -> Iterator[CallBegin]:
        return self.part.outline.around(begin.parent)

    def answer_text(self, model: ModelCall) -> str:
        """What a model call answered, without its reasoning and tool calls; empty if nothing."""
        texts = [said_in(self.part.message(output.message)) for output in model.outputs]
        if not model.outputs and isinstance(model.end, ev.LlmCompleted) and model.end.output is not None:
            value: JsonValue = self.part.cache.parsed(model.end.output)
            texts = [] if value is None else [text_of(value)]
        return "\n".join(filter(None, texts))

    def asked_call(self, request: AskedCall) -> ShownCall:
        """A tool call that an answer asked for, made or not."""
        definition = self.part.definitions.of(request.model.begin, request.name)
        shown = shown_call(request.made, request.name, request.arguments, definition)
        return shown if shown["call_id"] is not None else {**shown, "call_id": request.call_id}

    # --- the other lines ---------------------------------------------------------------------------------------------

    def _users(self, seq: int, upto: int) -> Iterator[TurnRow]:
        for model in self.part.outline.models:
            for event in model.added:
                if seq < event.seq <= upto and self._is_users(event):
                    row = self._row("user", event, None)
                    row["group"] = self.part.outline.group_above(model.begin)
                    row["status"] = COMPLETED
                    row["text"] = cut(_one_line(said_in(self.part.message(event.message))), MAX_TEXT) or None
                    yield row

    def _is_users(self, event: ev.MessageAdded) -> bool:
        """Whether a message is one of the user: no result of a tool, and no summary of others."""
        if event.role != USER or event.message in self.part.outline.summaries:
            return False
        message = self.part.message(event.message)
        results = [part for part in message["parts"] if part.get("type") == "tool_call_response"] if message else []
        return message is None or len(results) < len(message["parts"]) or not message["parts"]

    def _unasked(self, tool: MadeCall) -> TurnRow:
        row = self._row("call", tool.begin, tool.end)
        arguments: JsonValue = self.part.cache.parsed(tool.begin.arguments)
        row["calls"] = [shown_call(tool, tool.begin.name, arguments, None)]
        row["elapsed_ms"] = tool.end and tool.end.elapsed_ms
        return row

    def _cut(self, event: ev.ContextCompressed) -> TurnRow:
        row = self._row("cut", event, None)
        model = self.part.outline.model(event.span)
        row["group"] = (
            self.part.outline.group_of(event.span) if model is None else self.part.outline.group_above(model.begin)
        )
        row["status"], row["ended_seq"] = COMPLETED, event.seq
        row["text"] = cut_sentence(event)
        return row

    def wait(self, wait: Wait) -> TurnRow:
        """The line of a wait."""
        begin, end = wait.begin, wait.end
        row = self._row("wait", begin, None)
        row["group"] = self.part.outline.group_of(begin.span)
        row["status"] = OPEN if end is None else DENIED if isinstance(end, ev.ApprovalDenied) else COMPLETED
        row["ended_seq"] = end and end.seq
        row["elapsed_ms"] = None if end is None else _waited_ms(begin, end)
        if isinstance(begin, ev.ApprovalRequested):
            question, name = begin.action or begin.tool, begin.approval
        else:
            prompt: JsonValue = self.part.cache.parsed(begin.prompt)
            question, name = None if prompt is None else text_of(prompt), begin.wait
        row["text"] = cut(_one_line(question), MAX_TEXT) if question else None
        row["promise"] = name if _PROMISE_ID.fullmatch(name) else None
        return row

    def _row(self, kind: RowKind, begin: ev.RunEvent, end: CallEnd | None) -> TurnRow:
        """A line with what all lines have."""
        is_call = isinstance(begin, ev.LlmCalled | ev.ToolCalled | ev.StepStarted)
        return {
            "kind": kind,
            "seq": begin.seq,
            "ended_seq": end and end.seq,
            "turn": None,
            "group": self.part.outline.group_above(begin) if is_call else None,
            "within": None,
            "agent": begin.actor,
            "model": None,
            "text": None,
            "to": None,
            "internal": False,
            "calls": [],
            "status": status_of(end),
            "raised": has_raised(end),
            "started_ms": (begin.time_ns - self.started_ns) / 1e6,
            "elapsed_ms": None,
            "model_ms": None,
            "first_chunk_ms": None,
            "turns": None,
            "input_tokens": None,
            "output_tokens": None,
            "cost": None,
            "promise": None,
        }


def shown_call(tool: MadeCall | None, name: str, arguments: JsonValue, definition: ToolDefinition | None) -> ShownCall:
    """A tool call in one line; `tool` None: it was asked for and not made."""
    end = tool.end if tool else None
    return {
        "seq": tool.begin.seq if tool else None,
        "ended_seq": end and end.seq,
        "call_id": (tool.begin.call_id or (end and end.call_id)) if tool else None,
        "name": name,
        "shown": shown_arguments(arguments, definition),
        "status": OPEN if tool is None else status_of(end),
        "elapsed_ms": end and end.elapsed_ms,
        "writes": says_it_writes(definition),
    }


def said_in(message: Message | None) -> str:
    """The texts of a message, without reasoning, tool calls and results; an image or a file by its kind."""
    if message is None:
        return ""
    texts = [part for part in message["parts"] if part.get("type") == "text"]
    media = [f"[{part.get('modality') or part.get('type')}]" for part in message["parts"] if part.get("type") in _MEDIA]
    return "\n".join(filter(None, [message_text({**message, "parts": texts}), *media]))


_MEDIA = ("blob", "uri", "file")


def cut_sentence(event: ev.ContextCompressed) -> str:
    """What left the context, in words: `4 messages summarised, 2 dropped (sliding_window)`."""
    counts = [(len(event.summarised), "summarised"), (len(event.dropped), "dropped")]
    said = [f"{count} {word}" for count, word in counts if count]
    number, _, others = ", ".join(said).partition(" ")
    first = f"{number} message{'' if number == '1' else 's'} {others}" if said else ""
    strategy = f" ({event.strategy})" if event.strategy else ""
    return (first or "messages left the context") + strategy


def turn_elapsed_ms(model: ModelCall, made: Iterable[MadeCall]) -> float | None:
    """From the start of the model call to the last end of it and its tools; None while one is open."""
    ends = [model.end, *(tool.end for tool in made)]
    times = [end.time_ns for end in ends if end is not None]
    return None if len(times) < len(ends) else (max(times) - model.begin.time_ns) / 1e6


def _waited_ms(begin: ev.RunEvent, end: ev.ApprovalGranted | ev.ApprovalDenied | ev.InputReceived) -> float:
    return end.waited_ms if end.waited_ms is not None else (end.time_ns - begin.time_ns) / 1e6


def _usage(model: ModelCall) -> ModelUsage | None:
    if not isinstance(model.end, ev.LlmCompleted):
        return None
    used: dict[tuple[str | None, str | None], ModelUsage] = {}
    add_usage(used, model.end.model, model.begin.model, model.end.usage)
    return next(iter(used.values()), None)


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
