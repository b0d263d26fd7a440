"""[store]: notes of people, which only a collector has."""

from collections.abc import Sequence

from playhead_collector.store.ports.notes import StoredNote


class NoNotes:
    """Implements `ports.notes.NoteReader`: there are none."""

    async def page(
        self, project_id: int, run: str, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[StoredNote]:
        return ()
