"""Spans in, events out.  Refs are written as what they name, so that a diff can be read."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from playhead.model import names
from playhead.model.event import RunEvent, event_to_json
from playhead.model.span import Span
from tests.unit.projection.recording import Recording, content

Golden = Callable[[str, str], None]
SYSTEM = "system: You are a support agent."


def tool_loop() -> Recording:
    r = Recording()
    with r.root("support", gen_ai__conversation__id="conv-42", user__id="u1", playhead__input_ref=r.kept("task")):
        said = [SYSTEM, "user: Where is my order?"]
        r.model(said, "assistant: call lookup", tokens=50, gen_ai__tool__definitions_ref=r.kept("tools"))
        r.tool("lookup", gen_ai__tool__call__id="call_1", gen_ai__tool__call__result_ref=r.kept("shipped"))
        said += ["assistant: call lookup", "tool: shipped"]
        r.model(said, "assistant: It is on its way.", tokens=70, gen_ai__tool__definitions_ref=r.kept("tools"))
    return r


def parallel_tools() -> Recording:
    r = Recording()
    with r.root() as root:
        said = [SYSTEM, "user: Compare the two."]
        r.model(said, "assistant: call fetch, fetch")
        one, two = r.begin("tool", "fetch"), r.begin("tool", "fetch")
        nested = r.begin("step", "http", two)
        r.end(one, gen_ai__tool__call__result_ref=r.kept("one"))
        r.end(nested)
        r.end(two, gen_ai__tool__call__result_ref=r.kept("two"))
        r.model([*said, "assistant: call fetch, fetch", "tool: one", "tool: two"], "assistant: The first.")
        r.begin("step", "tidy up", root)  # outlives the run
    r.end(r.spans[-1])
    return r


def failed_call() -> Recording:
    r = Recording()
    with r.root():
        said = [SYSTEM, "user: Hi"]
        r.answer(r.ask(said), error="429 Too Many Requests")
        r.model(said, "assistant: call lookup")
        r.tool("lookup", error="no such order")
        r.model([*said, "assistant: call lookup", "tool: no such order"], "assistant: I cannot find it.")
    return r


def aborted_stream() -> Recording:
    r = Recording()
    root = r.begin("agent", "support", playhead__run__root=True)
    first = r.ask([SYSTEM, "user: Tell me a story."], root, gen_ai__request__stream=True)
    r.answer(first, "assistant: Once upon", playhead__outcome="aborted")
    second = r.ask([SYSTEM, "user: Tell me a story.", "assistant: Once upon", "user: Go on."], root)
    r.answer(second, "assistant: a ti", error="connection reset")
    r.end(root, playhead__outcome="cancelled")
    return r


def crash() -> Recording:
    r = Recording()
    root = r.begin("agent", "support", playhead__run__root=True)
    r.inside.append(root)
    r.model([SYSTEM, "user: Refund me."], "assistant: call refund")
    r.begin("tool", "refund", gen_ai__tool__call__id="call_1", gen_ai__tool__call__arguments_ref=r.kept("42 EUR"))
    return r


def foreign() -> Recording:
    r = Recording(run="4bf92f3577b34da6a3ce929d0e0e4736", ours=False)
    with r.root("POST /chat", kind=None) as server:
        server.kind = 2
        with r.call("agent", "planner"), r.call(None, "LangGraph.invoke"):
            r.model([SYSTEM, "user: Plan it."], "assistant: call search", tokens=30)
            with r.call("tool", "search"), r.call(None, "GET"):
                pass
            with r.call(None, "GET") as request:
                request.kind = 3
    return r


def sliding_window() -> Recording:
    r = Recording()
    with r.root():
        said = ["user: one", "assistant: 1", "user: two", "assistant: 2", "user: three"]
        r.model([SYSTEM, *said], "assistant: 3", tokens=120)
        r.model([SYSTEM, *said[2:], "assistant: 3", "user: four"], "assistant: 4", tokens=90)
        r.model([SYSTEM, *said[4:], "assistant: 3", "user: four", "assistant: 4", "user: four"], "assistant: 4")
    return r


def declared() -> Recording:
    r = Recording()
    with r.root("triage"):
        r.log(names.STATE_CHANGED, playhead__state__key="plan", playhead__value_ref=r.kept("plan"))
        r.log(names.ANNOTATION, playhead__annotation_ref=r.kept("refund, since the parcel was lost"))
        r.log(names.HANDOFF, playhead__handoff__to="TechLead", playhead__reason_ref=r.kept("technical"))
        with r.call("agent", "TechLead"):
            r.log(names.CHECKPOINT, playhead__state_ref=r.kept("todo"))
            r.log("playhead.of_tomorrow", playhead__what=1, playhead__that_ref=r.kept("that"))
    return r


SCENARIOS = [tool_loop, parallel_tools, failed_call, aborted_stream, crash, foreign, sliding_window, declared]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_these_spans_are_these_events(scenario: Callable[[], Recording], golden: Golden):
    r = scenario()
    golden(f"projection/{scenario.__name__}.spans.json", spans_text(r, r.spans))
    golden(f"projection/{scenario.__name__}.events.json", events_text(r, r.events()))


def test_a_span_that_comes_after_the_run_was_sealed(golden: Golden):
    r = tool_loop()
    late = next(span for span in r.spans if span.attributes[names.KIND] == "tool")
    sealed = r.project(spans=[span for span in r.spans if span is not late], quiet_ms=60_000)
    assert sealed.row.sealed
    golden("projection/late.spans.json", spans_text(r, [late]))
    golden("projection/late.events.json", events_text(r, r.events(sealed=sealed.events)))


def test_every_ref_in_a_golden_file_says_what_it_names():
    r = tool_loop()
    assert "sha256:" not in events_text(r, r.events())
    assert "sha256:" in events_text(Recording(), r.events())
    assert content("task") in r.labels


def spans_text(r: Recording, spans: Sequence[Span]) -> str:
    logs = [dataclasses.asdict(log) for log in r.logs]
    return _lines(r, [*({"span": _short(dataclasses.asdict(span))} for span in spans), *({"log": log} for log in logs)])


def events_text(r: Recording, events: Sequence[RunEvent]) -> str:
    return _lines(r, map(event_to_json, events))


def _short(span: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in span.items() if value not in ([], {}, "")}


def _lines(r: Recording, items: Iterable[Any]) -> str:
    text = "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n]\n"
    for ref, label in r.labels.items():
        text = text.replace(ref, f"<{label}>")
    return text
