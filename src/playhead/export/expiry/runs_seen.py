"""Finds the runs with records in a segment of the journal, and the runs that end in it. No I/O."""

import re
from dataclasses import dataclass

from playhead.journal.frame import SPAN, readable_frames
from playhead.model import names

_RUN = re.compile(rb'"%s":"([^"\n]*)"' % re.escape(names.RUN_ID.encode()))
_ROOT = b'"%s":true' % names.RUN_ROOT.encode()


@dataclass(frozen=True, slots=True)
class RunsSeen:
    """Ids of the runs with records in a segment, and of those that ended in it."""

    runs: frozenset[bytes]
    ended: frozenset[bytes]


def runs_in(data: bytes) -> RunsSeen:
    """The runs in a segment's bytes."""
    # Every record of a run contains its id.
    runs = frozenset(_RUN.findall(data))
    ended: set[bytes] = set()
    for kind, payload, _ in readable_frames(data) if _ROOT in data else ():
        if kind == SPAN and _ROOT in payload:
            ended.update(_RUN.findall(payload))
    return RunsSeen(runs, frozenset(ended))


def merge_runs_seen(seen: list[RunsSeen]) -> RunsSeen:
    """The runs in several segments, combined."""
    runs = frozenset[bytes]().union(*(each.runs for each in seen))
    return RunsSeen(runs, frozenset[bytes]().union(*(each.ended for each in seen)))
