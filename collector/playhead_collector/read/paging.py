"""Cursors: texts that a client sends back to get the next page of a list."""

import base64
import binascii
import re

from playhead.projection.run_row import RunRow
from playhead_collector.errors import Refused

_LARGEST = 2**63 - 1  # Postgres's bigint
_MAX_SEQ_LENGTH = 9
# A run's id, or the first digits of a ref.
_NAME = re.compile("[0-9a-f]{16}(?:[0-9a-f]{16})?")


def row_cursor(row: RunRow) -> str:
    """Returns the cursor for the rows after this one in the list of runs."""
    return run_cursor(row.started_ns, row.run)


def run_cursor(started_ns: int, run: str) -> str:
    """Returns the cursor for the items after this run, in a list of runs that is sorted newest first."""
    return base64.urlsafe_b64encode(f"{started_ns} {run}".encode()).decode().rstrip("=")


def read_row_cursor(cursor: str | None) -> tuple[int, str] | None:
    """Parses a cursor from `row_cursor` or `run_cursor`; returns None for None. Raises Refused."""
    if not cursor:
        return None
    try:
        started, run = _decoded(cursor).split(" ")
        started_ns = int(started)
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if not 0 <= started_ns <= _LARGEST or not run.isalnum():
        raise _bad_cursor()
    return started_ns, run


def position_cursor(time_ns: int, name: str, seq: int) -> str:
    """Returns the cursor for the items after event `seq` of a run, or after a content. `name`: the run's id, or the
    first 16 digits of the ref."""
    return base64.urlsafe_b64encode(f"{time_ns} {name} {seq}".encode()).decode().rstrip("=")


def read_position(cursor: str) -> tuple[int, str, int]:
    """Parses a cursor from `position_cursor`. Raises Refused."""
    try:
        time_text, name, seq_text = _decoded(cursor).split(" ")
        time_ns, seq = int(time_text), int(seq_text)
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if not (abs(time_ns) <= _LARGEST and is_seq(seq_text) and _NAME.fullmatch(name)):
        raise _bad_cursor()
    return time_ns, name, seq


def read_seq(cursor: str | None) -> int:
    """Parses a cursor that is a seq; returns 0 for None.  Raises Refused."""
    if not cursor:
        return 0
    if not is_seq(cursor):
        raise _bad_cursor()
    return int(cursor)


def read_number(cursor: str | None) -> int:
    """Parses a cursor that is a number in the range of a Postgres bigint; returns 0 for None.  Raises Refused."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= len(str(_LARGEST)) and int(cursor) <= _LARGEST):
        raise _bad_cursor()
    return int(cursor)


def is_seq(text: str) -> bool:
    """Returns whether the text is a seq. A longer row of digits may be an event id."""
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_SEQ_LENGTH


def _decoded(cursor: str) -> str:
    padded = cursor + "=" * (-len(cursor) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")


def _bad_cursor() -> Refused:
    return Refused(400, "bad_cursor", "this cursor is not one that was given: leave it out to begin at the first page")
