"""Forks whose parents are late, gone, still going on, or their own children; asked over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from playhead.client import AsyncClient
from playhead.errors import NotFound
from playhead.model import names
from playhead.model.message import text_message
from playhead.projection.inputs import Parent
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.projection import ProjectionRunner
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres import projecting
from playhead_collector.store.postgres.packs import PartReader
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import START_NS, Recorder, conversation

PARENT, FORK, SECOND = "01" * 16, "02" * 16, "03" * 16


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(database_url, pool_size=3)
    yield store
    await store.close()


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def http(store: PostgresStore) -> AsyncIterator[httpx.AsyncBaseTransport]:
    async with httpx.ASGITransport(create_app(CollectorSettings(), store)) as transport:
        yield transport


@pytest.fixture
async def client(http: httpx.AsyncBaseTransport) -> AsyncIterator[AsyncClient]:
    async with AsyncClient("http://localhost", transport=http) as client:
        yield client


def forked(parent: Recorder, tool: int, run: str = FORK, of: str | None = None) -> Recorder:
    """A fork that parts from `parent` at its tool call `tool` (0, 1, ...), where it finds something else."""
    called = [span for span in parent.spans if span.attributes[names.KIND] == "tool"][tool]
    number = called.attributes[names.CALL_ORDER]
    child = Recorder(run, start_ns=START_NS + 10**12)
    child.root.attributes |= {
        names.FORK_OF: of or parent.run, names.FORK_ORDER: number, names.CALL_ORDER: number,
    }  # fmt: skip
    child._order = number  # its root is the first of its own
    child.tool("search", {"order": tool}, ["nothing"])
    child.model([text_message("user", "And now?")], text_message("assistant", "No idea."))
    return child


async def ingest(store: PostgresStore, *recorders: Recorder) -> None:
    for recorder in recorders:
        await store.spans.ingest(PROJECT, recorder.batch())


async def kinds(client: AsyncClient, run: str) -> list[tuple[int, str, str]]:
    return [(event["seq"], event["kind"], event["run"]) async for event in client.events(run)]


async def test_a_fork_whose_parent_comes_later_says_so_and_is_whole_then(store: PostgresStore, client: AsyncClient):
    parent = conversation(PARENT, 3)
    child = forked(parent, 1)
    await ingest(store, child)
    alone = await client.run(FORK)
    assert (alone["fork_of"], alone["fork_at"], alone["shared"]) == (PARENT, None, None)
    assert alone["completeness"] == {
        "complete": False, "spans_missing": 0, "content_pending": 0, "parent_missing": True, "sealed": False,
        "retained": "hot",
    }  # fmt: skip
    assert (await kinds(client, FORK))[0] == (1, "run_started", FORK)
    await ingest(store, parent)
    whole = await client.run(FORK)
    assert whole["completeness"]["complete"]
    history, parents = await kinds(client, FORK), await kinds(client, PARENT)
    assert whole["fork_at"] == [seq for seq, kind, _ in parents if kind == "tool_called"][1]
    shared = whole["shared"] or 0
    assert history[:shared] == parents[:shared]
    assert [kind for _, kind, _ in history[shared : shared + 2]] == ["run_started", "run_forked"]
    question = next(event for event in [each async for each in client.events(FORK)] if event["kind"] == "message_added")
    about = await client.about(question["refs"]["message"], run=FORK)
    calls = [seq for seq, kind, _ in history if kind == "llm_called" and seq < shared]
    assert [each["seq"] for each in about["items"][0]["places"] if each["kind"] == "llm_called"] == calls


async def test_a_fork_that_is_projected_while_its_parent_is_has_what_they_share(
    store: PostgresStore, client: AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    parent = conversation(PARENT, 3)
    await ingest(store, forked(parent, 1), parent)
    is_read, goes_on = asyncio.Event(), asyncio.Event()
    original = projecting.read_parent

    async def waiting(conn: Conn, project_id: int, run: UUID, above: UUID, parts: PartReader | None) -> Parent | None:
        found = await original(conn, project_id, run, above, parts)
        is_read.set()
        await goes_on.wait()
        return found

    monkeypatch.setattr(projecting, "read_parent", waiting)
    fork = asyncio.ensure_future(client.run(FORK))
    await is_read.wait()  # before its parent has events
    assert (await client.run(PARENT))["events"] > 10
    goes_on.set()
    await fork
    assert (await client.run(FORK))["fork_at"] is not None
    [listed] = (await client.run(PARENT))["forks"]
    assert (listed["run"], listed["at"]) == (FORK, (await client.run(FORK))["fork_at"])


async def test_a_fork_whose_parent_is_deleted_answers_every_question_or_says_what_is_missing(
    store: PostgresStore, client: AsyncClient, http: httpx.AsyncBaseTransport, sql: asyncpg.Connection
):
    parent = conversation(PARENT, 4)
    second = forked(parent, 1, SECOND, of=FORK)  # parts where FORK still shares its parent's record
    await ingest(store, parent, forked(parent, 2), second)
    before = await kinds(client, FORK)
    assert (await client.run(SECOND))["completeness"]["complete"]
    for table in ("run", "run_news", "event_page", "span_page", "run_snapshot", "llm_call"):
        await sql.execute(f"delete from {table} where run_id = $1::uuid", PARENT)
    for run in (FORK, SECOND):
        summary = await client.run(run)
        assert (summary["completeness"]["complete"], summary["completeness"]["parent_missing"]) == (False, True)
    listed = {row["run"]: row["completeness"]["parent_missing"] async for row in client.runs()}
    assert listed == {FORK: True, SECOND: True}
    shared = (await client.run(FORK))["shared"] or 0
    assert await kinds(client, FORK) == before[shared:]
    with pytest.raises(NotFound, match=f"stands in the record of run {PARENT}.* own events begin at {shared + 1}"):
        await client.state(FORK, at=3)
    assert (await client.state(FORK))["seq"] == before[-1][0]
    await every_question_is_answered(http, FORK, before[-1][0])
    # News of the fork itself change no seq of it.
    await store.spans.ingest(PROJECT, Batch(logs=[said_late(forked(parent, 2))]))
    assert next(seq for seq, _, _ in await kinds(client, FORK)) == shared + 1


def said_late(recorder: Recorder) -> Any:
    recorder.say(names.ANNOTATION)
    return recorder.logs[-1]


async def every_question_is_answered(http: httpx.AsyncBaseTransport, run: str, last: int) -> None:
    async with httpx.AsyncClient(transport=http, base_url="http://localhost/api/v1") as asking:
        whole = ("events", "state", "context", "messages", "llm-calls", "tool-calls", "spans", "decisions", "tokens")
        paths = [*whole, "attributions", "compressions", "diff", f"diff?from={last}&to={last}", f"compare/{run}"]
        for seq in {*range(1, last + 1, 3), last}:
            paths += [f"{path}?at={seq}" for path in ("state", "context", "messages")]
            paths += [f"{path}/{seq}" for path in ("decisions", "attributions", "causes", "reasoning", "compressions")]
        for path in paths:
            answer = await asking.get(f"/runs/{run}/{path}")
            assert answer.status_code in (200, 404), (path, answer.text)


async def test_every_question_about_a_fork_has_its_answer(
    store: PostgresStore, client: AsyncClient, http: httpx.AsyncBaseTransport
):
    parent = conversation(PARENT, 3)
    await ingest(store, parent, forked(parent, 1))
    last = (await client.run(FORK))["events"]
    await every_question_is_answered(http, FORK, last)
    asked = [call["seq"] async for call in client.llm_calls(FORK)]
    assert [call["seq"] async for call in client.llm_calls(PARENT)][:2] == asked[:2]
    shared, theirs = await client.decision(FORK, asked[0]), await client.decision(PARENT, asked[0])
    assert shared["elsewhere"] == theirs["elsewhere"] == []  # it is one call, not two


async def test_a_fork_and_its_parent_are_compared_over_http_by_both_clients(
    store: PostgresStore, client: AsyncClient, http: httpx.AsyncBaseTransport
):
    parent = conversation(PARENT, 3)
    await ingest(store, parent, forked(parent, 1))
    answer = await client.compare(PARENT, FORK)
    shared = (await client.run(FORK))["shared"]
    assert answer["common"]["shared"] == shared
    assert answer["common"]["calls"] == 3  # a model, a tool, and the model that asked for the other tool
    parts = answer["parts"]
    assert parts is not None
    assert parts["a"] is not None
    assert parts["b"] is not None
    assert (parts["op"], parts["differs"], parts["a"]["name"]) == ("changed", ["result"], "search")
    assert parts["changes"] == [{"what": "result", "lines": ['-[0]: "order 1 is on its way"', '+[0]: "nothing"']}]
    assert parts["a"]["seq"] == (shared or 0) + 1
    assert parts["b"]["seq"] > parts["a"]["seq"]  # behind run_started and run_forked
    assert "answer" in answer["outcome"]["differs"]
    counts = answer["counts"]
    calls = [
        len([call async for call in ask(run)])
        for run in (PARENT, FORK)
        for ask in (client.llm_calls, client.tool_calls)
    ]
    both = counts["same"] + counts["similar"] + counts["changed"]
    assert (both + counts["only_a"], both + counts["only_b"]) == (sum(calls[:2]), sum(calls[2:]))
    assert (await client.compare(FORK, FORK))["parts"] is None
    first = await client.compare(PARENT, FORK, limit=1)
    rest = await client.compare(PARENT, FORK, cursor=first["next_cursor"])
    assert [*first["items"], *rest["items"]] == answer["items"]
    with pytest.raises(NotFound, match="there is no run"):
        await client.compare(PARENT, "ff" * 16)


async def test_what_a_parent_that_goes_on_learns_of_its_past_shows_in_the_fork(
    store: PostgresStore, client: AsyncClient
):
    parent = conversation(PARENT, 3)
    late = parent.spans[1]
    fork = forked(parent, 1)
    whole = parent.batch(ended=False)
    await store.spans.ingest(
        PROJECT, Batch([s for s in whole.spans if s is not late], whole.logs, whole.contents, whole.threads)
    )
    await ingest(store, fork)
    early = await client.run(FORK)
    await store.spans.ingest(PROJECT, Batch([late]))
    now = await client.run(FORK)
    assert (early["shared"] or 0) < (now["shared"] or 0)
    assert await kinds(client, FORK) == [
        *(await kinds(client, PARENT))[: now["shared"] or 0],
        *[each for each in await kinds(client, FORK) if each[2] == FORK],
    ]
    assert (await client.state(FORK))["llm_calls"] == 3  # two that are shared, and one


async def test_a_fork_is_sealed_after_its_parent(store: PostgresStore):
    now = 4 * 10**18
    runner = ProjectionRunner(store.projections, clock=lambda: now, seal_after_s=0)
    parent = conversation(PARENT, 2)
    fork = forked(parent, 1)
    await store.spans.ingest(PROJECT, parent.batch(ended=False))
    await ingest(store, fork)
    await runner.run_once()
    await runner.run_once()
    assert not (await row(store, FORK)).sealed
    await store.spans.ingest(PROJECT, parent.batch())
    await runner.run_once()
    await runner.run_once()
    assert ((await row(store, PARENT)).sealed, (await row(store, FORK)).sealed) == (True, True)
    assert await store.projections.sealable_runs(now, now, 10) == []
    await runner.stop()


async def row(store: PostgresStore, run: str) -> Any:
    return await store.runs.get(PROJECT, run)


async def test_runs_that_claim_to_be_forks_of_each_other_are_answered_as_far_as_they_go(
    store: PostgresStore, client: AsyncClient, http: httpx.AsyncBaseTransport
):
    one = conversation(PARENT, 2)
    other = forked(one, 1)
    one.root.attributes |= {names.FORK_OF: FORK, names.FORK_ORDER: 3}
    await ingest(store, one, other)
    for run in (PARENT, FORK):
        summary = await client.run(run)
        assert summary["events"] == (await kinds(client, run))[-1][0]
        await every_question_is_answered(http, run, summary["events"])
    assert len(await store.projections.unprojected_runs(10)) == 0


async def test_a_fork_of_a_fork_of_a_fork_and_so_on_is_answered_however_many_there_are(
    store: PostgresStore, client: AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    """Anybody who may send spans can say that a run is a fork, and the next one a fork of that."""
    runs = [f"{number:032x}" for number in range(1, 400)]
    batch = Batch()
    for run, above in zip(runs[1:], runs, strict=False):
        child = Recorder(run)
        child.root.attributes |= {names.FORK_OF: above, names.FORK_ORDER: 1}
        batch = Batch(spans=[*batch.spans, *child.batch().spans])
    await store.spans.ingest(PROJECT, batch)
    projected: list[str] = []
    original = ProjectionRunner.project_now

    async def counted(self: ProjectionRunner, project_id: int, run: str) -> bool:
        projected.append(run)
        return await original(self, project_id, run)

    monkeypatch.setattr(ProjectionRunner, "project_now", counted)
    assert (await client.run(runs[-1]))["fork_of"] == runs[-2]
    assert len(projected) < 2 * 60  # those further above are left to the background


async def test_snapshots_of_a_fork_s_own_events_hold_the_history_that_it_shares(
    store: PostgresStore, client: AsyncClient
):
    parent = conversation(PARENT, 130)
    fork = forked(parent, 100)
    messages = [text_message("user", "And now?")]
    for n in range(110):
        messages += [text_message("assistant", f"No idea {n}."), text_message("user", f"And {n}?")]
        fork.model(messages, text_message("assistant", f"No idea {n + 1}."))
        fork.change("n", n)
    await ingest(store, parent, fork)
    summary = await client.run(FORK)
    shared = summary["shared"] or 0
    assert shared > 512  # so that the parent has snapshots which are shared
    assert summary["events"] - shared > 512
    told = [event async for event in client.events(FORK, kinds=["message_added"])]
    for at in (shared - 1, shared + 1, shared + 511, shared + 512, summary["events"]):
        state = await client.state(FORK, at=at)
        assert state["history"] == [event["refs"]["message"] for event in told if event["seq"] <= at]


async def test_forks_parents_and_siblings_stand_in_each_other_s_decision_trees(
    store: PostgresStore, client: AsyncClient
):
    parent, twin = conversation(PARENT, 3), conversation(SECOND, 3)
    child = forked(parent, 1)
    await ingest(store, parent, child, twin)

    async def branches(run: str) -> list[tuple[int, str, str]]:
        tree = await client.tree(run)
        assert tree["branches"] == []
        return [(node["seq"], branch["kind"], branch["run"]) for node in tree["items"] for branch in node["branches"]]

    assert {row["run"] async for row in client.runs()} == {PARENT, FORK, SECOND}  # all are projected
    fork_at = (await client.run(FORK))["fork_at"]
    assert fork_at is not None
    nodes = (await client.tree(PARENT))["items"]
    after_fork = next(node["seq"] for node in nodes if node["seq"] >= fork_at)
    last = [node["seq"] for node in nodes if node["kind"] == "tool_selection"][-1]
    assert await branches(PARENT) == [(after_fork, "fork", FORK), (last, "sibling", SECOND)]
    await client.score(FORK, "reward", 1.0, comment="by hand")
    [fork_branch] = [branch for node in (await client.tree(PARENT))["items"] for branch in node["branches"]][:1]
    assert fork_branch["outcome"]["scores"] == [{"name": "reward", "value": 1.0, "label": None}]
    kinds = {(kind, run) for _, kind, run in await branches(FORK)}
    assert kinds == {("parent", PARENT), ("sibling", SECOND)}
    assert {(kind, run) for _, kind, run in await branches(SECOND)} == {("sibling", PARENT)}
