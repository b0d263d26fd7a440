"""[analysis]: which fields of the state a turn changed."""

from collections.abc import Iterator

from playhead.model import event as ev
from playhead.model.json_value import JsonValue, is_object
from playhead.model.ref import ContentRef
from playhead.wire.operations.turns import StateChange
from playhead_collector.analysis.turns.outline import ModelCall, Outline
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import state_at
from playhead_collector.read.values import fetch

_MAX_CHANGES = 100


async def read_state_changes(record: RunRecord, outline: Outline, model: ModelCall, last_seq: int) -> list[StateChange]:
    """The fields of the state that the turn changed: from the start of its model call to its last event."""
    changes: dict[str, ContentRef | None] = {}
    group = outline.group_above(model.begin)
    async for block in record.onwards(model.begin.seq):
        for event in block:
            if event.seq <= last_seq and isinstance(event, ev.StateChanged) and outline.group_of(event.span) == group:
                changes[event.key] = event.value
        if block[-1].seq >= last_seq:
            break
    if not changes:
        return []
    before = (await state_at(record, model.begin.seq)).user_state
    cache = await fetch(record.store, record.project_id, [*changes.values(), *(before.get(key) for key in changes)])
    found = (
        change
        for key, ref in changes.items()
        for change in changes_of(key, cache.parsed(before.get(key)), cache.parsed(ref))
    )
    return [change for change, _ in zip(found, range(_MAX_CHANGES), strict=False)]


def changes_of(path: str, before: JsonValue, after: JsonValue) -> Iterator[StateChange]:
    """Yields what differs between two values: of objects by their fields.  Pure."""
    if is_object(before) and is_object(after):
        for key in dict.fromkeys([*before, *after]):
            yield from changes_of(f"{path}.{key}", before.get(key), after.get(key))
    elif before != after:
        yield {"path": path, "before": before, "after": after}
