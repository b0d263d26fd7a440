"""[read]: finds which messages were in an agent's context at a moment, and which compression removed the others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from playhead.model.event import ContextCompressed, LlmCalled, MessageAdded
from playhead.model.ref import ContentRef
from playhead.projection.message_outcomes import DROPPED, SUMMARISED
from playhead.wire.operations import Removal
from playhead_collector.errors import ContentMissing
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import state_at
from playhead_collector.read.values import messages_of


@dataclass(slots=True)
class ContextMembership:
    """For each agent its last context, and the seq from which on that context holds. `removed`: the compression that
    removed each removed message."""

    contexts: dict[str | None, tuple[int, frozenset[ContentRef]]] = field(
        default_factory=dict[str | None, tuple[int, frozenset[ContentRef]]]
    )
    removed: Mapping[ContentRef, Removal] = field(default_factory=dict[ContentRef, Removal])

    def has(self, event: MessageAdded) -> bool:
        """Returns whether the message was in its agent's context. A message after the agent's last call counts, because
        the next call will have it."""
        since, messages = self.contexts.get(event.actor, (0, frozenset[ContentRef]()))
        return event.seq > since or event.message in messages

    def removal(self, event: MessageAdded) -> Removal | None:
        """Returns the compression that removed the message; None if it is still in the context, or if no later
        compression removed it."""
        removal = self.removed.get(event.message) if event.message is not None else None
        return None if removal is None or self.has(event) or removal["seq"] < event.seq else removal


async def context_membership_at(record: RunRecord, upto: int, added: Iterable[MessageAdded]) -> ContextMembership:
    """Returns the contexts of the agents of these messages, right after seq `upto`."""
    wanted = {event.actor for event in added}
    held = ContextMembership()
    async for block in record.backwards(upto):
        for event in reversed(block):
            if event.actor not in wanted or event.actor in held.contexts:
                continue
            thread = event.after if isinstance(event, ContextCompressed) else None
            thread = event.thread if isinstance(event, LlmCalled) else thread
            if thread is not None:
                held.contexts[event.actor] = (event.seq, await _messages(record, thread))
        if wanted <= held.contexts.keys():
            break
    held.removed = await _removals(record, upto)
    return held


async def _messages(record: RunRecord, thread: ContentRef) -> frozenset[ContentRef]:
    try:
        return frozenset(await messages_of(record.store, record.project_id, thread))
    except ContentMissing:
        return frozenset()


async def _removals(record: RunRecord, upto: int) -> dict[ContentRef, Removal]:
    """Returns for each message the last compression that removed it."""
    removed: dict[ContentRef, Removal] = {}
    for seq in (await state_at(record, upto)).compressions:
        event = await record.event(seq)
        if isinstance(event, ContextCompressed):
            removed |= {ref: {"seq": seq, "how": SUMMARISED} for ref in event.summarised}
            removed |= {ref: {"seq": seq, "how": DROPPED} for ref in event.dropped}
    return removed
