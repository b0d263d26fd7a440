"""[receive, lift] → store: pages of spans and log events of one run, and the keys of these items.  Pure.

A page has the items of a run from one batch.  Compressed together, spans take half the size of rows, because names,
models and refs repeat.  The same span may arrive several times, in any order: as an announcement (`end_ns` None),
ended, and again if the sender did not get the answer.  `merge` chooses one version, independent of the order of
arrival: an ended one before an announcement, then the one of the later attempt at the run, then the one that ended
later, then the one whose canonical JSON is greater.

Keys have 8 bytes and identify items within their run; the outbox uses them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.names import REF_SUFFIX
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead_collector.store.packing.zstd import compress_json, decompress_json

PAGE_ITEMS = 256
# When there are this many partly filled pages, they are merged: reading stays fast, and each span is rewritten rarely.
REPACK_AT_PAGES = 16
_NS_PER_SECOND = 1_000_000_000


class PackedSpanPage(NamedTuple):
    """A page in the form of its row. `ended`: the number of its spans that are not announcements."""

    digest: UUID
    items: int
    body: bytes
    ended: int


@dataclass(slots=True)
class SpanPage:
    """A decoded page. Pages with lower numbers arrived earlier."""

    number: int
    body: bytes
    spans: list[Span]
    logs: list[LogEvent]

    @property
    def items(self) -> int:
        """The number of spans and log events in the page."""
        return len(self.spans) + len(self.logs)


@dataclass(slots=True)
class MergedSpans:
    """The chosen versions of all items of some pages. `owners`: the number of the page that has the chosen version of
    each item, by the item's key."""

    spans: list[Span]
    logs: list[LogEvent]
    owners: dict[Any, int] = field(default_factory=dict[Any, int])


class RepackedPages(NamedTuple):
    """Pages that replace the pages with the numbers `gone`. The new pages get new numbers when they are written."""

    gone: list[int]
    pages: list[PackedSpanPage]


def pack(spans: Sequence[Span], logs: Sequence[LogEvent]) -> list[PackedSpanPage]:
    """Packs items into pages of at most PAGE_ITEMS. The same items in the same order give the same digests."""
    return [_packed_page(*part) for part in page_parts(spans, logs)]


def page_parts(spans: Sequence[Span], logs: Sequence[LogEvent]) -> Iterator[tuple[Sequence[Span], Sequence[LogEvent]]]:
    """Yields the items of each page that `pack` makes of these items, in the same order."""
    for start in range(0, len(spans) + len(logs), PAGE_ITEMS):
        end = start + PAGE_ITEMS
        yield spans[start:end], logs[max(0, start - len(spans)) : max(0, end - len(spans))]


def unpack(number: int, body: bytes) -> SpanPage:
    """Decodes a page."""
    value = parse_json(decompress_json(body))
    base = value["base"][0] * _NS_PER_SECOND + value["base"][1]
    origins = value["origins"]
    return SpanPage(
        number,
        body,
        [_read_span(row, base, origins) for row in value["spans"]],
        [_read_log(row, base, origins) for row in value["logs"]],
    )


def merge(pages: Iterable[SpanPage]) -> MergedSpans:
    """Returns one version of each span, by start time, and each log event once, by time."""
    spans: dict[Any, Span] = {}
    logs: dict[Any, LogEvent] = {}
    owners: dict[Any, int] = {}
    for page in sorted(pages, key=lambda page: page.number):
        for span in page.spans:
            key = (span.trace_id, span.span_id)
            chosen = spans.get(key)
            if chosen is None or _counts_more(span, chosen):
                spans[key], owners[key] = span, page.number
        for log in page.logs:
            key = _log_identity(log)
            if key not in logs:
                logs[key], owners[key] = log, page.number
    in_order = sorted(spans.values(), key=lambda span: (span.start_ns, span.span_id))
    return MergedSpans(in_order, sorted(logs.values(), key=lambda log: log.time_ns), owners)


def _counts_more(span: Span, other: Span) -> bool:
    """Returns whether `span` is chosen over `other`, a version with the same id. This is a total order, independent of
    arrival."""
    if (span.end_ns is None) != (other.end_ns is None):
        return other.end_ns is None
    if span.end_ns is not None and _attempt(span) != _attempt(other):
        return _attempt(span) > _attempt(other)  # ended by two attempts at the run: the later one is chosen
    if span.end_ns != other.end_ns:
        return (span.end_ns or 0) > (other.end_ns or 0)
    return span != other and _whole_text(span) > _whole_text(other)


def _whole_text(span: Span) -> bytes:
    return canonical_json([_span_row(span, 0, 0), span.scope, span.resource])


def _attempt(span: Span) -> int:
    attempt = span.attributes.get(names.RUN_ATTEMPT)
    return attempt if type(attempt) is int else 0


def repack(pages: Sequence[SpanPage], merged: MergedSpans, *, thoroughly: bool) -> RepackedPages | None:
    """Returns the pages to rewrite; None when rewriting is not worth it. `thoroughly`: rewrite everything that can
    become smaller."""
    counted = len(merged.owners)
    needed = -(-counted // PAGE_ITEMS)
    wasteful = len(pages) > needed or sum(page.items for page in pages) > counted
    loose = [page for page in pages if thoroughly or page.items < PAGE_ITEMS]
    if not (wasteful if thoroughly else len(loose) >= REPACK_AT_PAGES):
        return None
    numbers = {page.number for page in loose}
    spans = [span for span in merged.spans if merged.owners[span.trace_id, span.span_id] in numbers]
    logs = [log for log in merged.logs if _page_of_log(log, merged) in numbers]
    return RepackedPages(sorted(numbers), pack(spans, logs))


def named_refs(spans: Sequence[Span], logs: Sequence[LogEvent]) -> set[ContentRef]:
    """Returns the content refs in the attributes of these items, without references to other storage."""
    refs: set[ContentRef] = set()
    noted = [event for span in spans for event in span.events]
    for item in (*spans, *noted, *logs):
        for name, value in item.attributes.items():
            if name.endswith(REF_SUFFIX) and is_ref(value):
                refs.add(ContentRef(value).plain)
    return refs


def _page_of_log(log: LogEvent, merged: MergedSpans) -> int:
    return merged.owners[_log_identity(log)]


def _log_identity(log: LogEvent) -> Any:
    return (log.name, log.time_ns, log.trace_id, log.span_id, canonical_json(log.attributes))


# --- the JSON of a page: {"base": [seconds, ns], "origins": [[scope, resource]], "spans": [...], "logs": [...]} ---
# Times are relative to the base, so that no number has the 19 digits that make reading JSON slow (canonical.py), and
# there is no null, which makes writing it slow.


class _Origins:
    """The distinct pairs of scope and resource in a page. Most spans have the same pair."""

    def __init__(self) -> None:
        self.listed: list[Any] = []
        self._by_value: dict[bytes, int] = {}
        self._by_identity: dict[tuple[str, int], int] = {}

    def number(self, item: Span | LogEvent) -> int:
        """Returns the index of the item's pair in `listed`; adds the pair if it is new."""
        identity = (item.scope, id(item.resource))  # spans that were decoded together share the object
        if identity not in self._by_identity:
            value = [item.scope, item.resource]
            number = self._by_value.setdefault(canonical_json(value), len(self.listed))
            if number == len(self.listed):
                self.listed.append(value)
            self._by_identity[identity] = number
        return self._by_identity[identity]


def _packed_page(spans: Sequence[Span], logs: Sequence[LogEvent]) -> PackedSpanPage:
    base = min([span.start_ns for span in spans] + [log.time_ns for log in logs])
    origins = _Origins()
    value = {
        "base": list(divmod(base, _NS_PER_SECOND)),
        "spans": [_span_row(span, base, origins.number(span)) for span in spans],
        "logs": [_log_row(log, base, origins.number(log)) for log in logs],
        "origins": origins.listed,
    }
    data = canonical_json(value)
    digest = UUID(bytes=sha256(data).digest()[:16])
    return PackedSpanPage(
        digest, len(spans) + len(logs), compress_json(data), sum(span.end_ns is not None for span in spans)
    )


def _span_row(span: Span, base: int, origin: int) -> list[Any]:
    return [
        span.trace_id,
        span.span_id,
        span.parent_id or "",
        span.name,
        span.start_ns - base,
        span.end_ns is not None and span.end_ns - span.start_ns,
        span.kind,
        span.status,
        span.status_message,
        origin,
        span.attributes,
        [[event.name, event.time_ns - base, event.attributes] for event in span.events],
        span.links,
    ]


def _read_span(row: Any, base: int, origins: Any) -> Span:
    trace, span, parent, name, start, elapsed, kind, status, message, origin, attributes, events, links = row
    scope, resource = origins[origin]
    return Span(
        trace,
        span,
        parent or None,
        name,
        base + start,
        None if elapsed is False else base + start + elapsed,
        attributes,
        kind,
        status,
        message,
        [SpanEvent(name, base + time, details) for name, time, details in events],
        links,
        scope,
        resource,
    )


def _log_row(log: LogEvent, base: int, origin: int) -> list[Any]:
    return [log.name, log.time_ns - base, log.trace_id or "", log.span_id or "", origin, log.attributes]


def _read_log(row: Any, base: int, origins: Any) -> LogEvent:
    name, time, trace, span, origin, attributes = row
    scope, resource = origins[origin]
    return LogEvent(name, base + time, trace or None, span or None, attributes, scope, resource)


# --- keys ------------------------------------------------------------------------------------------------------------

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
