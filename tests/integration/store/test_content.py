import asyncio
import os

import asyncpg
import pytest

from playhead.model.canonical import JSON, Content
from playhead.model.ref import ContentRef
from playhead_collector.errors import ContentCorrupt, ContentMissing
from playhead_collector.store.postgres import dictionaries
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P, json, message, ref_of, thread, whole


@pytest.mark.parametrize(
    "content",
    [
        json({"a": [1, 2.5, None]}),
        Content(b"", "text/plain; charset=utf-8"),
        Content("grüße \x00 \U0001f600".encode(), "text/plain; charset=utf-8"),
        Content(bytes(range(256)) * 3, "image/png"),
        Content(b"\x00\xff", "application/x-of-our-own; v=1"),
        Content(os.urandom(3_000_000), "application/octet-stream"),
        Content(b"all the same " * 500_000, "text/plain; charset=utf-8"),
    ],
    ids=lambda content: f"{content.media_type}, {len(content.data)} bytes",
)
async def test_what_was_put_comes_back(store: PostgresStore, content: Content):
    await store.contents.put(P, [content])
    assert await store.contents.get(P, content.ref) == content


async def test_a_media_type_that_cannot_be_one_is_kept_as_bytes(store: PostgresStore):
    await store.contents.put(P, [Content(b"x", "image/\x00png"), Content(b"y", "image/\ud800")])
    assert (await store.contents.get(P, ContentRef.of(b"x"))).data == b"x"
    assert (
        await store.contents.get(P, ContentRef.of(b"y").with_reading("bytes"))
    ).media_type == "application/octet-stream"


async def test_a_second_put_changes_nothing_but_the_day(store: PostgresStore, clock: Clock, sql: asyncpg.Connection):
    content = json({"a": 1})
    await store.contents.put(P, [content, content])
    before = await sql.fetch("select xmin, * from content")
    await store.contents.put(P, [content])
    assert await sql.fetch("select xmin, * from content") == before
    clock.days_pass(1)
    await store.contents.put(P, [content])
    (after,) = await sql.fetch("select * from content")
    assert (after["last_seen"] - before[0]["last_seen"]).days == 1
    assert after["body"] == before[0]["body"]


async def test_missing_names_what_is_not_here_and_sees_what_is(
    store: PostgresStore, clock: Clock, sql: asyncpg.Connection
):
    here, talk, absent = json({"a": 1}), thread("hi"), ContentRef.of(b"absent")
    await store.contents.put(P, [here], [whole(talk)])
    clock.days_pass(2)
    assert await store.contents.missing(P, [absent, here.ref, ref_of(talk)]) == [absent]
    seen = await sql.fetch("select last_seen from content union all select last_seen from thread_node")
    assert len({day for (day,) in seen}) == 1
    assert await store.contents.missing(P, []) == []


async def test_another_project_has_its_own_content(store: PostgresStore):
    content, talk = json({"secret": True}), thread("hi")
    await store.contents.put(P, [content], [whole(talk)])
    assert await store.contents.missing(2, [content.ref, ref_of(talk)]) == [content.ref, ref_of(talk)]
    assert await store.contents.get_many(2, [content.ref, ref_of(talk)]) == {}
    with pytest.raises(ContentMissing, match=content.ref):
        await store.contents.get(2, content.ref)
    with pytest.raises(ContentMissing):
        await store.contents.thread(2, ref_of(talk))


async def test_many_are_read_at_once_and_only_those_that_are_here(store: PostgresStore):
    contents = [json({"n": n}) for n in range(300)]
    await store.contents.put(P, contents)
    found = await store.contents.get_many(P, [content.ref for content in contents] + [ContentRef.of(b"absent")])
    assert found == {content.ref: content for content in contents}
    assert await store.contents.get_many(P, []) == {}


async def test_damage_is_noticed(store: PostgresStore, sql: asyncpg.Connection):
    one, two = json({"a": 1}), message("user", "a text that is long enough to be compressed, " * 9)
    await store.contents.put(P, [one, two])
    await sql.execute("update content set body = body || '\\x00' where encoding = 0")
    await sql.execute("update content set body = '\\x00112233' where encoding <> 0")
    for content in (one, two):
        with pytest.raises(ContentCorrupt, match=content.ref):
            await store.contents.get(P, content.ref)


async def test_stores_that_put_the_same_at_once_agree(store: PostgresStore, other_store: PostgresStore):
    contents = [json({"n": n}) for n in range(50)]
    await asyncio.gather(
        *(each.contents.put(P, contents[::step]) for each in (store, other_store) for step in (1, -1, 1, -1))
    )
    assert len(await store.contents.get_many(P, [content.ref for content in contents])) == 50


async def test_the_epoch_stays_and_each_project_has_one(store: PostgresStore, other_store: PostgresStore):
    epochs = {await store.contents.epoch(P), await other_store.contents.epoch(P)}
    assert len(epochs) == 1
    assert await store.contents.epoch(7) == await other_store.contents.epoch(7) not in epochs


async def test_a_project_gets_a_dictionary_of_its_own(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection
):
    def order(n: int) -> Content:
        return message(
            "tool", f"Order {n * 7919} of customer {n * 104729}: shipped from Rotterdam on the {n}th, by sea."
        )

    contents = [order(n) for n in range(dictionaries.FIRST_AT + 300)]
    for at in range(0, len(contents), 100):
        await store.contents.put(P, contents[at : at + 100])
    assert [r["dictionary"] for r in await sql.fetch("select dictionary from dictionary")] == [1]
    ours, learnt = await sql.fetch(
        "select avg(length(body))::float from content where role <> 0 group by encoding order by encoding"
    )
    assert learnt[0] < ours[0] * 0.7
    # A collector that did not train it reads and, once it knows, writes with it.
    found = await other_store.contents.get_many(P, [content.ref for content in contents])
    assert found == {content.ref: content for content in contents}


async def test_content_in_which_nothing_repeats_gets_no_dictionary(store: PostgresStore, sql: asyncpg.Connection):
    for _ in range(6):
        await store.contents.put(P, [Content(os.urandom(50), JSON) for _ in range(250)])
    assert [r["body"] for r in await sql.fetch("select body from dictionary")] in ([], [b""])
    assert await sql.fetchval("select count(*) from content where encoding <> 0") == 0
