"""`context?exact=true`: read in few steps, and refused with a word where what was recorded cannot be read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import openai_chat
from playhead.model.canonical import Content, canonical_json, content_of
from playhead.model.event import LlmCalled, LlmCompleted
from playhead.model.message import text_message
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.refs.threads import sent_thread_refs
from playhead_collector.errors import Refused
from playhead_collector.read.calls import CallEvents, LlmEnd
from playhead_collector.read.context import exact_request
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import fetch
from playhead_collector.store.ports import ReadStore
from tests.unit.refs.kept import Kept
from tests.unit.refs.test_threads import Run

RUN = "a" * 32


@dataclass
class Contents:
    """Stored contents; `steps`: how often they were asked for."""

    all: dict[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])
    threads: dict[ContentRef, list[ContentRef]] = field(default_factory=dict[ContentRef, list[ContentRef]])
    steps: int = 0

    def keep(self, value: Any) -> ContentRef:
        content = content_of(value)
        self.all[content.ref] = content
        return content.ref

    @property
    def contents(self) -> "Contents":
        return self

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        self.steps += 1
        return {ref: self.all[ref] for ref in refs if ref in self.all}

    async def thread(self, project_id: int, ref: ContentRef) -> Sequence[ThreadNode]:
        return cast("Sequence[ThreadNode]", [Node(message) for message in self.threads[ref]])

    async def refs_with_prefix(self, project_id: int, beginnings: Sequence[bytes]) -> Sequence[ContentRef]:
        return []

    async def exact(self, call: CallEvents[LlmCalled, LlmEnd], messages: Sequence[ContentRef]) -> dict[str, Any]:
        record = cast(RunRecord, Record(cast(ReadStore, self)))
        begin = call.begin
        cache = await fetch(record.store, 1, [*messages, begin.system, begin.tools, begin.request])
        self.steps = 0
        return await exact_request(record, call, messages, cache)


@dataclass
class Node:
    message: ContentRef


@dataclass
class Record:
    store: ReadStore
    project_id: int = 1


def called(**refs: Any) -> CallEvents[LlmCalled, LlmEnd]:
    return CallEvents(LlmCalled(id="1", run=RUN, seq=1, time_ns=1, **refs))


def recorded(run: Run, store: Contents, messages: list[Any]) -> tuple[list[ContentRef], ContentRef | None]:
    """What a call with these messages records: its messages' refs, and the ref of its exact form."""
    kept = Kept()
    thread, exact = sent_thread_refs(
        run.intake, messages, openai_chat.to_message, openai_chat.from_message, run.known, kept
    )
    run.journal.commit(kept)
    store.all |= run.journal.contents
    return [store.keep(message) for message in run.read(thread)], exact


def odd(number: int) -> dict[str, Any]:
    """A message that its canonical form does not restore."""
    return {"role": "assistant", "content": f"answer {number}", "refusal": None, "annotations": []}


@pytest.mark.parametrize("count", [1, 15, 16, 17, 100, 1_000])
async def test_a_call_with_many_odd_messages_is_read_in_few_steps(count: int):
    run, store = Run(), Contents()
    messages: list[Any] = [odd(number) for number in range(count)]
    refs, exact = recorded(run, store, messages)
    body = await store.exact(called(request=store.keep({"model": "m"}), exact=exact), refs)
    assert json.dumps(body["messages"]) == json.dumps(messages)
    assert store.steps <= count // 16 + 16


async def test_a_conversation_that_grows_and_is_cut_is_read_in_few_steps():
    run, store = Run(), Contents()
    history: list[Any] = []
    request = store.keep({"model": "m"})
    for number in range(200):
        history = [*history, odd(number)] if number % 50 else [*history[: number // 2], odd(-number)]
        refs, exact = recorded(run, store, history)
        body = await store.exact(called(request=request, exact=exact), refs)
        assert body["messages"] == history
        assert store.steps <= len(history) // 16 + 16


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ({"sent": False}, "without its request, as other instrumentation does"),
        ({"dialect": "openai", "sent": False}, "as a framework's model got it"),
    ],
)
async def test_a_request_that_was_not_seen_as_it_was_sent_is_refused(shape: dict[str, Any], sentence: str):
    store = Contents()
    call = called(request=store.keep({"temperature": 0}), exact=store.keep(shape))
    with pytest.raises(Refused, match=sentence) as refused:
        await store.exact(call, [])
    assert (refused.value.status, refused.value.code) == (404, "not_exact")


async def body_or_refusal(store: Contents, call: CallEvents[LlmCalled, LlmEnd], refs: Sequence[ContentRef]) -> None:
    try:
        body = await store.exact(call, refs)
    except Refused as error:
        refused = error.status, error.code
    else:
        canonical_json(body)
        return
    assert refused == (404, "not_exact")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "text", "openai", "messages", "/0", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)
DIALECTS = st.sampled_from(
    [
        "openai",
        "openai.responses",
        "anthropic",
        "bedrock",
        "google_genai",
        "bedrock_text",
        "openai_text",
        "responses",
        "other",
    ]
)
SHAPES = st.fixed_dictionaries(
    {},
    optional={
        "dialect": DIALECTS | VALUES, "input": VALUES, "before": VALUES, "list": VALUES, "messages": VALUES,
        "system": VALUES, "turns": VALUES, "roles": VALUES, "is_list": VALUES,
    },
)  # fmt: skip
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace"]), "path": VALUES, "value": VALUES}
)
PATCHES = st.fixed_dictionaries(
    {"patch": st.lists(OPERATIONS, max_size=2) | VALUES}, optional={"place": VALUES, "above": VALUES}
)
PARTS = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(["text", "tool_call", "tool_call_response", "blob", "uri", "x"]) | VALUES}
    | dict.fromkeys(("content", "arguments", "response", "id", "name", "data", "extra", "mime_type"), VALUES),
)  # fmt: skip
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool", "x"]), "parts": st.lists(PARTS, max_size=2)},
    optional={"extra": VALUES, "name": VALUES},
)


@given(
    messages=st.lists(MESSAGES | VALUES, max_size=3), shape=SHAPES | VALUES, patches=st.lists(PATCHES, max_size=3),
    settings=st.dictionaries(st.sampled_from(["model", "toolConfig"]), VALUES) | VALUES, tools=VALUES, body=VALUES,
)  # fmt: skip
async def test_whatever_was_recorded_is_a_body_or_refused(
    messages: list[Any], shape: Any, patches: list[Any], settings: Any, tools: Any, body: Any
):
    store = Contents()
    refs = [store.keep(message) for message in messages]
    parent: ContentRef | None = None
    for patch in patches:
        parent = store.keep({**patch, "parent": parent})
    if isinstance(shape, dict):
        shape = {"messages": parent, "body": store.keep(body), **cast("dict[str, Any]", shape)}
    at, thread = store.keep(shape), ContentRef.of(b"thread")
    store.threads[thread] = refs
    head = {"request": store.keep(settings), "tools": store.keep(tools)}
    sent = LlmCompleted(id="2", run=RUN, seq=2, time_ns=2, sent=at, sent_thread=thread)
    for call in (called(exact=at, **head), called(exact=parent, **head), CallEvents(called(**head).begin, sent)):
        await body_or_refusal(store, call, refs)


async def test_a_list_of_patches_is_not_read_further_than_a_thread_has_messages():
    store = Contents()
    parent: ContentRef | None = None
    for number in range(50):
        parent = store.keep({"parent": parent, "place": number, "patch": []})
    with pytest.raises(Refused, match="more changes than it has messages"):
        await store.exact(called(request=store.keep({}), exact=parent), [store.keep(text_message("user", "hi"))])
    assert store.steps < 5
    many = [store.keep({"patch": [], "place": 0, "parent": None, "n": number}) for number in range(100)]
    listing = store.keep({"patch": [], "place": 0, "parent": None, "above": many})
    with pytest.raises(Refused, match="more changes than it has messages"):
        await store.exact(called(request=store.keep({}), exact=listing), [store.keep(text_message("user", "hi"))])


@pytest.mark.parametrize("depth", [300, 900, 20_000])
async def test_what_nests_deeply_is_a_body_or_refused(depth: int):
    store = Contents()
    deep = b"[" * depth + b"]" * depth
    content = Content(
        b'{"patch":[{"op":"add","path":"/x","value":' + deep + b'}],"place":0,"parent":null}', "application/json"
    )
    store.all[content.ref] = content
    settings = Content(b'{"model":' + deep + b"}", "application/json")
    store.all[settings.ref] = settings
    message = store.keep(text_message("user", "hi"))
    for refs in ({"exact": content.ref, "request": store.keep({})}, {"request": settings.ref}):
        await body_or_refusal(store, called(**refs), [message])
