"""A run by its id, a part of it, or `last`."""

import pytest

from playhead_collector.errors import Refused
from playhead_collector.read.record import open_record, run_named
from tests.support.readers.fake import FakeRunner, FakeStore

ONE, OTHER = "0190f5fe" * 3 + "aaaa0001", "0190f5fe" * 3 + "aaaa0002"


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    store.keep_run([], ONE)
    store.keep_run([], OTHER)
    return store


@pytest.mark.parametrize("name", [ONE, "0001", "A0001", f" {ONE.upper()} ", "feaaaa0001"])
async def test_a_run_is_found_by_its_id_or_by_a_part_that_no_other_has(store: FakeStore, name: str):
    assert await run_named(store, 1, name) == ONE
    assert (await open_record(store, FakeRunner(), 1, name.strip())).run == ONE


async def test_last_is_the_newest(store: FakeStore):
    assert await run_named(store, 1, "last") == OTHER
    with pytest.raises(Refused, match="no run has been recorded yet"):
        await run_named(FakeStore(), 1, "last")


async def test_a_part_that_several_have_names_them(store: FakeStore):
    with pytest.raises(Refused, match=f"several runs have '0190f5'.*{OTHER}, {ONE}.*write more") as refused:
        await run_named(store, 1, "0190f5")
    assert refused.value.status == 404


@pytest.mark.parametrize("name", ["", "xyz", "12%", "\x00", "f" * 33, "0003"])
async def test_what_no_run_has_is_not_found(store: FakeStore, name: str):
    with pytest.raises(Refused, match="there is no run") as refused:
        await run_named(store, 1, name)
    assert refused.value.status == 404
