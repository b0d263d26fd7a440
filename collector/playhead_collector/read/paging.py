"""Cursors: texts that a client sends back to get the next page of a list."""

import base64
import binascii
import json
import math
import re

from playhead.model.ref import ContentRef
from playhead.projection.run_row import RunRow
from playhead_collector.errors import Refused
from playhead_collector.store.ports.runs import NEWEST_FIRST, RunOrder, RunPosition

_LARGEST = 2**63 - 1  # Postgres's bigint
_LARGEST_SIZE = 2**31  # Postgres' int
_MAX_SEQ_LENGTH = 9
# A run's id, or the first digits of a ref.
_NAME = re.compile("[0-9a-f]{16}(?:[0-9a-f]{16})?")


def list_cursor(row: RunRow, order: RunOrder) -> str:
    """Returns the cursor for the rows after this one in a list of runs in this order."""
    if order == NEWEST_FIRST:
        return run_cursor(row.started_ns, row.run)
    return _encoded(f"{row.started_ns} {row.run} {order.key(row)!r} {_order_text(order)}")


def read_list_cursor(cursor: str | None, order: RunOrder) -> RunPosition | None:
    """Parses a cursor from `list_cursor` of the same order; returns None for None. Raises Refused."""
    if order == NEWEST_FIRST:
        before = read_row_cursor(cursor)
        return None if before is None else RunPosition(*before)
    if not cursor:
        return None
    try:
        started, run, key_text, order_text = _decoded(cursor).split(" ")
        started_ns, key = int(started), float(key_text)
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if not 0 <= started_ns <= _LARGEST or not run.isalnum() or math.isnan(key) or order_text != _order_text(order):
        raise _bad_cursor()
    return RunPosition(started_ns, run, key)


def _order_text(order: RunOrder) -> str:
    return f"{order.sort}-ascending" if order.ascending else order.sort


def run_cursor(started_ns: int, run: str) -> str:
    """Returns the cursor for the items after this run, in a list of runs that is sorted newest first."""
    return _encoded(f"{started_ns} {run}")


def read_row_cursor(cursor: str | None) -> tuple[int, str] | None:
    """Parses a cursor from `run_cursor`; returns None for None. Raises Refused."""
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


def note_cursor(noted_ns: int, note: str) -> str:
    """Returns the cursor for the notes after this one."""
    return _encoded(f"{noted_ns} {note}")


def read_note_cursor(cursor: str | None) -> tuple[int, str] | None:
    """Parses a cursor from `note_cursor`; returns None for None. Raises Refused."""
    if not cursor:
        return None
    try:
        noted, note = _decoded(cursor).split(" ")
        noted_ns = int(noted)
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if abs(noted_ns) > _LARGEST or "\x00" in note:
        raise _bad_cursor()
    return noted_ns, note


def conversation_cursor(updated_ns: int, scope: str, conversation: str) -> str:
    """Returns the cursor for the conversations after this one."""
    return _encoded(json.dumps([updated_ns, scope, conversation]))


def read_conversation_cursor(cursor: str | None) -> tuple[int, str, str] | None:
    """Parses a cursor from `conversation_cursor`; returns None for None. Raises Refused."""
    if not cursor:
        return None
    try:
        updated_ns, scope, conversation = json.loads(_decoded(cursor))
    except (ValueError, TypeError, binascii.Error):
        raise _bad_cursor() from None
    if (
        type(updated_ns) is not int
        or not 0 <= updated_ns <= _LARGEST
        or not _is_text(scope)
        or not _is_text(conversation)
    ):
        raise _bad_cursor()
    return updated_ns, scope, conversation


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\x00" not in value


def text_cursor(text: str) -> str:
    """Returns the cursor for the items after the one with this text, in a list that is sorted by it."""
    return _encoded(text)


def read_text_cursor(cursor: str | None) -> str:
    """Parses a cursor from `text_cursor`; returns an empty text for None. Raises Refused."""
    if not cursor:
        return ""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if "\x00" in text:
        raise _bad_cursor()
    return text


def size_cursor(size: int, ref: ContentRef) -> str:
    """Returns the cursor for the contents after this one, in a list that is sorted by size."""
    return _encoded(f"{size} {ref.digest.hex()}")


def read_size_cursor(cursor: str | None) -> tuple[int, ContentRef] | None:
    """Parses a cursor from `size_cursor`; returns None for None. Raises Refused."""
    if not cursor:
        return None
    try:
        size_text, digest = _decoded(cursor).split(" ")
        size, ref = int(size_text), ContentRef.parse(f"sha256:{digest}")
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if not 0 <= size < _LARGEST_SIZE:
        raise _bad_cursor()
    return size, ref


def position_cursor(time_ns: int, name: str, seq: int) -> str:
    """Returns the cursor for the items after event `seq` of a run, or after a content. `name`: the run's id, or the
    first 16 digits of the ref."""
    return _encoded(f"{time_ns} {name} {seq}")


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


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decoded(cursor: str) -> str:
    padded = cursor + "=" * (-len(cursor) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")


def _bad_cursor() -> Refused:
    return Refused(400, "bad_cursor", "this cursor is not one that was given: leave it out to begin at the first page")
