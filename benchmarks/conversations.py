"""CV1 to CV6: conversations and histories at a collector, on an embedded Postgres of its own.

CV1  time and bytes of a turn do not grow over 10,000 turns
CV2  100 writers that are killed at random lose and double nothing
CV3  two machines over an outage lose nothing, and come to one branch
CV4  the time of a save, at the collector and in the journal's folder
CV5  a history of 100 messages beside the list
CV6  what an engine keeps of 453 steps over one growing chat, beside lists
"""

import json
import statistics
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import playhead
from benchmarks.collector import BenchCollector, collector
from tests.support.bar import Row, at_least, at_most, told
from tests.support.counting_proxy import counting_proxy
from tests.support.long_chats import (
    MESSAGE,
    chat,
    engine_history,
    killed_writers,
    long_conversation,
    two_writers_over_an_outage,
)

_TURNS, _PART, _BEGUN_ANEW, _COMPARED = 10_000, 1_000, 100, 100
_KILLS, _OUTAGES, _SAVES, _STEPS = 100, 20, 60, 453


@contextmanager
def _configured() -> Generator[tuple[BenchCollector, Path]]:
    with collector() as there, tempfile.TemporaryDirectory(prefix="playhead-bench-") as folder:
        playhead.configure(endpoint=there.url, journal_dir=Path(folder) / "journal")
        try:
            yield there, Path(folder)
        finally:
            playhead.shutdown()


def measure_long() -> Iterator[Row]:
    with _configured() as (there, folder), counting_proxy(there.url) as proxy:
        playhead.configure(endpoint=proxy.url, journal_dir=folder / "journal")
        before = there.database_bytes()
        half = long_conversation("long", _TURNS // 2, proxy, begun_anew=_BEGUN_ANEW)
        middle = there.database_bytes()
        turns = half + long_conversation("long", _TURNS // 2, proxy, begun_anew=_BEGUN_ANEW)
        stored = [middle - before, there.database_bytes() - middle]
        times = _alternating_ms(("long", "short"))
        began = time.perf_counter()
        read = len(playhead.conversation("long").messages)
        seconds = time.perf_counter() - began
    assert read == 2 * (_TURNS + _COMPARED)
    first, last = turns[:_PART], turns[-_PART:]
    against = f"the last {_PART:,} of {_TURNS:,} turns, to the first; medians"
    sent = [statistics.median(turn.sent for turn in part) for part in (first, last)]
    beside = f"after {_TURNS:,} turns, to one of a conversation that has just begun; {_COMPARED} saves of each in turn"
    yield at_most("CV1", "time of a save", times[0] / times[1], 1.2, unit="x", against=beside)
    yield at_most("CV1", "bytes sent of a save", sent[1] / sent[0], 1.05, unit="x", against=against)
    halves = "what the second half adds to the database, to the first"
    yield at_most("CV1", "bytes stored", stored[1] / stored[0], 1.1, unit="x", against=halves)
    yield told("CV1", "a save", times[0], unit="ms", against=f"after {_TURNS:,} turns, median")
    yield told(
        "CV1", "bytes sent of a save", sent[1], unit="bytes", against=f"two messages of {len(MESSAGE)} characters"
    )
    yield told("CV1", "bytes stored of a turn", stored[1] / (_TURNS / 2), unit="bytes", against="the second half")
    yield told("CV1", "reading all messages", seconds, unit="s", against=f"{read:,} messages, by another object")


def _alternating_ms(names: Sequence[str]) -> list[float]:
    """Returns the median time of a save of each conversation. They are saved in turn, so that what else the machine
    does slows all of them."""
    conversations = [playhead.conversation(name) for name in names]
    times: list[list[float]] = [[] for _ in names]
    for number in range(_COMPARED):
        for conversation, seen in zip(conversations, times, strict=True):
            seen.append(_saved_turn_ms(conversation, number))
    return [statistics.median(seen) for seen in times]


def _saved_turn_ms(conversation: playhead.Conversation, number: int) -> float:
    conversation.append("user", f"question {number}: {MESSAGE}")
    conversation.append("assistant", f"answer {number}: {MESSAGE}")
    began = time.perf_counter()
    conversation.save()
    return (time.perf_counter() - began) * 1_000


def measure_kills() -> Iterator[Row]:
    with _configured() as (there, folder):
        came = killed_writers("killed", _KILLS, there.url, folder / "killed")
    against = f"{_KILLS} random kills, {came.acknowledged} acknowledged saves, {came.kept} messages kept"
    yield at_most("CV2", "acknowledged messages lost", came.lost, 0, unit="", against=against)
    yield at_most("CV2", "messages doubled", came.doubled, 0, unit="", against=against)
    yield at_most("CV2", "branches", came.branches, 0, unit="", against=against)


def measure_outages() -> Iterator[Row]:
    with _configured() as (there, folder), counting_proxy(there.url) as proxy:
        came = [
            two_writers_over_an_outage(f"outage {number}", proxy, there.url, folder / str(number))
            for number in range(_OUTAGES)
        ]
    against = f"{_OUTAGES} conversations of two machines over an outage"
    yield at_most("CV3", "messages lost", sum(each.lost for each in came), 0, unit="", against=against)
    one = sum(each.branches == 1 for each in came)
    yield at_least("CV3", "conversations with one branch", one, _OUTAGES, unit="", against=against)


def measure_saves() -> Iterator[Row]:
    with _configured() as (_, folder):
        there = _save_ms("there")
        playhead.configure(endpoint="http://127.0.0.1:9", journal_dir=folder / "folder")
        here = _save_ms("here")
    against = f"two messages more in a chat of 100, {_SAVES} saves"
    yield at_most("CV4", "a save in the folder", statistics.median(here), 200, unit="ms", against=f"{against}, median")
    yield told("CV4", "a save in the folder, p95", _p95(here), unit="ms", against=against)
    yield told("CV4", "a save at the collector", statistics.median(there), unit="ms", against=f"{against}, median")
    yield told("CV4", "a save at the collector, p95", _p95(there), unit="ms", against=against)


def _save_ms(name: str) -> list[float]:
    conversation = playhead.conversation(name)
    for message in chat(100):
        conversation.append(message)
    conversation.save()
    return [_saved_turn_ms(conversation, number) for number in range(_SAVES)]


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def measure_histories() -> Iterator[Row]:
    with _configured():
        messages = chat(100)
        history = playhead.History(messages, scope="workspace/flow")
        assert history.persist()
        share = len(json.dumps(history.to_json())) / len(json.dumps(messages))
        kept = engine_history("workspace/engine", _STEPS)
    yield at_most("CV5", "a history of 100 messages", share, 0.05, unit="x", against="the same as a list, in JSON")
    against = f"{_STEPS} steps over one growing chat, arguments and results: {kept.refs:,} bytes, lists {kept.lists:,}"
    yield at_most("CV6", "an engine's history", kept.refs / kept.lists, 0.2, unit="x", against=against)
    early, late = (statistics.median(part) * 1_000 for part in (kept.seconds[:50], kept.seconds[-50:]))
    yield told(
        "CV6", "a step's persist", late, unit="ms", against=f"median of the last 50 steps; the first: {early:.1f}"
    )
