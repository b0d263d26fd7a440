"""G1: bytes and time of a 200-turn thread in our checkpointer ÷ in LangGraph's official Postgres saver."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from benchmarks.collector import collector
from benchmarks.durable.postgres import Postgres
from tests.support.bar import Row, at_most, not_measured, told

_TURNS = 200
_PEERS = ".venv-peers/bin/python"
_FORMS = {"delta": "with DeltaChannel", "plain": "without DeltaChannel"}
_OFFICIAL = """
    select sum(pg_total_relation_size(c.oid))::bigint
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind = 'r'
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A chat that was kept. `size`: bytes in Postgres, tables and indexes, after a vacuum."""

    size: int
    turn_ms: float
    last_turns_ms: float
    read_ms: float
    checkpoints: int

    def __str__(self) -> str:
        """Returns all figures."""
        return (
            f"{self.size:,} bytes; a turn {self.turn_ms:.1f} ms, of the last twenty {self.last_turns_ms:.1f} ms; read "
            f"by another saver in {self.read_ms:.0f} ms; {self.checkpoints} checkpoints"
        )


def measure() -> Iterator[Row]:
    """G1."""
    if not _has_official():
        yield not_measured("G1", "bytes of a LangGraph thread", "make peers PEERS=install")
        return
    for form, words in _FORMS.items():
        ours, official = _ours(form), _official(form)
        against = f"{ours.size:,} ÷ {official.size:,} bytes, {_TURNS} turns"
        what = f"bytes of a LangGraph thread {words} ÷ the Postgres saver's"
        ratio = ours.size / official.size
        yield (
            at_most("G1", what, ratio, 1 / 2, unit="x", against=against)
            if form == "delta"
            else told("G1", what, ratio, unit="x", against=against)
        )
        yield told("G1", f"our saver {words}", ours.turn_ms, unit="ms a turn", against=str(ours))
        yield told("G1", f"the Postgres saver {words}", official.turn_ms, unit="ms a turn", against=str(official))


def _ours(form: str) -> Kept:
    with collector() as at:
        before = at.database_bytes()
        told_by = _chat(sys.executable, "playhead", at.url, form)
        return _kept(told_by, at.database_bytes() - before)


def _official(form: str) -> Kept:
    with Postgres() as postgres, postgres.database("graph_threads") as dsn:
        told_by = _chat(_PEERS, "postgres", dsn, form)
        return _kept(told_by, asyncio.run(_size(dsn)))


async def _size(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("vacuum analyze")
        return int(await connection.fetchval(_OFFICIAL) or 0)
    finally:
        await connection.close()


def _chat(python: str, saver: str, place: str, form: str) -> str:
    ours = saver == "playhead"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path)) if ours else ""
    program = Path(__file__).with_name("chat.py")
    command = [python, str(program), saver, place, form, str(_TURNS)]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout


def _kept(printed: str, size: int) -> Kept:
    told_by = json.loads(printed.splitlines()[-1])
    if told_by["messages"] != 2 * _TURNS:
        raise ValueError(f"{told_by['messages']} messages were read, of {2 * _TURNS}")
    turns = [1000 * seconds for seconds in told_by["seconds"]]
    median = statistics.median
    return Kept(size, median(turns), median(turns[-20:]), 1000 * told_by["read"], told_by["checkpoints"])


def _has_official() -> bool:
    command = [_PEERS, "-c", "import langgraph.checkpoint.postgres"]
    return Path(_PEERS).exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0
