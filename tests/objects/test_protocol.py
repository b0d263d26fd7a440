"""The object store speaks S3: what is written is read, deleted and listed; what fails is told with a sentence."""

import random

import pytest

from playhead_collector.errors import ObjectStoreUnavailable
from playhead_collector.store.objects.obstore_store import ObstoreStore, open_object_store
from playhead_collector.store.ports.objects import ObjectGone
from tests.objects.conftest import BUCKET
from tests.support.object_proxy import proxied

URL = f"s3://{BUCKET}/some/prefix"


def opened(monkeypatch: pytest.MonkeyPatch, url: str, seconds: float = 10.0) -> ObstoreStore:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    return open_object_store(URL, seconds, seconds)


async def test_what_is_written_is_read_listed_and_deleted(monkeypatch: pytest.MonkeyPatch, s3_url: str):
    store = opened(monkeypatch, s3_url)
    data = random.Random(1).randbytes(6_000_000)  # more than a part of an upload in parts
    await store.put("1/2026-01/one", data)
    await store.put("1/2026-01/two", b"small")
    await store.put("12/2026-01/three", b"of another project")
    assert await store.size("1/2026-01/one") == len(data)
    assert await store.size("1/2026-01/none") is None
    ranges = [(0, 10), (5_000_000, 1_000), (20, 30)]
    assert await store.get_ranges("1/2026-01/one", ranges) == [data[at : at + length] for at, length in ranges]
    assert sorted(await store.keys("1")) == ["1/2026-01/one", "1/2026-01/two"]
    await store.delete(["1/2026-01/one", "1/2026-01/none", "1/2026-01/two"])
    assert await store.keys() == ["12/2026-01/three"]
    with pytest.raises(ObjectGone):
        await store.get_ranges("1/2026-01/one", [(0, 1)])


async def test_ranges_near_each_other_are_one_request_and_deletions_too(monkeypatch: pytest.MonkeyPatch, moto_url: str):
    with proxied(moto_url) as proxy:
        store = opened(monkeypatch, proxy.url)
        for n in range(20):
            await store.put(f"1/{n}", bytes(100_000))
        proxy.requests.clear()
        await store.get_ranges("1/0", [(n * 1_000, 500) for n in range(90)])
        assert proxy.requests == {"GET": 1}
        proxy.requests.clear()
        await store.delete([f"1/{n}" for n in range(20)])
        assert proxy.requests == {"POST": 1}
    assert await opened(monkeypatch, moto_url).keys() == []


@pytest.mark.parametrize("ranges", [[(1_000, 10)], [(0, 10), (90, 20)], [(0, 10), (900_000, 20)]])
async def test_of_an_object_that_is_too_short_other_bytes_are_given(
    monkeypatch: pytest.MonkeyPatch, s3_url: str, ranges: list[tuple[int, int]]
):
    """It was cut off: that is no outage."""
    store = opened(monkeypatch, s3_url)
    await store.put("1/key", b"x" * 100)
    found = await store.get_ranges("1/key", ranges)
    assert [len(part) for part in found] != [length for _, length in ranges]


async def test_no_object_is_written_again(monkeypatch: pytest.MonkeyPatch, moto_url: str):
    store = opened(monkeypatch, moto_url)
    await store.put("1/key", b"first")
    await store.put("1/key", b"later")
    assert await store.get_ranges("1/key", [(0, 5)]) == [b"first"]


async def test_wrong_credentials_are_told(monkeypatch: pytest.MonkeyPatch, nanio_url: str):
    await opened(monkeypatch, nanio_url).put("1/key", b"x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    wrong = opened(monkeypatch, nanio_url)
    for call in (wrong.put("1/other", b"x"), wrong.get_ranges("1/key", [(0, 1)]), wrong.size("1/key"), wrong.keys()):
        with pytest.raises(ObjectStoreUnavailable, match="credentials") as error:
            await call
        assert "another" not in str(error.value)


@pytest.mark.parametrize("fault", ["slow", "cut", "503", "507"])
async def test_a_failing_store_is_told_in_time(monkeypatch: pytest.MonkeyPatch, moto_url: str, fault: str):
    with proxied(moto_url) as proxy:
        store = opened(monkeypatch, proxy.url, 2.0)
        await store.put("1/key", b"x" * 1_000)
        proxy.fault = fault
        with pytest.raises(ObjectStoreUnavailable):
            await store.get_ranges("1/key", [(0, 1_000)])
        if fault != "cut":  # the bytes of an upload have arrived when its answer is cut
            with pytest.raises(ObjectStoreUnavailable):
                await store.put("1/other", b"x" * 1_000)
        proxy.end_fault()
        assert await store.get_ranges("1/key", [(0, 3)]) == [b"xxx"]
