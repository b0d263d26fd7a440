"""Forgetting over HTTP: the preview, what is refused, how far it is, what a forgotten content answers."""

from collections.abc import AsyncIterator

import httpx
import pytest

from playhead.client import AsyncClient
from playhead.errors import Conflict, NotFound
from playhead.model import names
from playhead.model.canonical import content_of
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import RUN, START_NS, P, run_number, span

OTHER = run_number(1)
LATER_NS = START_NS + 2 * 86_400 * 10**9


class Clock:
    now_ns = START_NS

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(database_url: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    recipients = [Recipient("langfuse"), Recipient("other", all_projects=True, sample=0.0)]
    store = await connect(database_url, pool_size=3, clock=clock, recipients=recipients)
    yield store
    await store.close()


@pytest.fixture
async def client(store: PostgresStore, clock: Clock) -> AsyncIterator[AsyncClient]:
    app = create_app(CollectorSettings(), store, clock=clock)
    async with httpx.ASGITransport(app) as http, AsyncClient("http://localhost", transport=http) as client:
        yield client


async def record(store: PostgresStore, run: str, user: str, *texts: str, **more: object) -> None:
    spans = [span(n, run=run, INPUT_REF=content_of(text).ref) for n, text in enumerate(texts, 1)]
    for each in spans:
        each.attributes = {**each.attributes, names.USER: user}
    spans[0].attributes |= {names.RUN_ROOT: True, names.KIND: "agent", **more}
    await store.spans.ingest(P, Batch(spans=spans, contents=list(map(content_of, texts))))


async def test_a_user_is_forgotten_and_the_report_says_what_stays_and_who_has_copies(
    client: AsyncClient, store: PostgresStore, clock: Clock
):
    await record(store, RUN, "u1", "only u1 had this", "both had this")
    await record(store, OTHER, "u2", "both had this")
    clock.now_ns = LATER_NS
    found = await client.preview_forgetting("user", "u1")
    assert found == {
        "runs": [RUN], "run_count": 1, "forks": [], "conversations": 0, "contents": 2, "forwarded": {"langfuse": 1},
    }  # fmt: skip
    assert (await client.run(RUN))["user"] == "u1"  # nothing is changed
    done = await client.forget("user", "u1")
    assert (done["phase"], done["run_count"], done["runs"]) == ("done", 1, [RUN])
    assert (done["candidates"], done["contents"], done["of_others"]) == (2, 1, 1)
    assert done["refs_of_others"] == [{"ref": content_of("both had this").ref, "runs": [OTHER]}]
    assert (done["forwarded"], done["not_forwarded"]) == ({"langfuse": 1}, {"langfuse": 1})
    assert any("langfuse" in advice for advice in done["advice"])
    assert any("Backups" in advice for advice in done["advice"])
    assert await client.forgetting(done["id"]) == done
    [listed] = (await client.forgettings())["items"]
    assert (listed["id"], listed["requested_by"], listed["named_again"]) == (done["id"], None, 0)
    with pytest.raises(NotFound):
        await client.run(RUN)
    with pytest.raises(NotFound, match="was forgotten on 20") as forgotten:
        await client.content(content_of("only u1 had this").ref)
    assert forgotten.value.code == "content_forgotten"
    assert (await client.content(content_of("both had this").ref)).data == b"both had this"
    assert (await client.forget("user", "u1"))["run_count"] == 0  # nothing is left


async def test_what_was_recorded_just_now_says_when_its_contents_go(client: AsyncClient, store: PostgresStore):
    await record(store, RUN, "u1", "recent")
    held = await client.forget("run", RUN)
    assert (held["phase"], held["run_count"], held["contents"]) == ("contents", 1, 0)
    assert held["contents_until"] is not None
    with pytest.raises(NotFound):
        await client.run(RUN)
    again = await client.forget("run", RUN, id=held["id"])  # the same request, sent again
    assert again["run_count"] == 1


async def test_what_cannot_be_forgotten_is_refused(client: AsyncClient, store: PostgresStore, clock: Clock):
    await record(store, RUN, "u1", "parent")
    await record(store, OTHER, "u2", "fork", **{names.FORK_OF: RUN, names.FORK_AT: 1})
    clock.now_ns = LATER_NS
    with pytest.raises(Conflict, match=OTHER):
        await client.forget("user", "u1")
    assert (await client.forgettings())["items"] == []
    with pytest.raises(NotFound, match="no run"):
        await client.forget("run", "f" * 32)
    with pytest.raises(NotFound, match="nobody asked"):
        await client.forgetting("f" * 32)
    done = await client.forget("user", "u1", forks=True)
    assert sorted(done["runs"]) == sorted([RUN, OTHER])
