"""Forks of a real program, told to a real collector: the parent's record is shared, and stored once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import openai
import pytest

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess
from tests.conftest import run as in_a_loop

STEPS = 12
TABLES = ("span_page", "event_page", "run_snapshot", "llm_call", "content", "thread_node")
executed: list[int] = []
mutex = threading.Lock()


@observe(kind="tool")
def work(number: int) -> str:
    with mutex:
        executed.append(number)
    # Every step says something of its own, so that what is stored of it is new.
    return f"worked on part {number}, which took {number * 37 % 11} days and cost {number * 7919 % 997} EUR"


@observe
def agent(client: openai.OpenAI) -> str:
    messages: list[Any] = [{"role": "system", "content": "You work."}, {"role": "user", "content": "go"}]
    for number in range(STEPS):
        said = client.chat.completions.create(model="m", messages=messages).choices[0].message.content
        messages.append({"role": "assistant", "content": said})
        try:
            messages.append({"role": "user", "content": work(number)})
        except RuntimeError as error:
            messages.append({"role": "user", "content": f"failed: {error}"})
    return str(messages[-1]["content"])


@dataclass
class Shop:
    """A program with a model and a collector; `parent` is a run that is recorded."""

    client: openai.OpenAI
    server: MockModelServer
    asking: playhead.Client
    database: str
    parent: str = ""

    def go(self) -> str:
        with playhead.run("shop", session="s1") as run:
            run.state["step"] = "begun"
            agent(self.client)
            run.state["step"] = "done"
        assert run.id is not None
        return run.id

    def events(self, run: str) -> list[Any]:
        return list(self.asking.events(run))

    def seqs(self, run: str, kind: str) -> list[int]:
        return [event["seq"] for event in self.events(run) if event["kind"] == kind]

    def answers(self, run: str) -> list[Any]:
        """Everything that is said of a run, but for the list of its forks."""
        asking, last = self.asking, len(self.events(run))
        summary: Any = {**asking.run(run)}
        for changes in ("forks", "fork_count", "more_forks", "links"):
            del summary[changes]
        lists: Any = (asking.messages, asking.llm_calls, asking.tool_calls, asking.spans, asking.decisions)
        lists += (asking.attributions,)
        states = [asking.state(run, at=seq) for seq in range(1, last + 1, 7)]
        return [summary, self.events(run), states, asking.tokens(run), *(list(ask(run)) for ask in lists)]


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    # Nothing is sealed meanwhile: that would be a change, too.
    with CollectorProcess(database_url=module_database_url, env={"PLAYHEAD_SEAL_AFTER_SECONDS": "3600"}) as collector:
        yield collector


@pytest.fixture
def shop(collector: CollectorProcess, tmp_path: Path) -> Iterator[Shop]:
    with MockModelServer() as server:
        server.otherwise(text("fine"))
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path)
        playhead.instrument("openai")
        try:
            with (
                openai.OpenAI(base_url=server.base_url, api_key="none") as client,
                playhead.Client(collector.url) as asking,
            ):
                shop = Shop(client, server, asking, collector.database)
                shop.parent = shop.go()
                assert playhead.flush(60)
                executed.clear()
                yield shop
        finally:
            playhead.uninstrument("openai")
            playhead.shutdown()


def stored(shop: Shop) -> dict[str, tuple[int, int]]:
    """Rows, and bytes in them, of each table in which something about a run is kept."""

    async def count() -> dict[str, tuple[int, int]]:
        connection = await asyncpg.connect(shop.database)
        try:
            query = "select count(*), coalesce(sum(pg_column_size(t.*)), 0) from {} as t"
            rows = {table: await connection.fetchrow(query.format(table)) for table in TABLES}
            return {table: (row[0], row[1]) for table, row in rows.items() if row}
        finally:
            await connection.close()

    return in_a_loop(count())


def added(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {table: (after[table][0] - before[table][0], after[table][1] - before[table][1]) for table in TABLES}


def test_a_fork_costs_what_it_does_itself_and_its_parent_stays_as_it_was(shop: Shop) -> None:
    as_it_was = shop.answers(shop.parent)
    begun, asked = shop.seqs(shop.parent, "tool_called"), shop.seqs(shop.parent, "llm_called")
    costs: list[int] = []
    for step in (1, STEPS // 2, STEPS - 1):
        before, requests = stored(shop), len(shop.server.requests)
        with playhead.fork(shop.parent, at=begun[step], outcome={"error": f"down at {step}"}) as fork:
            mine = shop.go()
        assert mine == fork.id
        assert playhead.flush(60)
        # Nothing before the step is done again.
        assert (fork.report.answered, fork.report.divergences) == (2 * step + 1, [])
        assert len(shop.server.requests) - requests == STEPS - step - 1
        assert executed == list(range(step + 1, STEPS))
        executed.clear()
        run: Any = shop.asking.run(mine)
        assert (run["fork_of"], run["fork_at"], run["shared"]) == (shop.parent, begun[step], begun[step] - 1)
        assert (run["llm_calls"], run["tool_calls"], run["errors"]) == (STEPS, STEPS, 1)
        assert run["completeness"]["complete"]
        more = added(before, stored(shop))
        calls = STEPS - step
        assert more["llm_call"][0] == calls - 1
        assert more["event_page"][0] == 1
        # A message that the parent has is not stored again, nor is a node of its threads.
        assert more["thread_node"][0] <= 2 * calls + 2
        costs.append(sum(bytes_more for _, bytes_more in more.values()))
        # The shared events are the parent's own, and those of the fork follow.
        history, parents = shop.events(mine), shop.events(shop.parent)
        assert history[: begun[step] - 1] == parents[: begun[step] - 1]
        assert [event["seq"] for event in history] == list(range(1, len(history) + 1))
        assert {event["run"] for event in history[begun[step] - 1 :]} == {mine}
        failed = [event for event in history if event["kind"] == "tool_failed"]
        assert [event["data"]["message"] for event in failed] == [f"down at {step}"]
        told = [event["refs"]["message"] for event in history if event["kind"] == "message_added"]
        assert told == shop.asking.state(mine)["history"]
        assert len(list(shop.asking.messages(mine))) == len(told) == 2 * STEPS + 1
        for seq in range(1, begun[step], 11):
            there = shop.asking.state(shop.parent, at=seq)
            assert shop.asking.state(mine, at=seq) == {**there, "run": mine}
        seen = shop.asking.context(mine, at=asked[step])["messages"]
        assert seen == shop.asking.context(shop.parent, at=asked[step])["messages"]
    # The later it parts, the less it stores: a fork of the last step a fraction of one of the first.
    assert costs[0] > costs[1] > costs[2]
    assert costs[2] < costs[0] / 2
    assert shop.answers(shop.parent) == as_it_was
    forks = [fork["at"] for fork in shop.asking.run(shop.parent)["forks"]]
    assert forks == [begun[step] for step in (STEPS - 1, STEPS // 2, 1)]


def test_twenty_forks_of_one_step_at_once_are_all_right_and_share_what_was_before(shop: Shop) -> None:
    step, forks = STEPS - 3, 20
    at = shop.seqs(shop.parent, "tool_called")[step]
    before = stored(shop)

    def fork(number: int) -> str:
        with playhead.fork(shop.parent, at=at, outcome={"error": f"way {number}"}) as forked:
            shop.go()
        assert (forked.report.answered, forked.report.divergences) == (2 * step + 1, [])
        return forked.id

    with ThreadPoolExecutor(forks) as threads:
        made = list(threads.map(fork, range(forks)))
    assert playhead.flush(60)
    assert sorted(executed) == sorted(list(range(step + 1, STEPS)) * forks)
    with ThreadPoolExecutor(4) as threads:
        states = list(threads.map(shop.asking.state, made))
    for number, (run, state) in enumerate(zip(made, states, strict=True)):
        assert (state["run"], state["status"], state["open_calls"]) == (run, "completed", [])
        assert (state["llm_calls"], state["tool_calls"], len(state["history"])) == (STEPS, STEPS, 2 * STEPS + 1)
        assert [error["message"] for error in state["errors"]] == [f"way {number}"]
    assert {row["run"] for row in shop.asking.runs(fork_of=shop.parent)} == set(made)
    more = added(before, stored(shop))
    assert more["event_page"][0] == forks
    assert more["llm_call"][0] == forks * (STEPS - step - 1)
    assert more["thread_node"][0] <= forks * (2 * (STEPS - step) + 2)


def test_a_fork_of_a_fork_has_the_history_of_both(shop: Shop) -> None:
    begun = shop.seqs(shop.parent, "tool_called")
    with playhead.fork(shop.parent, at=begun[4], outcome={"error": "once"}) as first:
        shop.go()
    assert playhead.flush(60)
    mine = shop.seqs(first.id, "tool_called")
    for at in (2, 8):  # in what the first shares with its parent, and behind where it parts
        with playhead.fork(first.id, at=mine[at], outcome={"error": "twice"}) as second:
            shop.go()
        assert playhead.flush(60)
        history = shop.events(second.id)
        assert history[: mine[at] - 1] == shop.events(first.id)[: mine[at] - 1]
        errors = [error["message"] for error in shop.asking.state(second.id)["errors"]]
        assert errors == (["twice"] if at < 4 else ["once", "twice"])
        assert shop.asking.run(second.id)["completeness"]["complete"]
    assert {event["run"] for event in history} == {shop.parent, first.id, second.id}
    compared = shop.asking.compare(shop.parent, first.id)
    assert (compared["common"]["calls"], compared["common"]["shared"]) == (9, begun[4] - 1)
    parts = compared["parts"]
    assert parts is not None
    assert (parts["op"], parts["differs"]) == ("changed", ["status", "error", "result"])
    assert compared["counts"] == {"same": 2 * STEPS - 2, "similar": 1, "changed": 1, "only_a": 0, "only_b": 0}
