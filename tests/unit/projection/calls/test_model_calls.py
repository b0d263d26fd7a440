"""A model call that several spans tell of is one call, with the tokens of one."""

from itertools import permutations
from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import Span
from tests.unit.projection.recording import Recording, content


def called(r: Recording) -> list[str]:
    """Kinds of the events of calls, in order."""
    kinds = ("llm_called", "llm_completed", "step_started", "step_completed")
    return [event.kind for event in r.events() if event.kind in kinds]


def counted(r: Recording) -> tuple[int, int, int]:
    row = r.project().row
    return row.llm_calls, row.input_tokens, row.output_tokens


def foreign(span: Span) -> Span:
    """As another instrumentation of the same process writes it: our run's id, and none of our counts."""
    span.scope = "opentelemetry.instrumentation.openai_v2"
    for name in (names.KIND, names.CALL_ORDER, names.CALL_ENDED_AFTER, names.CALL_END_ORDER):
        span.attributes.pop(name, None)
    span.attributes[names.OPERATION] = "chat"
    return span


def test_a_function_of_kind_llm_around_a_client_is_a_step_around_one_call():
    r = Recording()
    with r.root(), r.call("llm", "ask", playhead__input_ref=content("in")):
        r.model(["user: hi"], "assistant: yes", tokens=7)
    assert called(r) == ["step_started", "llm_called", "llm_completed", "step_completed"]
    assert counted(r) == (1, 7, 5)
    started = next(event for event in r.events() if isinstance(event, ev.StepStarted))
    assert (started.name, started.input) == ("chat ask", content("in"))


def test_a_function_of_kind_llm_alone_is_the_call():
    r = Recording()
    with r.root(), r.call("llm", "ask"):
        r.tool("search")
    assert called(r) == ["llm_called", "llm_completed"]


def test_functions_of_kind_llm_in_one_another_are_steps_around_all_calls():
    r = Recording()
    with r.root(), r.call("llm", "outer"), r.call("llm", "inner"), r.call("step", "try"):
        r.model(["user: hi"], tokens=7)
        r.model(["user: hi again"], "assistant: yes", tokens=8)
    assert counted(r) == (2, 15, 10)
    assert called(r).count("step_started") == 3


def test_a_run_of_one_function_of_kind_llm_has_one_call():
    r = Recording()
    with r.root("ask", "llm"):
        r.model(["user: hi"], "assistant: yes", tokens=7)
    assert counted(r) == (1, 7, 5)
    assert r.project().row.status == "completed"


@pytest.mark.parametrize("same", ["input", "output", "response id", "tokens"])
def test_what_two_instrumentations_tell_is_one_call(same: str):
    """Theirs around ours, and ours around theirs."""
    for ours_is_outer in (True, False):
        r = Recording()
        said: dict[str, Any] = {"gen_ai__response__id": "r1"} if same == "response id" else {}
        with r.root():
            outer = r.ask(["user: hi"])
            inner = r.ask(["user: hi"] if same == "input" else ["user: the same, said otherwise"], outer)
            answers = ("assistant: yes", "assistant: yes" if same == "output" else "assistant: yes!")
            tokens = (7, 7 if same == "tokens" else None)
            r.answer(inner, answers[1], tokens=tokens[1], **said)
            r.answer(outer, answers[0], tokens=tokens[0], **said)
        foreign(inner if ours_is_outer else outer)
        assert r.project().row.llm_calls == 1
        [call] = [event for event in r.events() if isinstance(event, ev.LlmCalled)]
        assert call.span == (outer if ours_is_outer else inner).span_id


def test_a_frameworks_span_with_the_tokens_of_its_calls_is_a_step():
    r = Recording()
    with r.root():
        outer = foreign(r.ask(["user: all of it"]))
        r.answer(r.ask(["user: one"], outer), "assistant: a", tokens=7)
        r.answer(r.ask(["user: two"], outer), "assistant: b", tokens=8)
        outer.attributes |= {names.INPUT_TOKENS: 15, names.OUTPUT_TOKENS: 10}
        outer.end_ns = r.now_ns + 1
    assert counted(r) == (2, 15, 10)


def test_a_call_inside_a_call_that_says_something_else_is_a_call():
    r = Recording()
    with r.root():
        outer = r.ask(["user: hi"])
        r.answer(r.ask(["user: something else"], outer), "assistant: a", tokens=7)
        r.answer(outer, "assistant: b", tokens=9)
    assert counted(r) == (2, 16, 10)


def test_two_spans_of_one_call_beside_each_other_are_one_by_its_response_id():
    """As of a stream, while whose answer comes no span is current."""
    r = Recording()
    with r.root():
        ours, theirs = r.ask(["user: hi"]), foreign(r.ask(["user: hi"]))
        r.answer(theirs, "assistant: yes", tokens=7, gen_ai__response__id="r1")
        foreign(theirs)
        r.answer(ours, "assistant: yes", tokens=7, gen_ai__response__id="r1")
        r.model(["user: again"], "assistant: yes", tokens=7, gen_ai__request__seed=1)
    assert counted(r) == (2, 14, 10)


def test_equal_response_ids_of_our_own_calls_are_calls():
    r = Recording()
    with r.root():
        for _ in range(2):
            r.answer(r.ask(["user: hi"]), "assistant: yes", tokens=7, gen_ai__response__id="r1")
    assert counted(r) == (2, 14, 10)


# --- instrumentations of others ---------------------------------------------------------------------------------------

OFFICIAL = "opentelemetry.instrumentation.genai.openai"
INFERENCE = "openinference.instrumentation.openai"
LLMETRY = "opentelemetry.instrumentation.openai.v1"


def by(scope: str, span: Span, **more: Any) -> Span:
    """The span as another instrumentation's."""
    foreign(span).scope = scope
    span.attributes |= more
    return span


def scopes_of_calls(r: Recording) -> list[str]:
    """The instrumentations whose spans are calls of a model."""
    scopes = {span.span_id: span.scope for span in r.spans}
    return [scopes[str(event.span)] for event in r.events() if isinstance(event, ev.LlmCalled)]


@pytest.mark.parametrize("order", list(permutations((OFFICIAL, INFERENCE, LLMETRY))))
def test_of_several_instrumentations_of_a_client_the_first_of_the_families_is_the_call(order: tuple[str, ...]):
    """Inside each other, with nothing in common but the model: of a stream, say, whose usage nobody asked for."""
    r = Recording()
    with r.root():
        outer = r.ask(["user: hi"])
        middle = r.ask(["user: said otherwise"], outer)
        inner = r.ask(["user: and otherwise again"], middle)
        for at, span in enumerate((inner, middle, outer)):
            r.answer(span, f"assistant: {at}")
    for scope, span in zip(order, (outer, middle, inner), strict=True):
        by(scope, span)
    assert scopes_of_calls(r) == [OFFICIAL]
    assert "step_started" not in called(r)


def test_the_preferred_one_is_the_call():
    r = Recording()
    with r.root():
        outer = r.ask(["user: hi"])
        inner = r.ask(["user: hi"], outer)
        r.answer(inner, "assistant: yes")
        r.answer(outer, "assistant: yes")
    by(OFFICIAL, outer)
    by(LLMETRY, inner, **{names.PREFERRED: True})
    assert scopes_of_calls(r) == [LLMETRY]


def test_equal_calls_at_a_time_beside_each_other_stay_as_many_as_they_are():
    r = Recording()
    with r.root():
        spans = [(r.ask(["user: hi"]), r.ask(["user: hi"])) for _ in range(3)]
        for one, other in spans:
            r.answer(one, "assistant: yes")
            r.answer(other, "assistant: yes")
    for one, other in spans:
        by(OFFICIAL, one)
        by(INFERENCE, other)
    assert scopes_of_calls(r) == [OFFICIAL] * 3


def test_retries_inside_a_frameworks_call_are_calls():
    """Two requests of one client, both inside a call that says the same as each: it is a step around both."""
    r = Recording()
    with r.root():
        outer = r.ask(["user: hi"])
        for _ in range(2):
            r.answer(by(OFFICIAL, r.ask(["user: hi"], outer)), "assistant: yes")
        r.answer(outer, "assistant: yes")
    by("openinference.instrumentation.langchain", outer)
    for span in r.spans:
        if span.parent_id == outer.span_id:
            by(OFFICIAL, span)
    assert scopes_of_calls(r) == [OFFICIAL] * 2


@pytest.mark.parametrize("scope", ["com.anthropic.sdk.python", "somebody.else"])
def test_of_two_spans_of_others_the_one_that_says_what_was_asked_is_the_call(scope: str):
    """A client's own telemetry, without content, inside an instrumentation's or a framework's."""
    r = Recording()
    with r.root():
        theirs = r.ask(["user: hi"])
        clients = r.ask(["user: hi"], theirs)
        r.answer(clients, "assistant: yes", tokens=7)
        r.answer(theirs, "assistant: yes", tokens=7)
    for name in (names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF):
        del clients.attributes[name]
    by("pydantic-ai", theirs)
    by(scope, clients)
    assert scopes_of_calls(r) == ["pydantic-ai"]
    assert counted(r) == (1, 7, 5)
