"""Retrievers, embeddings, rerankers and guardrails: their events, what a state counts of them, and their usage."""

from collections.abc import Iterable
from typing import Any

import pytest

from playhead.lift import lift
from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import Span
from playhead.model.state import fold
from playhead.model.usage import ModelUsage
from tests.unit.projection.recording import Recording

EMBEDDED = {"gen_ai__request__model": "embed-3", "gen_ai__usage__input_tokens": 7}


def steps(events: Iterable[ev.RunEvent]) -> list[tuple[str, str]]:
    return [(event.name, event.step_kind) for event in events if isinstance(event, ev.StepStarted)]


def ends(events: Iterable[ev.RunEvent]) -> list[ev.StepCompleted]:
    return [event for event in events if isinstance(event, ev.StepCompleted)]


def test_a_state_counts_calls_that_are_neither_of_models_nor_of_tools():
    r = Recording()
    with r.root():
        for kind in ("retriever", "embedding", "guardrail", "retriever"):
            r.end(r.begin(kind, f"a {kind}"))
    state = fold(r.events())
    assert state.step_calls == {"retriever": 2, "embedding": 1, "guardrail": 1}
    assert (state.llm_calls, state.tool_calls, state.tripped) == (0, 0, ())


def test_tokens_of_embeddings_and_rerankers_are_part_of_the_runs_usage_and_no_context():
    r = Recording()
    with r.root():
        r.answer(r.ask(["user: hi"]), "assistant: ho", tokens=100)
        r.end(r.begin("embedding", "embed-3", **EMBEDDED))
        r.end(r.begin("retriever", "rerank", gen_ai__request__model="rerank-3", gen_ai__usage__input_tokens=9))
    projected = r.project()
    state = fold(projected.events)
    used = (ModelUsage("embed-3", "embed-3", 7, 0), ModelUsage("rerank-3", "rerank-3", 9, 0))
    assert (projected.row.usage or ())[1:] == used
    assert (state.usage or ())[1:] == used
    assert (state.input_tokens, state.context_tokens, projected.row.context_peak) == (116, 100, 100)
    assert [(end.model, end.usage) for end in ends(projected.events)] == [
        ("embed-3", ev.TokenUsage(7, 0)), ("rerank-3", ev.TokenUsage(9, 0)),
    ]  # fmt: skip


def test_an_embedding_that_a_framework_and_a_client_describe_is_counted_once():
    r = Recording()
    with r.root():
        outer = r.begin("embedding", "embed_documents", **EMBEDDED)
        search = r.begin("retriever", "between", parent=outer)
        r.end(r.begin("embedding", "embed-3", parent=search, **EMBEDDED))
        r.end(search)
        r.end(outer)
        r.end(r.begin("embedding", "embed-3", **EMBEDDED))
    assert fold(r.events()).input_tokens == 14
    assert [end.usage is not None for end in ends(r.events())] == [True, False, False, True]


@pytest.mark.parametrize("kind", ["embedding", "retriever"])
def test_the_tokens_of_a_call_that_is_a_whole_trace_count(kind: str):
    r = Recording(ours=False, counting=False)
    r.end(r.begin(None, "embed-3", playhead__kind=kind, **EMBEDDED))
    projected = r.project()
    assert projected.row.usage == (ModelUsage("embed-3", "embed-3", 7, 0),)
    assert [event.kind for event in projected.events] == [
        "run_started", "step_started", "step_completed", "run_completed",
    ]  # fmt: skip


def test_a_tripped_guardrail_is_critical_and_its_seq_is_in_the_state():
    r = Recording()
    with r.root():
        r.end(r.begin("guardrail", "is_polite"), playhead__outcome="tripped")
        r.end(r.begin("guardrail", "is_short"))
    tripped, passed = ends(r.events())
    assert (ev.priority_of(tripped), ev.priority_of(passed)) == (ev.CRITICAL, ev.NORMAL)
    assert ev.event_to_json(tripped)["priority"] == ev.CRITICAL
    assert fold(r.events()).tripped == (tripped.seq,)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"openinference.span.kind": "RETRIEVER"}, "retriever"),
        ({"openinference.span.kind": "RERANKER"}, "retriever"),
        ({"openinference.span.kind": "EMBEDDING"}, "embedding"),
        ({"openinference.span.kind": "GUARDRAIL"}, "guardrail"),
        ({"mlflow.spanType": '"RERANKER"'}, "retriever"),
        ({"langfuse.observation.type": "guardrail"}, "guardrail"),
        ({"langsmith.span.kind": "retriever"}, "retriever"),
        ({"llm.request.type": "rerank"}, "retriever"),
        ({"agentops.span.kind": "guardrail"}, "guardrail"),
        ({"gen_ai.operation.name": "embeddings"}, "embedding"),
        ({"gen_ai.operation.name": "retrieval"}, "retriever"),
    ],
)
def test_spans_of_others_give_the_events_of_their_kind(attributes: dict[str, Any], kind: str):
    r = Recording(ours=False)
    with r.root():
        span = r.end(r.begin(None, "a call"))
        span.attributes = dict(attributes)
        span.attributes = lift(span).span.attributes
    assert steps(r.events()) == [("a call", kind)]


def test_a_guardrail_of_logfire_says_whether_it_was_tripped():
    template = "Guardrail {name!r} {triggered=}"
    said = {"logfire.msg_template": template, "name": "polite", "triggered": True}
    span = Span("ab" * 16, "cd" * 8, None, template, 1, 2, dict(said))
    span = lift(span).span
    assert (span.attributes[names.KIND], span.attributes[names.OUTCOME]) == ("guardrail", names.TRIPPED)
