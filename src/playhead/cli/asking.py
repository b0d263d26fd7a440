"""Which collector is asked, and which run is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from playhead.errors import NotFound

if TYPE_CHECKING:
    from playhead.client import Client

# The beginning of an id is looked for among the newest runs: who shortens an id has just read it in a list.
_LOOKED_THROUGH = 2_000
_WHOLE = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Collector:
    """Where the options say the collector is."""

    url: str | None
    api_key: str | None

    def ask(self, timeout_seconds: float = 30.0) -> Client:
        """A client for it, to be used in a `with`."""
        from playhead.client import Client  # noqa: PLC0415 - `--help` does without an HTTP library

        return Client(self.url, self.api_key, timeout_seconds=timeout_seconds)


def run_id(client: Client, run: str) -> str:
    """The id that a user means by an id, the beginning of one, or `last`.  Raises NotFound."""
    if _WHOLE.fullmatch(run):
        return run
    if run == "last":
        for newest in client.runs(limit=1):
            return newest["run"]
        raise NotFound("no run has been recorded yet: run a program that uses playhead, or `playhead demo`")
    begun = {row["run"] for row in client.runs(limit=_LOOKED_THROUGH) if row["run"].startswith(run.lower())}
    if len(begun) == 1:
        return begun.pop()
    if begun:
        some = ", ".join(islice(sorted(begun), 3))
        raise NotFound(f"{len(begun)} runs begin with {run!r} ({some}, ...): write more of the one that you mean")
    raise NotFound(f"none of the newest {_LOOKED_THROUGH} runs begins with {run!r}: `playhead runs` lists them")
