import asyncio

import asyncpg
import pytest

from playhead.model.ref import ContentRef
from playhead.model.thread import THREAD, Thread, node_bytes
from playhead.wire.pack import ThreadExtension
from playhead_collector.errors import ContentMissing
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import P, after, ref_of, thread, whole


async def put(store: PostgresStore, *extensions: ThreadExtension) -> list[ContentRef]:
    return list(await store.contents.put(P, [], extensions))


async def holds(store: PostgresStore, *threads: Thread) -> bool:
    return all([list(await store.contents.thread(P, ref_of(each))) == list(each.nodes) for each in threads])


async def test_a_thread_comes_back_as_it_was(store: PostgresStore):
    talk = thread("a", "b", "c", "b")
    assert await put(store, whole(talk)) == []
    assert await holds(store, talk)


async def test_every_node_is_content(store: PostgresStore):
    talk = thread("a", "b", "c")
    await put(store, whole(talk))
    for node in talk.nodes:
        content = await store.contents.get(P, node.ref)
        assert (content.data, content.media_type) == (node_bytes(node.message, node.parent), THREAD)
        assert list(await store.contents.thread(P, node.ref)) == list(talk.nodes[: node.depth])


async def test_a_growing_thread_stays_one_lineage(store: PostgresStore, sql: asyncpg.Connection):
    texts = [f"message {n}" for n in range(40)]
    grown = thread()
    for n in range(2, 41, 2):
        longer = thread(*texts[:n])
        await put(store, after(grown, longer) if grown.nodes else whole(longer))
        grown = longer
    assert await holds(store, grown)
    assert await sql.fetchval("select count(distinct lineage) from thread_node") == 1


async def test_a_fork_shares_its_prefix(store: PostgresStore, sql: asyncpg.Connection):
    trunk = thread("a", "b", "c", "d")
    forks = [thread("a", "b", f"fork {n}", "e") for n in range(3)]
    later = thread("a", "b", "fork 1", "other", "end")
    await put(store, whole(trunk), *map(whole, forks), whole(later))
    assert await holds(store, trunk, *forks, later)
    assert await sql.fetchval("select count(*) from thread_node") == 4 + 3 * 2 + 2
    # A fork's first node knows its parent, although that stands in another lineage.
    node = forks[2].nodes[2]
    assert (await store.contents.get(P, node.ref)).data == node_bytes(node.message, node.parent)


async def test_the_same_again_changes_nothing(store: PostgresStore, sql: asyncpg.Connection):
    talk, fork = thread("a", "b", "c"), thread("a", "b", "x")
    for _ in range(2):
        await put(store, whole(talk), whole(fork), after(thread("a"), talk), whole(thread("a", "b")))
        assert await sql.fetchval("select count(*) from thread_node") == 4


async def test_a_thread_of_a_thousand_messages_is_read_whole(store: PostgresStore):
    long = thread(*(f"message {n}" for n in range(1_000)))
    await put(store, whole(long))
    assert await holds(store, long, thread(*(f"message {n}" for n in range(700))))


async def test_a_last_message_replaced_at_every_call_can_be_read(store: PostgresStore):
    # What a reminder at the end of each call's context does: every call forks off the one before.
    texts: list[str] = []
    for n in range(60):
        texts += [f"question {n}", f"answer {n}"]
        await put(store, whole(thread(*texts, "reminder")))
    assert await holds(store, thread(*texts, "reminder"), thread(*texts))


async def test_an_extension_may_stand_before_what_it_continues(store: PostgresStore):
    one, two, three = thread("a"), thread("a", "b"), thread("a", "b", "c")
    assert await put(store, after(two, three), after(one, two), whole(one)) == []
    assert await holds(store, three)


async def test_an_extension_of_an_unknown_thread_is_whole_once_its_parent_comes(
    store: PostgresStore, sql: asyncpg.Connection
):
    one, two, three, four = thread("a"), thread("a", "b"), thread("a", "b", "c"), thread("a", "b", "c", "d")
    assert await put(store, after(two, three)) == [two.ref]
    assert await put(store, after(two, three), after(three, four)) == [two.ref, three.ref]
    with pytest.raises(ContentMissing):
        await store.contents.thread(P, ref_of(three))
    assert await store.contents.missing(P, [ref_of(three)]) == [three.ref]
    assert await put(store, after(one, two)) == [one.ref]
    assert await put(store, whole(one)) == []
    assert await holds(store, four)
    assert await sql.fetchval("select count(*) from thread_orphan") == 0


async def test_an_extension_by_nothing_of_an_unknown_thread_names_it(store: PostgresStore):
    parent = ref_of(thread("a"))
    assert await put(store, ThreadExtension(parent, ())) == [parent]
    assert await put(store, ThreadExtension(None, ())) == []


async def test_a_reader_finds_an_extension_whose_parent_came_unseen(store: PostgresStore, sql: asyncpg.Connection):
    one, two = thread("a"), thread("a", "b")
    await put(store, whole(one))
    orphan = (one.nodes[0].ref.digest, two.nodes[1].ref.digest, two.nodes[1].message.digest)
    await sql.execute("insert into thread_orphan values (1, now(), $1, $2, $3)", *orphan)
    assert await holds(store, two)


async def test_two_transactions_at_the_same_tip_both_succeed(store: PostgresStore, other_store: PostgresStore):
    trunk = thread("a", "b")
    await put(store, whole(trunk))
    ways = [thread("a", "b", f"way {n % 4}", "c", "d") for n in range(16)]
    await asyncio.gather(*(put((store, other_store)[n % 2], after(trunk, way)) for n, way in enumerate(ways)))
    assert await holds(store, trunk, *ways)


async def test_a_transaction_that_comes_second_to_a_place_starts_again(store: PostgresStore, sql: asyncpg.Connection):
    trunk, mine, theirs = thread("a"), thread("a", "mine", "c"), thread("a", "theirs")
    await put(store, whole(trunk))
    rival = sql.transaction()
    await rival.start()
    node = theirs.nodes[1]
    await sql.execute(
        "insert into thread_node (lineage, project_id, depth, last_seen, ref, message)"
        " select lineage, project_id, 2, last_seen, $1, $2 from thread_node",
        node.ref.digest,
        node.message.digest,
    )
    putting = asyncio.create_task(put(store, after(trunk, mine)))
    while not await sql.fetchval("select count(*) from pg_locks where not granted"):
        await asyncio.sleep(0)
    await rival.commit()
    await putting
    assert await holds(store, mine, theirs)


async def test_stores_that_begin_the_same_threads_at_once_agree(store: PostgresStore, other_store: PostgresStore):
    threads = [thread("system", f"user {n % 5}", f"answer {n % 7}") for n in range(24)]
    await asyncio.gather(*(put((store, other_store)[n % 2], whole(each)) for n, each in enumerate(threads)))
    assert await holds(store, *threads)
