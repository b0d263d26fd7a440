"""An agent or a tool call that a framework's own telemetry describes beside ours is one."""

from itertools import permutations
from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import Span
from tests.unit.projection.recording import Recording


def theirs(span: Span) -> Span:
    """As a framework writes it, into our run."""
    span.scope = "somebody.telemetry"
    for name in (names.KIND, names.CALL_ORDER, names.CALL_ENDED_AFTER, names.CALL_END_ORDER):
        span.attributes.pop(name, None)
    return span


def tools(r: Recording) -> list[str]:
    return [str(event.span) for event in r.events() if isinstance(event, ev.ToolCalled)]


def agents(r: Recording) -> list[str]:
    return [event.name for event in r.events() if isinstance(event, ev.StepStarted) and event.step_kind == "agent"]


@pytest.mark.parametrize("ids", [("c1", "c1"), (None, None), ("c1", None)])
def test_a_tool_call_is_ours_whether_theirs_has_the_models_id_or_not(ids: tuple[Any, Any]):
    r = Recording()
    with r.root():
        outer = r.begin("tool", "look_up")
        inner = r.begin("tool", "look_up", parent=r.inside[-1])
        for span, call_id in zip((outer, inner), ids, strict=True):
            if call_id is not None:
                span.attributes[names.TOOL_CALL_ID] = call_id
        r.end(inner)
        theirs(r.end(outer))
    assert tools(r) == [inner.span_id]


def test_calls_at_the_same_time_stay_as_many_as_they_are():
    r = Recording()
    with r.root():
        root = r.inside[-1]
        both = [(r.begin("tool", "look_up"), r.begin("tool", "look_up", parent=root)) for _ in range(3)]
        for one, other in both:
            r.end(other)
            theirs(r.end(one))
        theirs(r.tool("look_up"))  # one that we have not seen
    assert len(tools(r)) == 4


def test_calls_with_other_ids_and_of_other_times_are_others():
    r = Recording()
    with r.root():
        with r.call("tool", "look_up") as span:
            span.attributes[names.TOOL_CALL_ID] = "c1"
            theirs(r.tool("look_up")).attributes[names.TOOL_CALL_ID] = "c2"
        theirs(r.tool("look_up"))
        theirs(r.tool("refund"))
    assert len(tools(r)) == 4


def test_an_agent_is_ours_inside_theirs_and_around_theirs():
    r = Recording()
    with r.root("r"):
        with r.call("agent", "clerk"), r.call("agent", "clerk") as inside:
            theirs(inside)
        with r.call("agent", "desk") as around, r.call("agent", "desk"):
            theirs(around)
        with r.call("agent", "alone") as alone:
            theirs(alone)
    assert agents(r) == ["clerk", "desk", "alone"]


def test_the_order_of_arrival_does_not_matter():
    r = Recording()
    with r.root():
        root = r.inside[-1]
        pairs = [(r.begin("tool", "look_up"), r.begin("tool", "look_up", parent=root)) for _ in range(2)]
        for one, other in pairs:
            r.end(other)
            theirs(r.end(one))
    spans, found = list(r.spans), tools(r)
    for order in permutations(spans):
        r.spans = list(order)
        assert tools(r) == found


def test_a_model_call_beside_ours_that_a_framework_describes_is_one():
    r = Recording()
    with r.root():
        outer = r.ask(["user: hi"])
        r.model(["user: hi"], "assistant: yes", tokens=7, parent=r.inside[-1])
        theirs(r.answer(outer, "assistant: yes", tokens=7))
        theirs(r.model(["user: another"], "assistant: no", tokens=9))
    assert r.project().row.llm_calls == 2


def test_calls_of_parallel_agents_name_the_call_around_them():
    r = Recording()
    with r.root() as root:
        one, two = r.begin("agent", "one"), r.begin("agent", "two")
        request = theirs(r.begin(None, "POST /search", two))
        request.kind = 3  # a client's span: it has no events
        r.end(r.begin("tool", "search", request))
        r.answer(r.ask(["user: hi"], one), "assistant: ho")
        for call in (request, one, two):
            r.end(call)
    begun = [event for event in r.events() if isinstance(event, ev.StepStarted | ev.ToolCalled | ev.LlmCalled)]
    assert [event.kind for event in begun] == ["step_started", "step_started", "tool_called", "llm_called"]
    assert [event.parent for event in begun] == [each.span_id for each in (root, root, two, one)]
