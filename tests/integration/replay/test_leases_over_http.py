"""Who goes on with a run, asked over HTTP: two holders, expiry, takeover, renewal after a loss."""

import asyncio
import re
from collections.abc import Iterator

import asyncpg
import pytest

from playhead.client import Client
from playhead.errors import BadRequest, Conflict, NotFound
from playhead_collector.process import CollectorProcess

RUN = "ab" * 16


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as collector:
        yield collector


@pytest.fixture
def client(collector: CollectorProcess, module_database_url: str) -> Iterator[Client]:
    with Client(collector.url) as client:
        yield client
    asyncio.run(execute(module_database_url, "delete from run_lease"))


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


def take(client: Client, holder: str, *, force: bool = False) -> str:
    lease = client.take_lease(RUN, holder=holder, process=f"process 1 on {holder}", seconds=30, force=force)
    assert lease["run"] == RUN
    return lease["holder"]


def test_of_two_holders_one_has_it_until_it_gives_it_back(client: Client):
    assert take(client, "a") == "a"
    moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d UTC"
    with pytest.raises(Conflict) as refused:
        take(client, "b")
    holder = f"run {RUN} belongs to process 1 on a since {moment}, until {moment}"
    assert re.fullmatch(f"{holder}, or longer if that process renews its lease", str(refused.value))
    assert client.release_lease(RUN, holder="b") == {"released": False}
    assert client.release_lease(RUN, holder="a") == {"released": True}
    assert take(client, "b") == "b"


def test_a_lease_runs_out_by_the_database_s_clock(client: Client, module_database_url: str):
    take(client, "a")
    asyncio.run(execute(module_database_url, "update run_lease set until = now() - interval '1 second'"))
    assert take(client, "b") == "b"


def test_who_was_overtaken_hears_of_it_when_it_renews(client: Client):
    take(client, "a")
    first = client.renew_lease(RUN, holder="a", seconds=30)
    assert first["until"] > first["since"]
    assert take(client, "b", force=True) == "b"
    with pytest.raises(Conflict, match=f"run {RUN} belongs to process 1 on b"):
        client.renew_lease(RUN, holder="a", seconds=30)
    client.release_lease(RUN, holder="b")
    with pytest.raises(Conflict, match=f"run {RUN} was taken over by process 1 on b"):
        client.renew_lease(RUN, holder="a", seconds=30)


def test_what_cannot_be_meant_is_refused(client: Client):
    with pytest.raises(NotFound, match="is no run's id"):
        client.take_lease("last", holder="a", process="p", seconds=30)
    with pytest.raises(BadRequest, match="seconds"):
        client.take_lease(RUN, holder="a", process="p", seconds=0)


def test_a_holder_whose_records_may_not_have_arrived_is_named_to_who_asks(client: Client):
    asked = {"holder": "b", "process": "process 2 on b", "seconds": 30, "unless_undelivered": True}
    with pytest.raises(Conflict, match="nobody has said yet that all its records have arrived") as refused:
        client.take_lease(RUN, **asked)
    assert refused.value.code == "holder_unknown"
    client.take_lease(RUN, holder="a", process="process 1 on a", seconds=0.001)
    with pytest.raises(Conflict, match=f"run {RUN} belonged to process 1 on a, which has not said") as refused:
        client.take_lease(RUN, **asked)
    assert refused.value.code == "records_undelivered"
    assert client.take_lease(RUN, **asked, attempt=1, force=True)["attempt"] == 1
    with pytest.raises(Conflict, match="belongs to process 2 on b"):
        client.renew_lease(RUN, holder="a", seconds=30, attempt=0)
