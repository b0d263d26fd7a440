"""Contents and threads of a long chat, in packs: round trips grow with the packs, not with the calls."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from playhead.model.message import message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend
from playhead.wire.pack import ThreadExtension
from playhead_collector.read import content
from playhead_collector.read.content import pack_refs
from playhead_collector.store.postgres.store import PostgresStore, connect

P, CALLS = 1, 300


class Chat:
    """A conversation of calls: the input of each is all that was said before, its output a thread of one message."""

    def __init__(self, calls: int) -> None:
        texts = [("user", "assistant")[at % 2] + f" {at}" for at in range(2 * calls)]
        messages = [message_contents(text_message(text.split()[0], text))[0] for text in texts]
        self.nodes: Sequence[ThreadNode] = extend(message.ref for message in messages)
        self.contents = messages
        self.inputs = [node.ref for node in self.nodes[::2]]
        outputs = [ThreadExtension(None, (message.ref,)) for message in messages[1::2]]
        self.outputs = [ref for output in outputs if (ref := output.ref) is not None]
        self.threads = [ThreadExtension(None, tuple(message.ref for message in messages)), *outputs]

    @property
    def refs(self) -> list[ContentRef]:
        """Those of the last call first, as an export asks for them."""
        return [ref for call in zip(self.inputs, self.outputs, strict=True) for ref in call][::-1]


@pytest.fixture(scope="module")
def chat() -> Chat:
    return Chat(CALLS)


@pytest.fixture
async def store(module_database_url: str, chat: Chat) -> AsyncIterator[PostgresStore]:
    store = await connect(module_database_url, pool_size=2)
    await store.contents.put(P, chat.contents, chat.threads)
    yield store
    await store.close()


def counted(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each method is called from now on."""
    calls = Counter[str]()

    def counting(name: str) -> Any:
        method = getattr(store.contents, name)

        async def call(*args: Any) -> Any:
            calls[name] += 1
            return await method(*args)

        return call

    for name in ("get_many", "thread", "threads"):
        monkeypatch.setattr(store.contents, name, counting(name))
    return calls


def nodes_of(threads: Sequence[ThreadExtension]) -> list[ContentRef]:
    return [node.ref for thread in threads for node in extend(thread.messages, thread.parent)]


async def test_the_threads_of_many_calls_are_read_together(
    store: PostgresStore, chat: Chat, monkeypatch: pytest.MonkeyPatch
):
    calls = counted(store, monkeypatch)
    packed = await pack_refs(store, P, chat.refs)
    assert packed.looked_at == len(chat.refs) == 2 * CALLS
    found = nodes_of(packed.threads)
    assert set(found) == {node.ref for node in chat.nodes[:-1]} | set(chat.outputs)
    assert len(found) == len(set(found))
    assert calls == {"threads": 1}


async def test_threads_that_are_too_long_together_are_read_one_after_the_other(
    store: PostgresStore, chat: Chat, monkeypatch: pytest.MonkeyPatch
):
    """The longest first: then the others, which are its beginnings, are there, and are read no more."""
    monkeypatch.setattr(content, "_MAX_NODES", 3 * CALLS)
    calls = counted(store, monkeypatch)
    packed = await pack_refs(store, P, chat.refs)
    assert packed.looked_at == len(chat.refs)
    assert set(nodes_of(packed.threads)) == {node.ref for node in chat.nodes[:-1]} | set(chat.outputs)
    assert calls["threads"] <= 3
    assert calls["thread"] == 0


async def test_a_full_pack_says_where_to_go_on(store: PostgresStore, chat: Chat, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(content, "_MAX_NODES", 50)
    looked_at, found, packs = 0, set[ContentRef](), 0
    while looked_at < len(chat.refs):
        packed = await pack_refs(store, P, chat.refs[looked_at:])
        assert packed.looked_at
        looked_at, packs = looked_at + packed.looked_at, packs + 1
        found.update(nodes_of(packed.threads))
    assert found == {node.ref for node in chat.nodes[:-1]} | set(chat.outputs)
    assert packs > 2


async def test_contents_threads_and_what_is_not_stored_may_be_asked_for_together(store: PostgresStore, chat: Chat):
    absent = ContentRef.of(b"absent")
    refs = [chat.contents[0].ref, absent, chat.inputs[1], chat.contents[3].ref, chat.inputs[0]]
    packed = await pack_refs(store, P, refs)
    assert packed.looked_at == len(refs)
    assert [each.ref for each in packed.contents] == [chat.contents[0].ref, chat.contents[3].ref]
    assert nodes_of(packed.threads) == [node.ref for node in chat.nodes[:3]]
