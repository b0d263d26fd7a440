"""A client's position in a stream, as the text of `Last-Event-ID`.  Pure."""

import re
from dataclasses import dataclass

from playhead_collector.errors import Refused

_TEXT = re.compile(r"(?P<replay>r)?(?P<change>\d{1,18})(?:\.(?P<seq>\d{1,9}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """What a client has received: all changes up to the one with the number `change`.

    With `seq`: of that change, only the events up to this seq. With `is_replay` also: only the events of the run up to
    this seq, numbered as they were after that change.
    """

    change: int
    seq: int | None = None
    is_replay: bool = False

    def __str__(self) -> str:
        """Returns the text that `read_position` reads: `12`, `12.7` or `r12.7`."""
        return f"{'r' if self.is_replay else ''}{self.change}{'' if self.seq is None else f'.{self.seq}'}"


def read_position(text: str) -> StreamPosition:
    """Returns the position in a `Last-Event-ID` header. Raises Refused (400)."""
    match = _TEXT.fullmatch(text.strip())
    if match is None or (match["replay"] and match["seq"] is None):
        raise Refused(
            400,
            "bad_position",
            f"{text[:40]!r} is not the id of an event of a stream: send the last `id` that was received, or no "
            "Last-Event-ID to begin anew",
        )
    seq = None if match["seq"] is None else int(match["seq"])
    return StreamPosition(int(match["change"]), seq, match["replay"] is not None)


def too_old() -> Refused:
    """Returns the 410 for a position whose following changes are no longer stored."""
    return Refused(
        410,
        "position_too_old",
        "what this client missed is not known any more: begin anew without Last-Event-ID, and see "
        "PLAYHEAD_STREAM_RESUME_SECONDS",
    )
