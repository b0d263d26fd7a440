"""Keys of spans and log events within a run, 8 bytes each. The outbox identifies items by them.  Pure."""

from collections.abc import Iterable
from hashlib import sha256

from playhead.model.canonical import canonical_json
from playhead.model.span import LogEvent, Span

KEY_BYTES = 8


def span_key(span: Span) -> bytes:
    """Returns the key of a span: its span id, or a hash of the id if it is not 16 hex digits."""
    try:
        key = bytes.fromhex(span.span_id)
    except ValueError:
        key = b""
    return key if len(key) == KEY_BYTES else sha256(span.span_id.encode("utf-8", "replace")).digest()[:KEY_BYTES]


def log_key(log: LogEvent) -> bytes:
    """Returns the key of a log event: a hash of its name, time, trace, span and attributes, since it has no id."""
    identity = canonical_json([log.name, str(log.time_ns), log.trace_id or "", log.span_id or "", log.attributes])
    return sha256(identity).digest()[:KEY_BYTES]


def join(keys: Iterable[bytes]) -> bytes:
    """Joins keys into the form in which they are stored."""
    return b"".join(keys)


def split(keys: bytes) -> list[bytes]:
    """Splits the stored form into single keys."""
    return [keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES)]
