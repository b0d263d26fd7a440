"""Long conversations at a collector: a turn costs what is new, kills and outages lose and double nothing. Full sizes
are in `benchmarks/conversations.py`."""

import json
import statistics
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import playhead
from playhead_collector.process import CollectorProcess
from tests.support.counting_proxy import CountingProxy, counting_proxy
from tests.support.long_chats import (
    chat,
    engine_history,
    killed_writers,
    long_conversation,
    two_writers_over_an_outage,
)

Machine = Callable[..., None]


@pytest.fixture
def name() -> str:
    return f"long {uuid.uuid4().hex[:12]}"


@pytest.fixture
def proxy(collector: CollectorProcess) -> Iterator[CountingProxy]:
    with counting_proxy(collector.url) as proxy:
        yield proxy
        playhead.shutdown()


def test_a_turn_sends_what_is_new_however_long_the_conversation_is(
    machine: Machine, proxy: CountingProxy, name: str, tmp_path: Path
):
    playhead.configure(endpoint=proxy.url, journal_dir=tmp_path)
    turns = long_conversation(name, 60, proxy, begun_anew=10)
    first, last = ([turn.sent for turn in part] for part in (turns[5:20], turns[-15:]))
    assert statistics.median(last) < 1.05 * statistics.median(first)
    assert statistics.median(last) < 3 * 800  # the two messages, and what requests have around them
    assert len(playhead.conversation(name)) == 120


def test_kills_lose_and_double_nothing(machine: Machine, collector: CollectorProcess, name: str, tmp_path: Path):
    came = killed_writers(name, 10, collector.url, tmp_path / "killed")
    assert (came.lost, came.doubled, came.branches) == (0, 0, 0)
    assert came.acknowledged >= 10
    assert came.kept - came.acknowledged <= 10  # of each kill, at most the save that was under way


def test_two_writers_over_an_outage_come_to_one_branch(
    machine: Machine, collector: CollectorProcess, proxy: CountingProxy, name: str, tmp_path: Path
):
    came = two_writers_over_an_outage(name, proxy, collector.url, tmp_path)
    assert (came.lost, came.branches) == (0, 1)


def test_an_engine_keeps_refs_of_a_growing_chat(machine: Machine, name: str):
    kept = engine_history(name, 30)
    assert kept.refs <= 0.2 * kept.lists


def test_a_chat_of_a_hundred_messages_is_handed_on_as_a_twentieth(machine: Machine, name: str):
    history = playhead.History(chat(100), scope=name)
    assert history.persist()
    assert len(json.dumps(history.to_json())) <= 0.05 * len(json.dumps(chat(100)))
