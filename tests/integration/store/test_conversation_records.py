"""Conversations that are kept as records: appended, replaced, read; and what records name stays stored."""

import asyncio
from collections.abc import Sequence

import pytest

from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from playhead_collector.errors import ContentMissing
from playhead_collector.store.ports.conversations import ConversationRow, ConversationSave, SaveOutcome
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import Clock, P, thread
from tests.integration.store.test_sweep import DAY_NS, steps, texts_of


async def put(store: PostgresStore, *texts: str) -> list[ContentRef]:
    contents = texts_of(*texts)
    await store.contents.put(P, contents, [])
    return [content.ref.plain for content in contents]


async def save(
    store: PostgresStore, records: Sequence[str], revision: int = 0, *, name: str = "log", replaces: bool = False
) -> SaveOutcome:
    row = await store.conversations.get(P, name, "") if revision else None
    previous = None if row is None else row.head
    change = ConversationSave(name, "", revision, None, previous=previous, records=records, replaces=replaces)
    return await store.conversations.save(P, change)


async def row_of(store: PostgresStore, name: str = "log") -> ConversationRow:
    row = await store.conversations.get(P, name, "")
    assert row is not None
    return row


async def records(store: PostgresStore, after: int = 0, limit: int = 100) -> Sequence[str]:
    return (await store.conversations.records(P, await row_of(store), after, limit)).texts


async def is_stored(store: PostgresStore, ref: ContentRef) -> bool:
    try:
        await store.contents.get(P, ref)
    except ContentMissing:
        return False
    return True


async def test_records_are_read_as_they_were_sent(store: PostgresStore):
    [one, two] = await put(store, "one", "two")
    sent = [
        f'{{"a":"{one}"}}',
        '{"b":"ä sha256:zz"}',
        f'{{"c":["{two}","{one}","{two}"]}}',
        '{"d":' + "1" * 9_000 + "}",
    ]
    await save(store, sent[:1])
    moved = (await save(store, sent[1:], 1)).row
    assert moved is not None
    assert (moved.revision, moved.messages) == (2, 4)
    assert moved.head == extend([ContentRef.of(record.encode()) for record in sent])[-1].ref
    assert await records(store) == sent
    assert await records(store, after=1, limit=2) == sent[1:3]
    assert await records(store, after=4) == []


async def test_sent_again_they_are_saved_once_and_of_two_writers_one_is_told(store: PostgresStore):
    await save(store, ["1"])
    head = (await row_of(store)).head
    change = ConversationSave("log", "", 1, None, previous=head, records=["2"])
    assert [(await store.conversations.save(P, change)).saved for _ in range(2)] == [True, True]
    assert await records(store) == ["1", "2"]
    other = ConversationSave("log", "", 1, None, previous=head, records=["3"])
    assert not (await store.conversations.save(P, other)).saved
    await asyncio.gather(*(save(store, [str(number)], name="begun") for number in range(5)))
    assert (await row_of(store, "begun")).messages == 1


async def test_what_a_record_names_must_be_stored(store: PostgresStore):
    lost = ContentRef.of(b"never sent")
    outcome = await save(store, [f'{{"a":"{lost}"}}'])
    assert (outcome.saved, outcome.missing) == (False, lost)
    assert await store.conversations.get(P, "log", "") is None


async def test_a_conversation_has_messages_or_records(store: PostgresStore):
    made = thread("hello")
    await store.conversations.save(P, ConversationSave("chat", "", 0, None))
    assert (await save(store, ["1"], 1, name="chat")).is_other_kind
    await save(store, ["1"])
    mixed = ConversationSave("log", "", 1, None)
    assert (await store.conversations.save(P, mixed)).is_other_kind
    assert made.ref is not None


async def test_records_keep_what_they_name_until_they_are_replaced_or_deleted(store: PostgresStore, clock: Clock):
    [kept, replaced, free] = await put(store, "kept", "replaced", "free")
    await save(store, [f'{{"a":"{kept}"}}', f'{{"a":"{replaced}"}}'])
    await put(store, "other")
    clock.days_pass(3)
    await save(store, ["{}"], name="another")
    await store.conversations.delete(P, "another", "")  # so that a sweep is due
    clock.days_pass(3)
    await steps(store)
    assert [await is_stored(store, ref) for ref in (kept, replaced, free)] == [True, True, False]
    await save(store, [f'{{"a":"{kept}"}}'], 1, replaces=True)
    assert await records(store) == [f'{{"a":"{kept}"}}']
    clock.days_pass(3)
    assert await store.garbage.sweeps_due(DAY_NS) == [P]
    await steps(store)
    assert [await is_stored(store, ref) for ref in (kept, replaced)] == [True, False]
    assert await store.conversations.delete(P, "log", "")
    clock.days_pass(3)
    await steps(store)
    assert not await is_stored(store, kept)


async def test_records_that_are_appended_while_a_sweep_runs_keep_what_they_name(store: PostgresStore, clock: Clock):
    [named] = await put(store, "named")
    await save(store, ["{}"])
    await store.conversations.delete(P, "log", "")
    clock.days_pass(3)
    for when in range(1, 40):
        clock.days_pass(3)
        await put(store, "named")
        await save(store, ["{}"], name="due")
        await store.conversations.delete(P, "due", "")
        clock.days_pass(3)
        ended = False
        for _ in range(when):
            ended = ended or (await store.garbage.sweep_step(P, DAY_NS)).phase is None
        if ended:
            break
        outcome = await save(store, [f'{{"a":"{named}"}}'], name=f"step {when}")
        await steps(store)
        assert await is_stored(store, named) is outcome.saved
        await store.conversations.delete(P, f"step {when}", "")
    else:
        pytest.fail("no sweep has ended")


async def test_what_is_kept_as_records_is_listed_by_prefix_alone(store: PostgresStore):
    for name in ("langgraph-thread/b", "langgraph-thread/a", "langgraph-store/a/"):
        await save(store, ["1"], name=name)
    await store.conversations.save(P, ConversationSave("langgraph", "", 0, None))

    async def listed(prefix: str | None) -> set[str]:
        return {row.id for row in await store.conversations.page(P, scope=None, limit=9, prefix=prefix)}

    assert await listed(None) == {"langgraph"}
    assert await listed("langgraph-thread/") == {"langgraph-thread/a", "langgraph-thread/b"}
    assert await listed("langgraph-store/a/") == {"langgraph-store/a/"}
    assert await listed("langgraph%") == set()
