"""Which collector is asked, and which run is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playhead.errors import PlayheadError

if TYPE_CHECKING:
    from playhead.client import Client

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

    def ask(self, timeout_seconds: float = _SECONDS) -> Client:
        """A client for it, to be used in a `with`."""
        from playhead.client import Client  # noqa: PLC0415 - `--help` does without an HTTP library

        return Client(self.url, self.api_key, timeout_seconds=timeout_seconds)


def run_id(client: Client, run: str) -> str:
    """The id that a user means by an id, a part of one that no other run has, or `last`.  Raises NotFound."""
    return run if _WHOLE.fullmatch(run) else client.run(run)["run"]


def complete_run(ctx: Any, incomplete: str) -> Iterator[tuple[str, str]]:
    """For a shell's completion: the ends of the newest runs' ids that begin so, and what each run is."""
    from playhead.cli.output import short_ids, visible  # noqa: PLC0415 - as above

    options = ctx.find_root().params
    if "last".startswith(incomplete):
        yield "last", "the newest run"
    try:
        with CollectorAddress(options.get("url"), options.get("api_key")).ask(_COMPLETION_SECONDS) as client:
            rows = list(client.runs(limit=_MAX_COMPLETED))
    except PlayheadError:
        return
    for row, name in zip(rows, short_ids([row["run"] for row in rows]), strict=True):
        if name.startswith(incomplete.lower()):
            yield name, visible(f"{row['name'] or ''} {row['status']} {row['started'][:19]}".strip())
