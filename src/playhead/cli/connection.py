"""Where commands find the collector or the journal, and the id of the run that a user names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playhead.errors import PlayheadError, SettingInvalid
from playhead.model.ids import WHOLE_ID
from playhead.settings.sdk import load

if TYPE_CHECKING:
    import typer

    from playhead.client import Client
    from playhead.client.operations import BlockingClient
    from playhead.local.client import JournalClient

# Longer than a collector takes for any request, so that its own error arrives first.
_SECONDS = 40.0
# With a longer wait, the shell would seem to hang. Without an answer, nothing is completed.
_COMPLETION_SECONDS = 1.0
_MAX_COMPLETED = 30


@dataclass(frozen=True, slots=True)
class CollectorAddress:
    """The collector that the command line's options name."""

    url: str | None
    api_key: str | None
    is_local: bool = False
    """Whether to read the journal of this machine instead."""

    def ask(self, timeout_seconds: float = _SECONDS) -> BlockingClient:
        """Returns a client, to be used in a `with`. It reads the journal instead of a collector with `--local`, with
        PLAYHEAD_ENDPOINT=none and, after a note on stderr, if no address was given and no collector answers at the
        default one."""
        if self.asks_journal:
            return self.ask_journal()
        from playhead.client import Client  # noqa: PLC0415 - `--help` does without an HTTP library

        collector = Client(self.url, self.api_key, timeout_seconds=timeout_seconds)
        if self.url:
            return collector
        from playhead.local.fallback import CollectorOrJournal  # noqa: PLC0415 - only for this

        return CollectorOrJournal(collector, load().journal_dir, _say)

    @property
    def asks_journal(self) -> bool:
        """Whether to read the journal in any case: with `--local`, or if the settings say that there is no
        collector."""
        return self.is_local or (self.url is None and load().endpoint is None)

    def ask_journal(self) -> JournalClient:
        """Returns a client of this machine's journal, to be used in a `with`."""
        from playhead.local.client import JournalClient  # noqa: PLC0415 - only for this

        return JournalClient(load().journal_dir, _say)

    def ask_collector(self, timeout_seconds: float = _SECONDS, project: str | None = None) -> Client:
        """Returns a client for operations that only a collector has, to be used in a `with`. `project`: for the
        operator; None: as PLAYHEAD_PROJECT says. Raises SettingInvalid with `--local`, and if there is no collector."""
        from playhead.client import Client  # noqa: PLC0415 - see `ask`

        if self.is_local:
            raise SettingInvalid("only a collector can do this, and the journal cannot: leave out --local")
        if self.asks_journal:
            raise SettingInvalid(
                "only a collector can do this, and PLAYHEAD_ENDPOINT=none says that there is none: name one "
                "(PLAYHEAD_COLLECTOR_URL, --url)"
            )
        return Client(self.url, self.api_key, timeout_seconds=timeout_seconds, project=project)


def ask(ctx: typer.Context, timeout_seconds: float = _SECONDS) -> BlockingClient:
    """Returns the client that the command's options name, to be used in a `with`: see `CollectorAddress.ask`."""
    return ctx.ensure_object(CollectorAddress).ask(timeout_seconds)


def ask_collector(ctx: typer.Context, *, project: str | None = None) -> Client:
    """Returns a client for operations that only a collector has: see `CollectorAddress.ask_collector`."""
    return ctx.ensure_object(CollectorAddress).ask_collector(project=project)


def _say(sentence: str) -> None:
    sys.stderr.write(f"playhead: {sentence}\n")


def run_id(client: BlockingClient, run: str) -> str:
    """Returns the id of a run that the user names by its id, a unique part of it, or `last`. Raises NotFound."""
    return run if is_run_id(run) else client.run(run)["run"]


def is_run_id(text: str) -> bool:
    """Whether a text is a whole run id."""
    return WHOLE_ID.fullmatch(text) is not None


def complete_run(ctx: Any, incomplete: str) -> Iterator[tuple[str, str]]:
    """Completes a run in a shell. Yields `last`, and the short ids of the newest runs that begin with `incomplete`,
    each with a description."""
    from playhead.cli.output import short_ids, visible  # noqa: PLC0415 - only for completion

    options = ctx.find_root().params
    if "last".startswith(incomplete):
        yield "last", "the newest run"
    try:
        with CollectorAddress(options.get("url"), options.get("api_key")).ask_collector(_COMPLETION_SECONDS) as client:
            rows = list(client.runs(limit=_MAX_COMPLETED))
    except PlayheadError:
        return
    for row, name in zip(rows, short_ids([row["run"] for row in rows]), strict=True):
        if name.startswith(incomplete.lower()):
            yield name, visible(f"{row['name'] or ''} {row['status']} {row['started'][:19]}".strip())
