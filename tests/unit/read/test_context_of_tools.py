"""The context of a tool's event is that of the model call which asked for the tool, also between parallel branches."""

from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model.message import Message, text_message
from playhead.model.span import Span
from playhead_collector.read.context import answer_context
from tests.support.readers.fake import EPOCH_NS, RUN, FakeStore, Story

BRANCHES = ("a", "b", "c")


def run_of_branches(*, ids: bool, arguments: bool, nested: bool) -> tuple[Any, dict[str, list[int]]]:
    """Three branches at once, each one model call that asks for a tool: all ask, and then the tools run, the first
    branch's last.  With the seqs of each branch's tool events."""
    store = FakeStore()
    story = Story(store)
    story.add(ev.RunStarted, "root", name="fan out")
    for branch in BRANCHES:
        given = {"city": branch if arguments else "same"}
        part = {"type": "tool_call", "id": f"call_{branch}", "name": "weather", "arguments": given}
        answer: Message = {"role": "assistant", "parts": [part]}
        story.model_call(f"llm-{branch}", [], [text_message("user", f"branch {branch}")], answer)
    seqs: dict[str, list[int]] = {}
    for branch in reversed(BRANCHES):
        given = {"city": branch if arguments else "same"}
        named = {"call_id": f"call_{branch}"} if ids else {}
        called = story.add(ev.ToolCalled, f"tool-{branch}", name="weather", arguments=store.keep(given), **named)
        seqs[branch] = [called.seq]
    for branch in BRANCHES:
        done = story.add(ev.ToolCompleted, f"tool-{branch}", name="weather", result=store.keep("sunny"))
        seqs[branch].append(done.seq)
    if nested:
        tree: list[tuple[str, str | None]] = [("root", None)]
        for branch in BRANCHES:
            tree += [
                (f"step-{branch}", "root"),
                (f"llm-{branch}", f"step-{branch}"),
                (f"tool-{branch}", f"step-{branch}"),
            ]
        store.spans_of[RUN] = [span(name, parent) for name, parent in tree]
    return story.done(), seqs


def span(name: str, parent: str | None) -> Span:
    return Span(trace_id=RUN, span_id=name, parent_id=parent, name=name, start_ns=EPOCH_NS, end_ns=None, attributes={})


@pytest.mark.parametrize(
    ("ids", "arguments", "nested"),
    [(True, False, False), (True, True, True), (False, True, False), (False, False, True)],
    ids=["by id", "by all", "by arguments", "by spans"],
)
async def test_each_of_parallel_tools_has_the_context_that_asked_for_it(ids: bool, arguments: bool, nested: bool):
    record, seqs = run_of_branches(ids=ids, arguments=arguments, nested=nested)
    for branch, events in seqs.items():
        for seq in events:
            answer = await answer_context(record, str(seq))
            assert answer["call"]["span"] == f"llm-{branch}", (branch, seq)


async def test_without_anything_that_tells_it_is_the_last_one_before():
    record, seqs = run_of_branches(ids=False, arguments=False, nested=False)
    assert (await answer_context(record, str(seqs["a"][0])))["call"]["span"] == "llm-c"


async def test_a_tool_that_code_called_has_the_last_call_of_its_own_agent():
    store = FakeStore()
    story = Story(store)
    for actor in ("researcher", "writer"):
        story.model_call(f"llm-{actor}", [], [text_message("user", actor)], text_message("assistant", "done"))
        for at, event in enumerate(story.events):
            if event.span == f"llm-{actor}":
                story.events[at] = type(event)(**{**vars(event), "actor": actor})
    called = story.add(ev.ToolCalled, "tool", name="save", arguments=store.keep({}))
    story.events[-1] = type(called)(**{**vars(called), "actor": "researcher"})
    assert (await answer_context(story.done(), str(called.seq)))["call"]["span"] == "llm-researcher"
