"""Finds the runs that a segment of the journal has records of, and those that end in it. Pure."""

import re
from dataclasses import dataclass

from playhead.journal.frame import SPAN, readable_frames
from playhead.model import names

_RUN = re.compile(rb'"%s":"([^"\n]*)"' % re.escape(names.RUN_ID.encode()))
_ROOT = b'"%s":true' % names.RUN_ROOT.encode()


@dataclass(frozen=True, slots=True)
class RunsSeen:
    """Ids of runs."""

    runs: frozenset[bytes]
    ended: frozenset[bytes]


def runs_in(data: bytes) -> RunsSeen:
    """The runs of a segment."""
    # Every record of a run names it, whatever else is in the segment.
    runs = frozenset(_RUN.findall(data))
    ended: set[bytes] = set()
    for kind, payload, _ in readable_frames(data) if _ROOT in data else ():
        if kind == SPAN and _ROOT in payload:
            ended.update(_RUN.findall(payload))
    return RunsSeen(runs, frozenset(ended))


def merge_runs_seen(seen: list[RunsSeen]) -> RunsSeen:
    """The runs of several segments."""
    runs = frozenset[bytes]().union(*(each.runs for each in seen))
    return RunsSeen(runs, frozenset[bytes]().union(*(each.ended for each in seen)))
