"""Converts times to and from text: RFC 3339 in UTC with nanoseconds."""

import re
from datetime import UTC, datetime

NS = 10**9
# The maximum of Postgres's bigint: a later time means "as late as possible", and must not be an error in the database.
_LATEST = 2**63 - 1
_SHAPE = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d)?)?)(?:\.(?P<part>\d{1,9}))?(?P<zone>[Zz]|[+-]\d\d:\d\d)?",
    re.ASCII,
)


def rfc3339(time_ns: int) -> str:
    """The time as text: `2026-01-31T12:00:00.000000001Z`."""
    seconds, part = divmod(time_ns, NS)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:19]}.{part:09d}Z"


def parse_time(text: str) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time; without a zone it is UTC, a date is its first moment.

    Raises ValueError.
    """
    try:
        moment, part = _read(text.strip())
    except ValueError:
        message = f"{text[:50]!r} is not a time: write it like 2026-01-31T12:00:00Z or 2026-01-31"
        raise ValueError(message) from None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    whole = (since.days * 86_400 + since.seconds) * NS
    return max(0, min(whole + part, _LATEST))


def _read(text: str) -> tuple[datetime, int]:
    """The time without fractions of a second, and its nanoseconds."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise ValueError(text)
    day, clock = shape["moment"][:10], shape["moment"][11:] or "00:00"
    moment = datetime.fromisoformat(f"{day}T{clock}{(shape['zone'] or 'Z').upper()}")
    return moment, int((shape["part"] or "").ljust(9, "0"))
