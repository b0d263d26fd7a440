"""Search that is off, other languages, searches that take too long, and texts that were packed."""

from typing import Any

import httpx
import pytest

from playhead.model.ref import ContentRef
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.search.settings import SearchSettings
from playhead_collector.app import create_app, open_collector
from playhead_collector.errors import BadSetting
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.retain.packer import Packer
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.workers.indexer import SearchIndexer
from playhead_collector.workers.ports import InProcessAnalysis
from tests.integration.read.recorded import conversation
from tests.integration.read.search.conftest import Searched
from tests.integration.store.making import P
from tests.support.many_runs.varied import VariedRun


async def ask(searched: Searched, settings: CollectorSettings, what: str, **params: Any) -> httpx.Response:
    """A question to a collector with other settings on the same store."""
    transport = httpx.ASGITransport(create_app(settings, searched.store, clock=searched.clock))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        return await http.get(f"/api/v1/search/{what}", params=params)


@pytest.mark.parametrize(("what", "params"), [("decisions", {}), ("content", {"q": "order"})])
async def test_without_an_index_searches_are_refused(searched: Searched, what: str, params: dict[str, str]):
    answer = await ask(searched, CollectorSettings(search=False), what, **params)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "search_off")
    assert "PLAYHEAD_SEARCH=on" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("what", "params"), [("decisions", {}), ("content", {"q": "order"})])
async def test_a_search_that_takes_too_long_is_given_up(searched: Searched, what: str, params: dict[str, str]):
    await searched.batch(conversation("01" * 16, 2).batch())
    answer = await ask(searched, CollectorSettings(search_seconds=1e-6), what, **params)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "took_too_long")
    assert "PLAYHEAD_SEARCH_SECONDS" in answer.json()["error"]["message"]
    assert (await searched.ask(what, **params))["items"]  # connections are as good as before


async def test_a_language_that_postgres_does_not_know_ends_the_start(module_database_url: str):
    settings = CollectorSettings(database_url=module_database_url, search_language="klingon")
    with pytest.raises(BadSetting, match=r"PLAYHEAD_SEARCH_LANGUAGE .* try simple"):
        async with open_collector(settings):
            pass


async def test_with_another_language_all_runs_are_indexed_again(searched: Searched):
    assert await searched.store.search.prepare(P, "simple")
    await searched.batch(conversation("01" * 16, 1, "Nobody refunded the parcels.").batch())
    assert await searched.all("content", q="refund parcel") == []
    try:
        assert not await searched.store.search.prepare(P, "klingon")
        assert await searched.all("content", q="refunded")  # nothing was done
        assert await searched.store.search.prepare(P, "english")
        assert await searched.store.search.count_unindexed(P, 10) == 1
        assert (await searched.ask("content", q="refunded"))["items"] == []
        english = SearchSettings(language="english")
        analysis = InProcessAnalysis(searched.store, AnalysisSettings.of(Configured()), searched.store.search)
        await SearchIndexer(searched.store.search, analysis, english).run_once()
        settings = CollectorSettings(search_language="english")
        answer = await ask(searched, settings, "content", q="refund parcel")
        (found,) = answer.json()["items"]
        assert [quote["quote"] for quote in found["quotes"]] == ["Nobody refunded the parcels."]
        assert await searched.store.search.prepare(P, "english")  # the same again changes nothing
        assert await searched.store.search.count_unindexed(P, 10) == 0
    finally:
        await searched.store.search.prepare(P, "simple")


@pytest.mark.parametrize("packed_first", [True, False])
async def test_texts_are_found_and_quoted_after_packing(searched: Searched, *, packed_first: bool):
    run = VariedRun(3, number=1)
    await searched.store.contents.put(P, run.contents.values(), run.threads)
    await searched.store.spans.ingest(P, Batch(run.spans))
    await searched.seal()
    if not packed_first:
        await searched.index()
    packer = Packer(searched.store.projections, clock=searched.clock)
    while await searched.store.projections.runs_to_pack(1):
        await packer.run_once()
        searched.clock.now_ns += 10_000_000_000
    await searched.index()
    found = await searched.all("content", q=f'"case {run.code}" my')
    assert found
    assert all(run.code in each["quotes"][0]["quote"] for each in found)
    assert {each["seen"][0]["run"] for each in found} == {run.run}
    rows = {ContentRef.from_digest(each["ref"]) for each in await searched.sql.fetch("select ref from content")}
    assert rows.isdisjoint(each["ref"] for each in found)  # only the packs have them
