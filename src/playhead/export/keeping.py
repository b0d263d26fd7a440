"""journal → [keeping]: replaces the shipper where there is no collector and no other destination."""

from pathlib import Path

from playhead.export.ship import Shipper
from playhead.journal.lane import LaneReader, NoLane

# Expired runs are deleted at most so much later; a process that needs the space looks by itself.
_LOOK_SECONDS = 600.0


class JournalKeeper(Shipper):
    """Delivers nothing. Limits the journal's size, and deletes expired runs. Opens no connection."""

    def _begin_lane(self, lane_path: Path) -> None:
        try:
            LaneReader(lane_path).note_no_collector()
        except OSError as error:
            self._problems.warn_once_per_cause(
                "begin", f"cannot note in {lane_path} that there is no collector ({error})"
            )

    def _is_all_delivered(self) -> bool:
        return not self._waiting(self._memory_at)[0]

    def _waiting_bytes(self) -> int:
        return 0

    def _ship_lane(self) -> bool:
        return True

    def _ship_ended(self) -> bool:
        self._ended, self._too = [], []
        return True

    def _ship_memory(self) -> bool:
        return not self._waiting(self._memory_at)[0]

    def _ship_dead(self) -> None:
        if self._clock.now() >= self._next_look and not isinstance(self._lane, NoLane):
            self._next_look = self._clock.now() + _LOOK_SECONDS
            self._expire_all()
