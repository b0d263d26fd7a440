"""ingest → [outbox]: adds entries for each destination, in the transaction that stores the data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from playhead.model.span import LogEvent, Span
from playhead.projection.scores import evaluations_on
from playhead_collector.store.packing.span_keys import join, log_key, span_key
from playhead_collector.store.packing.span_pages import PackedSpanPage, page_parts
from playhead_collector.store.ports.forwarding import Recipient
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn


class ArrivedRun(NamedTuple):
    """The part of a batch that belongs to one run, and the pages in which it is stored."""

    spans: Sequence[Span]
    logs: Sequence[LogEvent]
    pages: Sequence[PackedSpanPage]


class _OutboxRow(NamedTuple):
    destination: str
    run: UUID
    digest: UUID
    spans: bytes
    logs: bytes


def new_entries(
    recipients: Sequence[Recipient], arrived: Mapping[str, ArrivedRun], fresh: set[tuple[str, UUID]]
) -> dict[str, list[Any]]:
    """Returns entries for the ended spans and the log events of pages in `fresh` (given as run and digest), as columns
    of `mark_news_and_fill_outbox`. An empty dict if there are none.  Pure."""
    rows = [row for run, arrival in arrived.items() for row in _rows(recipients, run, arrival, fresh)]
    if not rows:
        return {}
    destinations, runs, digests, spans, logs = map(list, zip(*rows, strict=True))
    return {"destinations": destinations, "entry_runs": runs, "digests": digests, "spans": spans, "logs": logs}


async def fill_log(
    conn: Conn, project_id: int, recipients: Sequence[Recipient], log: LogEvent, run: UUID, now_ns: int
) -> None:
    """Adds entries for a log event of a run that is in no page."""
    takers = [recipient.name for recipient in recipients if recipient.takes(run.hex) and recipient.takes_log(log)]
    if takers:
        same = {"runs": [run], "digests": [None], "spans": [b""], "logs": [log_key(log)]}
        columns = {name: values * len(takers) for name, values in same.items()}
        await sql.run(conn, "fill_outbox", project_id=project_id, now=now_ns, destinations=takers, **columns)


def _rows(
    recipients: Sequence[Recipient], run: str, arrived: ArrivedRun, fresh: set[tuple[str, UUID]]
) -> Iterator[_OutboxRow]:
    wanted = [recipient for recipient in recipients if recipient.takes(run)]
    if not wanted:
        return
    parts = page_parts(arrived.spans, arrived.logs)
    for page, (spans, logs) in zip(arrived.pages, parts, strict=True):
        if (run, page.digest) not in fresh:
            continue
        span_keys = join(span_key(span) for span in spans if span.end_ns is not None)
        events = [*logs, *(evaluation for span in spans for evaluation in evaluations_on(span))]
        keys = {id(log): log_key(log) for log in events if any(recipient.takes_log(log) for recipient in wanted)}
        for recipient in wanted:
            log_keys = join(keys[id(log)] for log in events if recipient.takes_log(log))
            if span_keys or log_keys:
                yield _OutboxRow(recipient.name, UUID(run), page.digest, span_keys, log_keys)
