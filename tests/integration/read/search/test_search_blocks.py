"""The index of texts: contents share blocks, each is in one, and leaves when no indexed run has it any more."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from playhead.model.ref import ContentRef
from playhead_collector.store.packing import seen_contents
from playhead_collector.store.packing.search_blocks import MOST_CONTENTS, OpenBlock
from playhead_collector.store.packing.seen_contents import prefix_of
from playhead_collector.store.ports.search import IndexedRun, RunBounds, SearchedText
from playhead_collector.store.postgres import search
from playhead_collector.store.postgres.store import connect
from tests.integration.read.search.conftest import Searched
from tests.integration.store.making import P
from tests.support.many_runs.varied import VariedRun


async def in_blocks(searched: Searched) -> Counter[bytes]:
    """How often each content is in a block."""
    rows = await searched.sql.fetch("select terms, body, contents from search_block")
    opened = [OpenBlock(row["body"], len(row["terms"])).contents(row["terms"]) for row in rows]
    assert [len(contents) for contents in opened] == [row["contents"] for row in rows]
    return Counter(content.prefix for contents in opened for content in contents)


async def named_by_runs(searched: Searched) -> dict[bytes, int]:
    """The contents that indexed runs have, each with its block."""
    rows = await searched.sql.fetch("select seen from search_run")
    return {prefix: seen.block for row in rows for prefix, seen in seen_contents.decode(row["seen"]).items()}


async def check(searched: Searched) -> None:
    """The blocks have what the runs name, each content once, and the runs name its block."""
    named = await named_by_runs(searched)
    assert await in_blocks(searched) == dict.fromkeys(named, 1)
    for row in await searched.sql.fetch("select block, terms, body from search_block"):
        for content in OpenBlock(row["body"], len(row["terms"])).contents(row["terms"]):
            assert named[content.prefix] == row["block"]


async def test_contents_leave_the_index_with_the_last_run_that_has_them(searched: Searched):
    runs = [VariedRun(2, number=number) for number in range(12)]
    await searched.made_up(runs)
    await check(searched)
    before = await in_blocks(searched)
    for run in runs:
        await searched.store.garbage.delete_run(P, run.run, forks=False)
        await check(searched)
        assert await searched.all("content", q=run.code) == []
    assert before
    assert await searched.sql.fetchval("select count(*) from search_block") == 0


async def test_small_runs_share_blocks(searched: Searched):
    for number in range(20):
        await searched.made_up([VariedRun(1, number=number)])
    contents = len(await in_blocks(searched))
    assert contents > MOST_CONTENTS
    assert await searched.sql.fetchval("select count(*) from search_block") <= 2 * contents // MOST_CONTENTS + 1
    assert await searched.sql.fetchval("select max(contents) from search_block") <= MOST_CONTENTS
    await check(searched)


def indexed(run: VariedRun, *texts: SearchedText) -> IndexedRun:
    seen = {text.ref: place for place, text in enumerate(texts, 1)}
    return IndexedRun(run.run, 1, [1, 2], seen, b'{"status":"completed","decisions":[]}', {})


def made_up_texts(first: int, last: int) -> list[SearchedText]:
    return [SearchedText(ContentRef.of(b"%d" % number), None, {number}) for number in range(first, last)]


async def test_what_a_run_does_not_have_any_more_leaves_when_it_is_indexed_again(searched: Searched):
    one, other = VariedRun(2, number=1), VariedRun(2, number=2)
    await searched.made_up([one, other])
    texts = made_up_texts(0, 70)
    assert await searched.store.search.index_run(P, indexed(one, *texts), texts)
    assert await searched.store.search.index_run(P, indexed(other, *texts[:3]), texts[:3])
    await check(searched)
    assert len(await in_blocks(searched)) == 70
    assert await searched.store.search.index_run(P, indexed(one, *texts[2:9]), texts[2:9])
    await check(searched)
    assert (await in_blocks(searched)).keys() == {prefix_of(text.ref) for text in texts[:9]}


async def test_a_run_that_is_gone_adds_nothing(searched: Searched):
    run = VariedRun(2, number=1)
    await searched.made_up([run])
    await searched.store.garbage.delete_run(P, run.run, forks=False)
    texts = made_up_texts(0, 5)
    assert not await searched.store.search.index_run(P, indexed(run, *texts), texts)
    assert not await in_blocks(searched)


async def test_runs_that_are_indexed_at_once_share_their_texts(searched: Searched, module_database_url: str):
    runs = [VariedRun(2, number=number) for number in range(6)]
    await searched.made_up(runs)
    other = await connect(module_database_url, pool_size=4, clock=searched.clock)
    try:
        texts = made_up_texts(0, 40)
        stores = [searched.store, other] * 3
        done = await asyncio.gather(
            *(
                store.search.index_run(P, indexed(run, *texts[number:]), texts[number:])
                for number, (run, store) in enumerate(zip(runs, stores, strict=True))
            )
        )
    finally:
        await other.close()
    assert all(done)
    await check(searched)
    assert len(await in_blocks(searched)) == 40


async def test_two_contents_with_the_same_key_are_kept_apart(searched: Searched):
    one, other = VariedRun(2, number=1), VariedRun(2, number=2)
    await searched.made_up([one, other])
    (text, *_) = made_up_texts(0, 1)
    digest = text.ref.digest
    alike = replace_ref(text, digest[:4] + bytes(28))
    assert await searched.store.search.index_run(P, indexed(one, text), [text])
    assert await searched.store.search.index_run(P, indexed(other, alike), [alike])
    await check(searched)
    saw = await searched.store.search.runs_that_saw(P, [text.ref, alike.ref], 5)
    assert [[run.run for run in saw[ref]] for ref in (text.ref, alike.ref)] == [[one.run], [other.run]]
    hit = await searched.store.search.searched_text(P, alike.ref)
    assert hit is not None
    assert hit.prefix == prefix_of(alike.ref)


def replace_ref(text: SearchedText, digest: bytes) -> SearchedText:
    return text._replace(ref=ContentRef.from_digest(digest))


async def test_with_another_language_no_block_is_left(searched: Searched):
    await searched.store.search.prepare(P, "simple")
    await searched.made_up([VariedRun(2, number=1)])
    try:
        assert await searched.store.search.prepare(P, "english")
        assert not await in_blocks(searched)
    finally:
        await searched.store.search.prepare(P, "simple")


@pytest.mark.parametrize("listed", [1_024, 3])
async def test_pages_have_what_a_look_at_all_contents_finds_newest_first(
    searched: Searched, monkeypatch: pytest.MonkeyPatch, listed: int
):
    monkeypatch.setattr(search, "_BLOCKS_LISTED", listed)
    monkeypatch.setattr(search, "_NEWEST_BLOCKS", 16)
    runs = [VariedRun(1, number=number) for number in range(12)]
    await searched.made_up(runs)
    written: list[tuple[int, str, SearchedText]] = []
    for place, run in enumerate(runs):
        texts = [
            SearchedText(ContentRef.of(b"%d" % number), ("user", "tool")[number % 2], {number, 9_000 + number % 29})
            for number in range(400 * place, 400 * (place + 1))
        ]
        started_ns = 1_000 * (place // 2)  # two runs each began at the same time
        assert await searched.store.search.index_run(P, replace(indexed(run, *texts), started_ns=started_ns), texts)
        written += ((started_ns, prefix_of(text.ref).hex(), text) for text in texts)
    assert await searched.sql.fetchval("select count(*) from search_block") > 64
    written.sort(key=lambda each: each[:2], reverse=True)
    questions: list[tuple[list[set[int]], RunBounds, str | None]] = [
        ([{9_001}], RunBounds(), None),
        ([{9_001}], RunBounds(since_ns=1_000, until_ns=4_000), "user"),
        ([{9_002}, {9_003}], RunBounds(until_ns=3_999), None),
        ([{7, 9_007}, {4_000}, {9_005, 9_006}], RunBounds(), None),
        ([{123_456}], RunBounds(), None),
    ]
    for wanted, where, role in questions:
        expected = [
            (since_ns, prefix)
            for since_ns, prefix, text in written
            if any(terms <= text.terms for terms in wanted)
            and role in (None, text.role)
            and (where.since_ns is None or where.since_ns <= since_ns)
            and (where.until_ns is None or since_ns <= where.until_ns)
        ]
        for limit in (7, 1_000):
            found: list[tuple[int, str]] = []
            page = [(0, "")] * limit
            while len(page) == limit:
                after = replace(where, before=found[-1]) if found else where
                hits = await searched.store.search.texts_with(P, wanted, after, role, limit=limit)
                page = [(hit.since_ns, hit.prefix.hex()) for hit in hits]
                found += page
            assert found == expected
