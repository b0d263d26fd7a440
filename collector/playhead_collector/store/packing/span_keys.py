"""Keys of spans and log events within a run, 8 bytes each: how the outbox names them.  Pure."""

from collections.abc import Iterable
from hashlib import sha256

from playhead.model.canonical import canonical_json
from playhead.model.span import LogEvent, Span

KEY_BYTES = 8


def span_key(span: Span) -> bytes:
    """The key of a span: its span id."""
    try:
        key = bytes.fromhex(span.span_id)
    except ValueError:
        key = b""
    return key if len(key) == KEY_BYTES else sha256(span.span_id.encode("utf-8", "replace")).digest()[:KEY_BYTES]


def log_key(log: LogEvent) -> bytes:
    """The key of a log event, which has no id: a hash of what it says."""
    said = canonical_json([log.name, str(log.time_ns), log.trace_id or "", log.span_id or "", log.attributes])
    return sha256(said).digest()[:KEY_BYTES]


def join(keys: Iterable[bytes]) -> bytes:
    """Keys as they are stored."""
    return b"".join(keys)


def split(keys: bytes) -> list[bytes]:
    """Stored keys, one by one."""
    return [keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)]
