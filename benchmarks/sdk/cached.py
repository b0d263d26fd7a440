"""PC1: how much faster a second request gets its context string, when the function that makes it is cached.

The string is made as many programs make it: rows of a database and a few files, as lines. Each request is a recorded
run with one call of the function; the second one gets a copy of the result of the first, which is recorded as well.
"""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import playhead
from benchmarks.recording import recording
from benchmarks.sdk.sink import Sink
from tests.support.bar import Row, at_most, told

_ROUNDS, _ROWS, _SHOWN, _FILES = 30, 2_000, 300, 10
_BAR = 0.5
# The shipper waits this long: nothing is sent within a round.
_BETWEEN_ROUNDS = 60.0


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, Sink() as sink, recording(sink.url, linger_seconds=_BETWEEN_ROUNDS):
        _prepare(Path(folder))
        first, second = _seconds(Path(folder))
    against = f"rows of {_ROWS} and {_FILES} files as a text; median of {_ROUNDS} pairs of requests, by the clock"
    yield at_most("PC1", "a second request, of the first one's time", second / first, _BAR, unit="", against=against)
    yield told("PC1", "the first request", first * 1_000, unit="ms", against=against)
    yield told("PC1", "the second request", second * 1_000, unit="ms", against=against)


def _prepare(folder: Path) -> None:
    with sqlite3.connect(folder / "orders.sqlite") as database:
        database.execute("create table orders (id integer primary key, user text, what text, day text)")
        rows = [
            (number, f"user {number % 7}", f"article {number}", f"2026-01-{number % 28 + 1:02}")
            for number in range(_ROWS)
        ]
        database.executemany("insert into orders values (?, ?, ?, ?)", rows)
    database.close()
    for number in range(_FILES):
        (folder / f"{number}.md").write_text(f"# Page {number}\n" + "What we know of it. " * 50)


def _context(folder: str, user: str) -> str:
    """Returns what a model is told of a user: about 30 kB."""
    database = sqlite3.connect(Path(folder) / "orders.sqlite")
    found = database.execute("select day, what from orders where user = ? order by day, id", (user,)).fetchmany(_SHOWN)
    database.close()
    pages = [path.read_text() for path in sorted(Path(folder).glob("*.md"))]
    return "\n".join([*(f"- {day}: {what}" for day, what in found), *pages])


def _seconds(folder: Path) -> tuple[float, float]:
    """Returns the median seconds of a first and of a second request."""
    context = playhead.cached(ttl=300)(_context)
    first: list[float] = []
    second: list[float] = []
    for round_number in range(_ROUNDS + 1):
        context.cache.clear()
        for times in (first, second):
            began = time.perf_counter()
            with playhead.run("request", user="ann"):
                context(str(folder), "user 3")
            if round_number:  # the first warms up
                times.append(time.perf_counter() - began)
        playhead.flush()
    return statistics.median(first), statistics.median(second)
