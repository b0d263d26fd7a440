"""Notes and labels of people about runs, and saved views, as answers."""

from playhead.model.times import rfc3339
from playhead.wire.operations.notes import Note, SavedView
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at, state_at
from playhead_collector.store.ports.notes import StoredNote, StoredView


async def moment_of_note(record: RunRecord, at: str) -> tuple[str, int, int | None]:
    """Returns the event that a moment means: its id, its seq, and its turn (None: before the first). Raises Refused."""
    seq = await seq_at(record, at)
    event = await record.event(seq)
    return event.id, seq, await _turn(record, seq)


async def note_answer(record: RunRecord, note: StoredNote) -> Note:
    """Converts a note to an answer, with the seq that its event has now."""
    seq, turn = note.seq, note.turn
    if note.event is not None and not await _is_at(record, note.event, seq):
        seq = await record.store.events.seq_of(record.project_id, record.run, note.event)
        turn = None if seq is None else await _turn(record, seq)
    return {
        "run": note.run,
        "id": note.id,
        "seq": seq,
        "event": note.event,
        "turn": turn,
        "text": note.text,
        "label": note.label,
        "author": note.author,
        "key": note.api_key,
        "time": rfc3339(note.noted_ns),
    }


async def _is_at(record: RunRecord, event: str, seq: int | None) -> bool:
    if seq is None or not 1 <= seq <= record.last:
        return False
    try:
        return record.row.sealed or (await record.event(seq)).id == event
    except Refused:  # the parent with this event is not stored
        return True


async def _turn(record: RunRecord, seq: int) -> int | None:
    """Returns how many model calls had begun at this event; None for none."""
    return (await state_at(record, seq)).llm_calls or None


def view_answer(view: StoredView) -> SavedView:
    """Converts a saved view to an answer."""
    return {"name": view.name, "query": view.query, "author": view.author, "time": rfc3339(view.saved_ns)}
