"""Conversations: saved by revision, listed, deleted; and their messages stay for as long as a head names them."""

import asyncio

import pytest

from playhead.model.ref import ContentRef
from playhead.model.thread import Thread
from playhead.wire.operations.conversations import HISTORY_ID_PREFIX, NOTES_ID
from playhead_collector.errors import ContentMissing
from playhead_collector.store.ports.conversations import ConversationSave, SaveOutcome
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P, after, ref_of, thread, whole
from tests.integration.store.test_sweep import DAY_NS, in_rows_and_packed, pack, record, steps, texts_of

HELLO = ("hello", "hi", "how are you?")


async def put(store: PostgresStore, *texts: str, onto: Thread | None = None) -> Thread:
    made = thread(*texts)
    await store.contents.put(P, texts_of(*texts), [whole(made) if onto is None else after(onto, made)])
    return made


async def save(
    store: PostgresStore, head: Thread | None, revision: int = 0, *, name: str = "chat", scope: str = ""
) -> SaveOutcome:
    ref = None if head is None else ref_of(head)
    return await store.conversations.save(P, ConversationSave(name, scope, revision, ref))


async def test_each_save_is_a_revision_and_counts_the_messages(store: PostgresStore):
    assert await store.conversations.get(P, "chat", "") is None
    first = await put(store, *HELLO[:1])
    begun = (await save(store, first)).row
    assert begun is not None
    assert (begun.revision, begun.messages, begun.head, begun.parent) == (1, 1, first.ref, None)
    longer = await put(store, *HELLO, onto=first)
    moved = (await save(store, longer, 1)).row
    assert moved is not None
    assert (moved.revision, moved.messages, moved.head) == (2, 3, longer.ref)
    assert moved.updated_ns >= moved.created_ns == begun.created_ns
    assert await store.conversations.get(P, "chat", "") == moved
    assert await store.conversations.get(P, "chat", "another scope") is None
    assert await store.conversations.get(2, "chat", "") is None


async def test_of_two_writers_one_is_told_what_the_other_has_saved(store: PostgresStore):
    one, other = await put(store, "a"), await put(store, "b")
    outcomes = await asyncio.gather(*(save(store, head) for head in (one, other) * 4))
    rows = {outcome.row for outcome in outcomes}
    [row] = rows
    assert row is not None
    assert row.revision == 1
    # The same head sent again is no conflict: the answer to the first one may have been lost.
    assert [outcome.saved for outcome in outcomes] == [row.head == head for head in (one.ref, other.ref) * 4]
    assert not (await save(store, one, 5)).saved


async def test_a_head_that_is_not_stored_is_not_saved(store: PostgresStore):
    outcome = await save(store, thread("never sent"))
    assert (outcome.row, outcome.missing is None) == (None, False)
    assert not (await save(store, None, 3)).saved  # there is none with a revision
    empty = (await save(store, None)).row
    assert empty is not None
    assert (empty.head, empty.messages) == (None, 0)


async def test_pages_have_those_that_were_saved_last_first(store: PostgresStore):
    head = await put(store, "a")
    for number in range(5):
        await save(store, head, name=f"c{number}", scope="even" if number % 2 == 0 else "odd")
    await save(store, head, 1, name="c1", scope="odd")
    first = await store.conversations.page(P, scope=None, limit=3)
    assert [row.id for row in first] == ["c1", "c4", "c3"]
    last = first[-1]
    rest = await store.conversations.page(P, scope=None, limit=3, before=(last.updated_ns, last.scope, last.id))
    assert [row.id for row in rest] == ["c2", "c0"]
    assert [row.id for row in await store.conversations.page(P, scope="odd", limit=9)] == ["c1", "c3"]
    assert not await store.conversations.page(2, scope=None, limit=9)


async def readable(store: PostgresStore, ref: ContentRef) -> bool:
    try:
        nodes = await store.contents.thread(P, ref)
    except ContentMissing:
        return False
    messages = [node.message for node in nodes]
    return len(await store.contents.get_many(P, messages)) == len(set(messages))


@in_rows_and_packed
async def test_a_head_keeps_its_messages_until_it_is_deleted(store: PostgresStore, clock: Clock, packed: bool):
    run, kept, gone = "0199" + "a" * 28, thread(*HELLO), thread("only of the run", "gone")
    await record(store, run, [*texts_of(*HELLO), *texts_of("only of the run", "gone")], kept)
    await record(store, run, [], gone)
    await pack(store, *([run] if packed else []))
    saved = (await save(store, kept)).row
    assert saved is not None
    assert saved.messages == 3
    await store.garbage.delete_run(P, run, forks=False)
    clock.days_pass(3)
    await steps(store)
    assert await readable(store, ref_of(kept))
    assert not await readable(store, ref_of(gone))
    assert await store.conversations.delete(P, "chat", "")
    assert not await store.conversations.delete(P, "chat", "")
    clock.days_pass(3)
    assert list(await store.garbage.sweeps_due(DAY_NS)) == [P]
    await steps(store)
    assert not await readable(store, ref_of(kept))
    assert list(await store.garbage.sweeps_due(DAY_NS)) == []


async def test_what_is_saved_while_a_sweep_is_under_way_stays(store: PostgresStore, clock: Clock):
    made = await put(store, *HELLO)
    for when in range(1, 30):
        clock.days_pass(3)
        ended = False
        for _ in range(when):
            ended = ended or (await store.garbage.sweep_step(P, DAY_NS)).phase is None
        if ended:
            break
        outcome = await save(store, made, name=f"saved after step {when}")
        assert outcome.saved is (outcome.missing is None)
        await steps(store)
        assert await readable(store, ref_of(made)) is outcome.saved
        await store.conversations.delete(P, f"saved after step {when}", "")
        await put(store, *HELLO)
    else:
        pytest.fail("no sweep has ended")


async def test_a_writer_that_names_the_head_it_has_read_does_not_replace_another_one(store: PostgresStore):
    """Its revision may be another's: it has saved on its own machine while no collector answered."""
    one, other = await put(store, "a"), await put(store, "b")
    await save(store, one)
    ours = ConversationSave("chat", "", 1, other.ref, previous=other.ref)
    assert not (await store.conversations.save(P, ours)).saved
    ours = ConversationSave("chat", "", 1, other.ref, previous=one.ref)
    assert (await store.conversations.save(P, ours)).saved


async def test_one_save_may_stand_for_several(store: PostgresStore):
    one, other = await put(store, "a"), await put(store, "b")
    begun = await store.conversations.save(P, ConversationSave("chat", "", 0, one.ref, saves=3))
    assert begun.row is not None
    assert begun.row.revision == 3
    moved = ConversationSave("chat", "", 3, other.ref, saves=2)
    for _ in range(2):  # sent again, it is saved once
        outcome = await store.conversations.save(P, moved)
        assert outcome.saved
        assert outcome.row is not None
        assert outcome.row.revision == 5


async def test_of_two_that_remove_the_last_message_one_is_told(store: PostgresStore):
    """Both come to the same head: the second one is no answer that was lost, and has removed nothing."""
    shorter = await put(store, "a")
    await save(store, shorter)
    await save(store, await put(store, "a", "b", onto=shorter), 1)
    removal = ConversationSave("chat", "", 2, shorter.ref, unrepeated=True)
    outcomes = await asyncio.gather(*(store.conversations.save(P, removal) for _ in range(4)))
    assert [outcome.saved for outcome in outcomes].count(True) == 1


async def test_notes_are_in_no_list(store: PostgresStore):
    await save(store, await put(store, "a"), name=NOTES_ID, scope="user-7")
    await save(store, await put(store, "b"), name="chat", scope="user-7")
    assert [row.id for row in await store.conversations.page(P, scope="user-7", limit=9)] == ["chat"]


async def test_a_persisted_history_is_in_no_list_and_keeps_its_messages(store: PostgresStore, clock: Clock):
    made = await put(store, *HELLO)
    history = f"{HISTORY_ID_PREFIX}{made.ref}"
    await save(store, made, name=history)
    await save(store, made, name="chat")
    assert [row.id for row in await store.conversations.page(P, scope=None, limit=9)] == ["chat"]
    await store.conversations.delete(P, "chat", "")
    clock.days_pass(3)
    await steps(store)
    assert await readable(store, ref_of(made))
    assert await store.conversations.delete(P, history, "")
    clock.days_pass(3)
    await steps(store)
    assert not await readable(store, ref_of(made))
