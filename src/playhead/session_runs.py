"""The last run of a session, which the next one continues: from the journal and the collector."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from playhead.client.clients import Client
from playhead.errors import ClientError, JournalUnusable, SettingInvalid
from playhead.export.http import without_instrumentation
from playhead.kernel.guard import log
from playhead.local.client import JournalClient
from playhead.recording import current_settings, flush
from playhead.settings.sdk import Settings
from playhead.wire.operations.runs import RunSummary

_REQUEST_SECONDS = 5.0
# Newest first: runs that have not ended, and forks, stand among them.
_MOST_RUNS = 100


def last_run_of_session(session: str, other_than: str) -> str | None:
    """Returns the id of the run of this session that ended last; None: there is none. Forks do not count, since they
    say what might have been. `other_than`: a run that does not count either."""
    flush(0)  # this process may hold part of the record in memory
    settings = current_settings()
    rows = [*_in_journal(settings.journal_dir, session), *_at_collector(settings, session)]
    ended = [row for row in rows if row["ended"] is not None and row["fork_of"] is None and row["run"] != other_than]
    return max(ended, key=lambda row: row["ended"] or "")["run"] if ended else None


def _in_journal(journal_dir: Path, session: str) -> Iterator[RunSummary]:
    try:
        journal = JournalClient(journal_dir, log.warning)
    except (SettingInvalid, JournalUnusable) as error:  # such as a library that reads it, and is not installed
        log.debug("the last run of a session is not looked for in the journal: %s", error)
        return
    with journal:
        yield from islice(journal.runs(session=session), _MOST_RUNS)


def _at_collector(settings: Settings, session: str) -> Iterator[RunSummary]:
    if settings.endpoint is None:
        return
    with (
        without_instrumentation(),
        Client(settings.collector, settings.api_key, timeout_seconds=_REQUEST_SECONDS) as client,
    ):
        try:
            yield from islice(client.runs(session=session), _MOST_RUNS)
        except ClientError as error:
            log.warning("the last run of a session was looked for in the journal only: %s", error)
