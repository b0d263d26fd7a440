"""What the agent's tools do: rows in a SQLite database, each once for each idempotency key."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TABLES = """
pragma journal_mode = wal;
create table if not exists executions (key text not null, what text not null, attempt integer not null);
create table if not exists effects (key text not null unique, what text not null, result text not null);
create table if not exists refusals (key text not null unique, what text not null unique);
"""


def make(path: Path) -> None:
    """The tables, empty."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_TABLES)


class Effects:
    """The database of one chain of attempts.  Safe for threads: each call has a connection of its own."""

    def __init__(self, path: Path):
        self._path = path

    def begin(self, key: str, what: str, attempt: int) -> None:
        """A tool is being executed."""
        with closing(self._connect()) as database:
            database.execute("insert into executions values (?, ?, ?)", (key, what, attempt))

    def write(self, key: str, what: str, *, may_be_there: bool = False) -> dict[str, Any]:
        """The effect, and what the tool returns.  Raises sqlite3.IntegrityError for a key that has taken effect, unless
        it may have."""
        result = {"what": what, "length": len(what)}
        how = "insert or ignore" if may_be_there else "insert"
        with closing(self._connect()) as database:
            database.execute(f"{how} into effects values (?, ?, ?)", (key, what, json.dumps(result)))
        return result

    def refuse_once(self, key: str, what: str) -> None:
        """Raises ConnectionError in the first call for this, in every execution of that call."""
        with closing(self._connect()) as database:
            database.execute("insert or ignore into refusals values (?, ?)", (key, what))
            (refused,) = database.execute("select key from refusals where what = ?", (what,)).fetchone()
        if refused == key:
            raise ConnectionError(f"nobody answers about {what}")

    def outcome(self, key: str) -> dict[str, Any] | None:
        """What came of a call, as a person finds it who looks: an outcome for `resume`; None: it has not taken
        effect."""
        with closing(self._connect()) as database:
            done = database.execute("select result from effects where key = ?", (key,)).fetchone()
            if done is not None:
                return {"result": json.loads(done[0])}
            refused = database.execute("select what from refusals where key = ?", (key,)).fetchone()
        return None if refused is None else {"error": ConnectionError(f"nobody answers about {refused[0]}")}

    def look(self) -> "Found":
        """All of it."""
        with closing(self._connect()) as database:
            done = database.execute("select what from effects").fetchall()
            executed = database.execute("select key, what from executions order by rowid").fetchall()
        return Found(Counter(what for (what,) in done), [(key, what) for key, what in executed])

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        # Outlives the death of the process, which is what is tested; not the loss of power.
        database.execute("pragma synchronous = off")
        return database


@dataclass(frozen=True, slots=True)
class Found:
    """`effects`: how often each thing was done.  `executed`: idempotency key and argument of each execution of a tool,
    in order."""

    effects: Counter[str]
    executed: list[tuple[str, str]]
