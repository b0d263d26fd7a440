"""Which collector is asked, and which run is meant."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from playhead.errors import PlayheadError, SettingInvalid
from playhead.settings.sdk import load

if TYPE_CHECKING:
    from playhead.client import Client
    from playhead.local.client import JournalClient

_WHOLE = re.compile("[0-9a-f]{32}")
# Longer than a collector takes for any question, so that its refusal is seen.
_SECONDS = 40.0
# A shell that waits for longer seems to hang; without a collector it just completes nothing.
_COMPLETION_SECONDS = 1.0
_MAX_COMPLETED = 30


@dataclass(frozen=True, slots=True)
class CollectorAddress:
    """Where the options say the collector is."""

    url: str | None
    api_key: str | None
    is_local: bool = False
    """Whether the journal of this machine is asked instead."""

    def ask(self, timeout_seconds: float = _SECONDS) -> Client:
        """A client for questions, to be used in a `with`.  Without a collector they are answered from the journal:
        with `--local`, and, which stderr says, when no address was given and nothing answers at the default one."""
        if self.asks_journal:
            return cast("Client", self.ask_journal(timeout_seconds))
        from playhead.client import Client  # noqa: PLC0415 - `--help` does without an HTTP library
        from playhead.local.transport import CollectorOrJournal  # noqa: PLC0415 - as above

        transport = None if self.url else CollectorOrJournal(load().journal_dir, _say)
        return Client(self.url, self.api_key, timeout_seconds=timeout_seconds, transport=transport)

    @property
    def asks_journal(self) -> bool:
        """Whether the journal is asked in any case: so it was said, or that there is no collector."""
        return self.is_local or (self.url is None and load().endpoint is None)

    def ask_journal(self, timeout_seconds: float = _SECONDS) -> JournalClient:
        """A client of the journal of this machine, to be used in a `with`."""
        from playhead.local.client import JournalClient  # noqa: PLC0415 - only for this

        return JournalClient(load().journal_dir, _say, timeout_seconds)

    def ask_collector(self, timeout_seconds: float = _SECONDS) -> Client:
        """A client for what only a collector can do, to be used in a `with`."""
        from playhead.client import Client  # noqa: PLC0415 - as above

        if self.is_local:
            raise SettingInvalid("only a collector can do this, and the journal cannot: leave out --local")
        if self.asks_journal:
            raise SettingInvalid(
                "only a collector can do this, and PLAYHEAD_ENDPOINT=none says that there is none: name one "
                "(PLAYHEAD_COLLECTOR_URL, --url)"
            )
        return Client(self.url, self.api_key, timeout_seconds=timeout_seconds)


def _say(sentence: str) -> None:
    sys.stderr.write(f"playhead: {sentence}\n")


def run_id(client: Client, run: str) -> str:
    """The id that a user means by an id, a part of one that no other run has, or `last`.  Raises NotFound."""
    return run if is_run_id(run) else client.run(run)["run"]


def is_run_id(text: str) -> bool:
    """Whether this is a whole id of a run."""
    return _WHOLE.fullmatch(text) is not None


def complete_run(ctx: Any, incomplete: str) -> Iterator[tuple[str, str]]:
    """For a shell's completion: the ends of the newest runs' ids that begin so, and what each run is."""
    from playhead.cli.output import short_ids, visible  # noqa: PLC0415 - as above

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
