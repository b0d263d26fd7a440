"""Deletes lanes of dead processes that are delivered and old: payloads do not stay on disk in plain text for nothing.

A run that has not ended may be resumed from its lanes, so these stay.  The shipping thread looks, at a few lanes each
time, and goes on with the next ones the next time.
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from playhead.export.cursor import is_delivered
from playhead.journal.frame import SPAN, frames_in
from playhead.journal.lane import LaneReader, adopt, lanes
from playhead.model import names

_RUN = re.compile(rb'"%s":"([^"]*)"' % re.escape(names.RUN_ID.encode()))
_ROOT = b'"%s":true' % names.RUN_ROOT.encode()
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class _Seen:
    path: Path
    runs: frozenset[bytes]
    ended: frozenset[bytes]


class Expiry:
    """For one journal.  Belongs to one thread."""

    def __init__(self, journal_dir: Path, keep_seconds: float, wall: Callable[[], float] = time.time):
        """`keep_seconds`: how long a lane stays after the last of it was delivered."""
        self._journal_dir = journal_dir
        self._keep_seconds = keep_seconds
        self._wall = wall
        self._after = ""

    def look(self, own: Path, most_lanes: int = 200) -> int:
        """Looks at some lanes; returns how many were deleted.  Raises OSError when the journal cannot be read."""
        found = [path for path in lanes(self._journal_dir) if path != own]
        part = [path for path in found if path.name > self._after][:most_lanes]
        self._after = part[-1].name if len(part) == most_lanes else ""
        seen = self._read([path for path in part if self._is_over(path)])
        ended = {run for lane in seen for run in lane.ended}
        return sum(self._delete(lane.path) for lane in seen if lane.runs <= ended)

    def _is_over(self, path: Path) -> bool:
        with suppress(OSError):
            changed = (path / "acked").stat().st_mtime
            return changed + self._keep_seconds <= self._wall() and is_delivered(path)
        return False

    def _read(self, paths: list[Path]) -> list[_Seen]:
        seen: list[_Seen] = []
        left = _MOST_BYTES
        for path in paths:
            reader = LaneReader(path)
            with suppress(OSError):
                size = sum(map(reader.segment_bytes, reader.segments()))
                if seen and size > left:
                    break
                left -= size
                seen.append(_look_into(reader))
        return seen

    def _delete(self, path: Path) -> bool:
        with suppress(OSError):  # another process may do so, too
            adopted = adopt(path)
            if adopted is not None:
                try:
                    if is_delivered(path):
                        LaneReader(path).delete()
                        return True
                finally:
                    adopted.close()
        return False


def _look_into(reader: LaneReader) -> _Seen:
    runs: set[bytes] = set()
    ended: set[bytes] = set()
    for number in reader.segments():
        data = reader.segment_path(number).read_bytes()
        # Every record of a run names it, whatever else is in the segment.
        runs.update(_RUN.findall(data))
        for kind, payload, _ in frames_in(data):
            if kind == SPAN and _ROOT in payload:
                ended.update(_RUN.findall(payload))
    return _Seen(reader.path, frozenset(runs), frozenset(ended))
