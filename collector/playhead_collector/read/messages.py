"""The messages of a whole run: the maker of each, its tokens, and the compression that removed it later.

Whether a message was in its agent's context at a moment follows from the agent's last context before that moment.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from playhead.model import event as ev
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.model.token_estimates import estimate_message
from playhead.projection.message_outcomes import DROPPED, SUMMARISED
from playhead.wire.operations import HistoryEntry, Page, Removal
from playhead_collector.errors import ContentMissing
from playhead_collector.read.calls import LLM_END, TOOL_END, LlmEnd, ToolEnd
from playhead_collector.read.owning_call import model_call_starts
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at, state_at
from playhead_collector.read.token_estimates import REPORTED, Scale, TokenCount, answer_token_count, read_scales
from playhead_collector.read.values import fetch, messages_of

# --- which messages were in context ----------------------------------------------------------------------------------


@dataclass(slots=True)
class ContextMembership:
    """For each agent its last context, and the seq from which on that context holds. `removed`: the compression that
    removed each removed message."""

    contexts: dict[str | None, tuple[int, frozenset[ContentRef]]] = field(
        default_factory=dict[str | None, tuple[int, frozenset[ContentRef]]]
    )
    removed: Mapping[ContentRef, Removal] = field(default_factory=dict[ContentRef, Removal])

    def has(self, event: ev.MessageAdded) -> bool:
        """Returns whether the message was in its agent's context. A message after the agent's last call counts, because
        the next call will have it."""
        since, messages = self.contexts.get(event.actor, (0, frozenset[ContentRef]()))
        return event.seq > since or event.message in messages

    def removal(self, event: ev.MessageAdded) -> Removal | None:
        """Returns the compression that removed the message; None if it is still in the context, or if no later
        compression removed it."""
        removal = self.removed.get(event.message) if event.message is not None else None
        return None if removal is None or self.has(event) or removal["seq"] < event.seq else removal


async def context_membership_at(record: RunRecord, upto: int, added: Iterable[ev.MessageAdded]) -> ContextMembership:
    """Returns the contexts of the agents of these messages, right after seq `upto`."""
    wanted = {event.actor for event in added}
    held = ContextMembership()
    async for block in record.backwards(upto):
        for event in reversed(block):
            if event.actor not in wanted or event.actor in held.contexts:
                continue
            thread = event.after if isinstance(event, ev.ContextCompressed) else None
            thread = event.thread if isinstance(event, ev.LlmCalled) else thread
            if thread is not None:
                held.contexts[event.actor] = (event.seq, await _thread_messages(record, thread))
        if wanted <= held.contexts.keys():
            break
    held.removed = await _removals(record, upto)
    return held


async def _thread_messages(record: RunRecord, thread: ContentRef) -> frozenset[ContentRef]:
    try:
        return frozenset(await messages_of(record.store, record.project_id, thread))
    except ContentMissing:
        return frozenset()


async def _removals(record: RunRecord, upto: int) -> dict[ContentRef, Removal]:
    """Returns for each message the last compression that removed it."""
    removed: dict[ContentRef, Removal] = {}
    for seq in (await state_at(record, upto)).compressions:
        event = await record.event(seq)
        if isinstance(event, ev.ContextCompressed):
            removed |= {ref: {"seq": seq, "how": SUMMARISED} for ref in event.summarised}
            removed |= {ref: {"seq": seq, "how": DROPPED} for ref in event.dropped}
    return removed


# --- the messages ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _NearbyEvents:
    """Events near the messages of a page: the model calls of the messages, and the tool calls whose results they
    have."""

    begins: dict[str | None, ev.LlmCalled] = field(default_factory=dict[str | None, ev.LlmCalled])
    ends: dict[str | None, LlmEnd] = field(default_factory=dict[str | None, LlmEnd])
    outputs: dict[str | None, int] = field(default_factory=dict[str | None, int])
    tools: dict[str | None, ev.ToolCalled] = field(default_factory=dict[str | None, ev.ToolCalled])
    made: dict[str, ToolEnd] = field(default_factory=dict[str, ToolEnd])

    def take(self, event: ev.RunEvent) -> None:
        """Adds an event."""
        if isinstance(event, ev.LlmCalled):
            self.begins[event.span] = event
        elif isinstance(event, LLM_END):
            self.ends[event.span] = event
        elif isinstance(event, ev.ToolCalled):
            self.tools[event.span] = event
        elif isinstance(event, TOOL_END):
            called = self.tools.get(event.span)
            call_id = event.call_id or (called.call_id if called else None)
            if call_id is not None:
                self.made[call_id] = event
        elif isinstance(event, ev.MessageAdded) and event.source == "output":
            self.outputs[event.span] = self.outputs.get(event.span, 0) + 1

    def tool_of(self, message: Message | None) -> ToolEnd | None:
        """Returns the end of the tool call whose result the message has, found by the call's id; None if it is not
        among the events."""
        parts = message["parts"] if message else []
        ids = [part.get("id") for part in parts if part.get("type") == "tool_call_response"]
        return next((self.made[call_id] for call_id in ids if isinstance(call_id, str) and call_id in self.made), None)


async def list_history(
    record: RunRecord, limit: int, after: int, hydrate: bool, at: str | None = None
) -> Page[HistoryEntry]:
    """Returns a page of messages that entered the run after seq `after` and up to the moment `at`, in order. Raises
    Refused."""
    upto = record.last if at is None and record.last == 0 else await seq_at(record, at)
    added, around = await _read_page(record, limit, after, upto)
    page = added[:limit]
    held = await context_membership_at(record, upto, page)
    # Needed also without `hydrate`: for the lengths of the messages, and the tools that made them.
    cache = await fetch(record.store, record.project_id, (event.message for event in page))
    models = (around.begins[event.span].model for event in page if event.span in around.begins)
    scales = await read_scales(record, models)
    items: list[HistoryEntry] = []
    for event in page:
        message = cache.parsed_message(event.message)
        item = history_entry(event, message, around, held, scales, is_masked=cache.is_masked(event.message))
        items.append({**item, "value": cache.message(event.message)} if hydrate else item)
    return {"items": items, "next_cursor": str(page[-1].seq) if len(added) > limit else None}


async def _read_page(
    record: RunRecord, limit: int, after: int, upto: int
) -> tuple[list[ev.MessageAdded], _NearbyEvents]:
    added: list[ev.MessageAdded] = []
    around = _NearbyEvents()
    read_from = max(0, after - limit)  # the tools that made the first messages of a page were called before it
    async for block in record.onwards(read_from):
        for event in block:
            around.take(event)
            if isinstance(event, ev.MessageAdded) and after < event.seq <= upto:
                added.append(event)
        if len(added) > limit or block[-1].seq >= upto:
            break
    # A call that is not among the events read so far is near the message that names it.
    for event in added[:limit]:
        if event.span is not None and event.span not in around.begins:
            around.begins |= await model_call_starts(record, {event.span}, event.seq)
    return added, around


def history_entry(
    event: ev.MessageAdded,
    message: Message | None,
    around: _NearbyEvents,
    held: ContextMembership,
    scales: dict[str | None, Scale],
    *,
    is_masked: bool = False,
) -> HistoryEntry:
    """Builds the answer for one `message_added` event. Pure."""
    call = around.begins.get(event.span)
    end = around.ends.get(event.span) if event.source == "output" else around.tool_of(message)
    begin = call if event.source == "output" else around.tools.get(end.span) if end else None
    tokens, basis = _tokens(event, message, around, scales.get(call.model if call else None, Scale()))
    return {
        "seq": event.seq,
        "event": event.id,
        "time": rfc3339(event.time_ns),
        "role": event.role,
        "source": event.source,
        "actor": event.actor,
        "model": call.model if call else None,
        "span": event.span,
        "call": call and call.seq,
        "maker": begin.seq if begin else None,
        "elapsed_ms": end.elapsed_ms if end else None,
        "tokens": tokens,
        "tokens_basis": basis,
        "masked": is_masked,
        "in_context": held.has(event),
        "removed": held.removal(event),
        "message": event.message,
    }


def _tokens(event: ev.MessageAdded, message: Message | None, around: _NearbyEvents, scale: Scale) -> TokenCount:
    if event.tokens is not None:
        return event.tokens, REPORTED
    end = around.ends.get(event.span)
    if event.source == "output" and around.outputs.get(event.span) == 1 and isinstance(end, ev.LlmCompleted):
        count = answer_token_count(end.usage)
        if count is not None:
            return count, REPORTED
    return (None, None) if message is None else (scale.tokens(estimate_message(message)), scale.basis)
