from dataclasses import replace
from typing import Any, TypeVar

import pytest

from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import STATUS_ERROR, SpanEvent
from playhead.model.state import fold
from playhead.projection.projector import ProjectSettings, project
from tests.unit.projection.recording import EPOCH_NS, MS, Recording, content

E = TypeVar("E", bound=ev.Event)
REASONING = "gen_ai__usage__reasoning__output_tokens"


def only(recording: Recording, kind: type[E], **more: Any) -> list[E]:
    return [event for event in recording.events(**more) if isinstance(event, kind)]


# --- runs ------------------------------------------------------------------------------------------------------------


def test_a_root_span_begins_and_ends_the_run():
    r = Recording()
    with r.root(
        "support",
        playhead__run__name="ticket",
        gen_ai__conversation__id="conv-42",
        user__id="u1",
        playhead__run__tags=["beta"],
        playhead__input_ref=content("in"),
        playhead__run__metadata_ref=content("meta"),
        playhead__output_ref=content("out"),
    ):
        pass
    started, completed = r.events()
    assert started == ev.RunStarted(
        id="0000000000000001.run_started.0",
        run=r.run,
        seq=1,
        time_ns=EPOCH_NS + MS,
        span="0000000000000001",
        actor="support",
        name="ticket",
        session="conv-42",
        user="u1",
        tags=("beta",),
        input=content("in"),
        metadata=content("meta"),
    )
    assert isinstance(completed, ev.RunCompleted)
    assert (completed.seq, completed.elapsed_ms, completed.output) == (2, 1.0, content("out"))


def test_a_root_that_raised_fails_the_run():
    r = Recording()
    r.end(r.begin("agent", "support", playhead__run__root=True), error="took too long")
    failed = only(r, ev.RunFailed)[0]
    assert (failed.error_type, failed.message) == ("TimeoutError", "took too long")
    assert r.project().row.status == "failed"


def test_a_run_that_was_cancelled_is_that_and_one_that_was_closed_early_is_complete():
    for outcome, kind, status in (("cancelled", ev.RunFailed, "cancelled"), ("aborted", ev.RunCompleted, "completed")):
        r = Recording()
        r.end(r.begin("agent", "support", playhead__run__root=True), playhead__outcome=outcome)
        assert only(r, kind)[0].outcome == outcome
        assert (r.project().row.status, r.project().row.errors) == (status, 0)


def test_a_run_whose_root_has_not_ended_is_running():
    r = Recording()
    r.begin("agent", "support", playhead__run__root=True)
    row = r.project(quiet_ms=3_600_000).row
    assert (row.status, row.sealed, row.ended_ns, row.name) == ("running", False, None, "support")


def test_a_run_of_ours_whose_root_is_not_here_is_neither_begun_nor_ended_by_another_span():
    r = Recording()
    with r.root():
        r.tool("search")
    projection = r.project(spans=r.spans[1:], quiet_ms=3_600_000)
    assert [event.kind for event in projection.events] == ["tool_called", "tool_completed"]
    assert (projection.row.status, projection.row.sealed) == ("running", False)


@pytest.mark.parametrize("kind", ["llm", "tool"])
def test_a_root_that_is_a_call_gives_the_events_of_both(kind: str):
    r = Recording()
    with r.root("x", kind=kind):
        pass
    assert [event.kind for event in r.events()] == [
        "run_started",
        f"{kind}_called",
        f"{kind}_completed",
        "run_completed",
    ]


def test_a_later_attempt_resumes_the_run_and_nothing_stays_open():
    r = Recording()
    r.begin("agent", "support", playhead__run__root=True)
    r.begin("tool", "search")
    r.attempt = 1
    with r.root("support"):
        r.tool("search")
    events = r.events()
    assert [event.kind for event in events] == [
        "run_started", "tool_called", "run_resumed", "tool_called", "tool_completed", "run_completed",
    ]  # fmt: skip
    state = fold(events)
    assert (state.status, state.attempt, state.open_calls) == ("completed", 1, {})
    assert r.project().row.attempt == 1


def test_a_second_root_of_the_same_attempt_is_a_step():
    r = Recording()
    with r.root("support"):
        pass
    with r.root("other"):
        pass
    assert r.story() == ["run_started support", "run_completed", "step_started other", "step_completed other"]


def test_a_fork_names_its_parent_and_where_they_part():
    r = Recording()
    with r.root(playhead__fork__of="ab" * 16, playhead__fork__at=9):
        pass
    (forked,) = only(r, ev.RunForked)
    assert (forked.parent_run, forked.at) == ("ab" * 16, 9)
    assert (r.project().row.fork_of, r.project().row.fork_at) == ("ab" * 16, 9)


# --- calls -----------------------------------------------------------------------------------------------------------


def test_a_tool_call_says_what_was_called_with_what_and_what_came_back():
    r = Recording()
    span = r.begin("tool", "search", gen_ai__tool__call__id="c1", gen_ai__tool__call__arguments_ref=content("args"))
    r.end(span, gen_ai__tool__call__result_ref=content("result"))
    called, completed = only(r, ev.ToolCalled)[0], only(r, ev.ToolCompleted)[0]
    assert (called.name, called.call_id, called.arguments) == ("search", "c1", content("args"))
    assert (completed.name, completed.call_id, completed.result) == ("search", "c1", content("result"))


def test_a_tool_that_raised_has_failed():
    r = Recording()
    r.tool("search", error="no answer")
    (failed,) = only(r, ev.ToolFailed)
    assert (failed.error_type, failed.message, failed.elapsed_ms) == ("TimeoutError", "no answer", 1.0)


def test_the_type_of_an_error_is_looked_for_in_the_exception_event_of_others():
    r = Recording(ours=False)
    span = r.begin("tool", "search")
    r.end(span).status = STATUS_ERROR
    span.events.append(SpanEvent("exception", 1, {"exception.type": "KeyError", "exception.message": "'x'"}))
    (failed,) = only(r, ev.ToolFailed)
    assert (failed.error_type, failed.message) == ("KeyError", "'x'")


def test_an_error_of_unknown_type_is_still_an_error():
    r = Recording()
    r.end(r.begin("step", "parse")).status = STATUS_ERROR
    assert only(r, ev.StepCompleted)[0].error_type == "_OTHER"
    assert r.project().row.errors == 1


@pytest.mark.parametrize("kind", ["retriever", "embedding", "guardrail", "step", "agent", "of-tomorrow"])
def test_every_other_kind_is_a_step(kind: str):
    r = Recording()
    with r.root():
        r.end(r.begin(kind, "inner", playhead__input_ref=content("in")), playhead__output_ref=content("out"))
    started, completed = only(r, ev.StepStarted)[0], only(r, ev.StepCompleted)[0]
    assert (started.name, started.step_kind, started.input) == ("inner", kind, content("in"))
    assert (completed.name, completed.step_kind, completed.output) == ("inner", kind, content("out"))


def test_a_model_call_tells_all_that_is_known():
    r = Recording()
    span = r.ask(
        ["system: be kind", "user: hi"],
        gen_ai__request__stream=True,
        gen_ai__system_instructions_ref=content("system"),
        gen_ai__tool__definitions_ref=content("tools"),
        playhead__request_ref=content("request"),
    )
    r.answer(
        span,
        "assistant: hello",
        tokens=12,
        gen_ai__response__model="gpt-4o-2024-08-06",
        gen_ai__response__finish_reasons=["stop"],
        gen_ai__response__time_to_first_chunk=0.25,
        gen_ai__usage__cache_creation__input_tokens=3,
        playhead__response_ref=content("response"),
        playhead__reasoning_ref=content("reasoning"),
    )
    called, completed = only(r, ev.LlmCalled)[0], only(r, ev.LlmCompleted)[0]
    assert (called.model, called.provider, called.operation, called.stream) == ("gpt-4o", "openai", "chat", True)
    assert (called.messages, called.thread) == (2, r.thread("system: be kind", "user: hi"))
    assert (called.system, called.tools, called.request) == tuple(map(content, ("system", "tools", "request")))
    assert completed.model == "gpt-4o-2024-08-06"
    assert completed.usage == ev.TokenUsage(12, 5, None, 3, None)
    assert (completed.finish_reasons, completed.elapsed_ms, completed.first_chunk_ms) == (("stop",), 1.0, 250.0)
    assert (completed.response, completed.reasoning) == (content("response"), content("reasoning"))
    assert completed.thread == r.thread("assistant: hello")


def test_an_observed_function_that_calls_a_model_has_arguments_instead_of_messages():
    r = Recording()
    r.end(r.begin("llm", "ask", playhead__input_ref=content("in")), playhead__output_ref=content("out"))
    assert only(r, ev.LlmCalled)[0].input == content("in")
    assert only(r, ev.LlmCompleted)[0].output == content("out")


def test_what_came_before_a_stream_broke_counts():
    r = Recording()
    r.answer(r.ask(["user: hi"]), "assistant: hel", error="connection lost")
    assert r.story() == [
        "message_added user: hi",
        "llm_called",
        "llm_failed connection lost",
        "message_added assistant: hel",
    ]
    (failed,) = only(r, ev.LlmFailed)
    assert failed.thread == r.thread("assistant: hel")


def test_a_call_that_has_not_ended_is_open_in_the_state():
    r = Recording()
    r.begin("agent", "support", playhead__run__root=True)
    r.ask(["user: hi"])
    state = fold(r.events())
    assert [(call.kind, call.name) for call in state.open_calls.values()] == [("llm", "gpt-4o")]


def test_attributes_of_the_wrong_type_count_as_not_said():
    r = Recording()
    r.begin(
        "llm", "gpt-4o", gen_ai__request__model=7, gen_ai__provider__name=["x"], gen_ai__input__messages_ref="gs://b/x",
        gen_ai__usage__input_tokens="12", gen_ai__response__finish_reasons="stop", playhead__run__attempt="one",
    )  # fmt: skip
    (called,) = only(r, ev.LlmCalled)
    assert (called.model, called.provider, called.thread) == (None, None, None)


# --- who acts --------------------------------------------------------------------------------------------------------


def test_the_actor_is_the_nearest_agent_around():
    r = Recording()
    with r.root("lead"):
        with r.call("step", "prepare"):
            r.tool("search")
        with r.call("agent", "researcher"), r.call("step", "read"):
            r.tool("fetch")
    actors = {r.tell(event): event.actor for event in r.events()}
    assert actors["tool_called search"] == "lead"
    assert actors["step_started researcher"] == actors["tool_called fetch"] == "researcher"
    assert r.project().row.agents == ("lead", "researcher")


def test_where_a_parent_was_lost_the_runs_own_agent_acts():
    r = Recording()
    with r.root("lead"), r.call("agent", "researcher") as lost:
        r.tool("fetch")
    (called,) = only(r, ev.ToolCalled, spans=[span for span in r.spans if span is not lost])
    assert called.actor == "lead"


def test_parents_in_a_circle_stop_nothing():
    r = Recording(counting=False)
    with r.root("lead"), r.call("step", "a") as a, r.call("step", "b") as b:
        r.tool("fetch")
    a.parent_id = b.span_id
    assert sorted(r.story()) == sorted(
        ["run_started lead", "step_started a", "step_started b", "tool_called fetch", "tool_completed fetch",
         "step_completed b", "step_completed a", "run_completed"]
    )  # fmt: skip


# --- log events ------------------------------------------------------------------------------------------------------


def test_declared_facts_come_from_log_events():
    r = Recording()
    with r.root("lead"):
        r.log(names.STATE_CHANGED, playhead__state__key="plan", playhead__value_ref=content("v"))
        r.log(names.CHECKPOINT, playhead__state_ref=content("s"))
        r.log(names.HANDOFF, playhead__handoff__to="TechLead", playhead__reason_ref=content("why"))
        r.log(names.ANNOTATION, playhead__annotation_ref=content("a"))
        r.log(names.PLAN, playhead__plan_ref=content("p"))
        r.log(names.VALUE_READ, playhead__value__of="time lead:agent", playhead__value=1.5)
    _, changed, point, handoff, decision, plan, read, _ = r.events()
    assert isinstance(changed, ev.StateChanged)
    assert (changed.key, changed.value, changed.id) == ("plan", content("v"), "0000000000000001.state_changed.2")
    assert isinstance(point, ev.CheckpointCreated)
    assert point.state == content("s")
    assert isinstance(handoff, ev.AgentHandoff)
    assert (handoff.to, handoff.reason, handoff.actor) == ("TechLead", content("why"), "lead")
    assert isinstance(decision, ev.OrchestrationDecision)
    assert decision.annotation == content("a")
    assert isinstance(plan, ev.PlanCreated)
    assert plan.plan == content("p")
    assert fold(r.events()).plan == content("p")
    assert isinstance(read, ev.ValueRead)
    assert (read.of, read.value) == ("time lead:agent", 1.5)


def test_a_log_event_of_a_newer_sdk_is_kept_as_it_is():
    r = Recording()
    with r.root():
        r.log("playhead.of_tomorrow", playhead__x=1, playhead__y_ref=content("y"))
    (unknown,) = only(r, ev.UnknownEvent)
    assert ev.event_to_json(unknown) == {
        "id": "0000000000000001.playhead.of_tomorrow.2",
        "run": r.run,
        "seq": 2,
        "time_ns": unknown.time_ns,
        "span": "0000000000000001",
        "actor": "support",
        "kind": "playhead.of_tomorrow",
        "priority": "normal",
        "data": {"playhead.x": 1},
        "refs": {"playhead.y_ref": content("y")},
    }
    assert ev.event_from_json(ev.event_to_json(unknown)) == unknown


def test_log_events_of_others_and_announcements_are_no_events():
    r = Recording()
    with r.root():
        r.log("gen_ai.client.inference.operation.details")
        r.log(names.STARTED)
    assert r.story() == ["run_started support", "run_completed"]


def test_log_events_at_one_instant_have_ids_of_their_own():
    r = Recording()
    with r.root():
        for key in ("a", "b"):
            del r.log(names.STATE_CHANGED, playhead__state__key=key).attributes[names.CALL_ORDER]
    r.logs[1].time_ns = r.logs[0].time_ns
    ids = [event.id for event in only(r, ev.StateChanged)]
    assert len(set(ids)) == 2
    assert ids == [event.id for event in only(r, ev.StateChanged, logs=[*r.logs[::-1], *r.logs])]


# --- traces of others ------------------------------------------------------------------------------------------------


def test_a_trace_of_others_begins_with_its_parentless_span():
    r = Recording(ours=False)
    with r.root("POST /chat", kind="http"):
        r.model(["user: hi"], "assistant: hello")
    assert r.story() == [
        "run_started POST /chat", "message_added user: hi", "llm_called", "llm_completed",
        "message_added assistant: hello", "run_completed",
    ]  # fmt: skip


def test_a_trace_whose_outermost_span_is_not_here_yet_does_not_end():
    r = Recording(ours=False)
    with r.root("outer", kind="chain"):
        r.model(["user: hi"], "assistant: hello")
    row = r.project(spans=r.spans[1:]).row
    assert (row.status, row.name) == ("running", "chat gpt-4o")


def test_a_request_from_a_caller_who_never_reports_is_a_whole_run():
    r = Recording(ours=False)
    with r.root("POST /chat", kind="http") as span:
        pass
    span.parent_id, span.kind = "f" * 16, 2
    assert r.project().row.status == "completed"


def test_spans_of_unknown_kind_are_steps_only_where_they_enclose_genai_calls():
    r = Recording(ours=False)
    with r.root("job", kind="job"):
        with r.call("chain", "Chain.invoke"), r.call("http", "POST /v1/chat/completions") as request:
            request.kind = 3
            r.model(["user: hi"])
        with r.call("db", "SELECT"):
            pass
    assert [line for line in r.story() if "step" in line] == [
        "step_started Chain.invoke",
        "step_completed Chain.invoke",
    ]


def test_older_and_other_operations_of_genai_are_known():
    r = Recording(ours=False)
    with r.root("job", kind="job"):
        r.end(r.begin(None, "x", gen_ai__operation__name="generate_content", gen_ai__system="gemini"))
        r.end(r.begin(None, "plan it", gen_ai__operation__name="plan"))
    assert only(r, ev.LlmCalled)[0].provider == "gemini"
    assert only(r, ev.StepStarted)[0].name == "plan it"


# --- the row ---------------------------------------------------------------------------------------------------------


def test_the_row_sums_the_run_up():
    r = Recording()
    with r.root("lead", user__id="u1"):
        r.model(["user: hi"], "assistant: x", tokens=100)
        r.tool("search", error="no")
        r.model(["user: hi", "assistant: x", "tool: y"], "assistant: z", tokens=80)
    row = r.project().row
    assert (row.llm_calls, row.tool_calls, row.errors, row.input_tokens, row.output_tokens) == (2, 1, 1, 180, 10)
    assert (row.context_peak, row.models, row.tools, row.agents) == (100, ("gpt-4o",), ("search",), ("lead",))
    assert (row.started_ns, row.ended_ns, row.user) == (r.spans[0].start_ns, r.spans[0].end_ns, "u1")
    assert row.events == len(r.events())


def test_holes_in_the_count_are_reported():
    r = Recording()
    with r.root():
        lost = r.tool("search")
        r.log(names.STATE_CHANGED)
        r.tool("fetch")
    assert r.project().row.spans_missing == 0
    assert r.project(spans=[span for span in r.spans if span is not lost]).row.spans_missing == 1
    assert r.project(logs=[]).row.spans_missing == 1


def test_snapshots_are_the_states_that_a_fold_from_the_start_gives():
    r = Recording()
    with r.root():
        for _ in range(30):
            r.tool("search")
    projection = project(r.work(), 0, ProjectSettings(snapshot_every=10))
    assert [state.seq for state in projection.snapshots] == [10, 20, 30, 40, 50, 60]
    assert all(state == fold(projection.events[: state.seq]) for state in projection.snapshots)


def test_a_run_of_nothing_has_a_row():
    projection = Recording().project()
    assert (list(projection.events), projection.row.status) == ([], "running")


def test_spans_are_left_as_they_are():
    r = Recording()
    with r.root():
        r.tool("search")
    before = [replace(span, attributes=dict(span.attributes)) for span in r.spans]
    r.project()
    assert r.spans == before


# --- what is said beside calls ---------------------------------------------------------------------------------------


def test_a_checkpoint_has_its_name_and_the_thread_that_its_agent_saw_last():
    r = Recording()
    with r.root():
        asked = r.model(["user: hello"], "assistant: hi")
        r.log(names.CHECKPOINT, playhead__checkpoint__name="greeted", playhead__state_ref=content("state"))
    (checkpoint,) = only(r, ev.CheckpointCreated)
    assert (checkpoint.name, checkpoint.state) == ("greeted", content("state"))
    assert checkpoint.thread == asked.attributes[names.INPUT_MESSAGES_REF]
    point = fold(r.events()).checkpoint
    assert point is not None
    assert (point.name, point.thread) == ("greeted", checkpoint.thread)


def test_an_answer_of_one_message_has_the_tokens_that_its_provider_reported_without_those_of_thinking():
    r = Recording()
    with r.root():
        r.model(["user: hello"], "assistant: hi", gen_ai__usage__output_tokens=12, **{REASONING: 5})
        r.model(["user: again"], "assistant: hi", "assistant: ho", gen_ai__usage__output_tokens=12)
    assert [event.tokens for event in only(r, ev.MessageAdded) if event.source == "output"] == [7, None, None]


@pytest.mark.parametrize(("severity", "priority"), [(9, "normal"), (17, "critical"), (None, "normal")])
def test_a_log_record_of_somebody_else_is_an_event_of_the_run(severity: int | None, priority: str):
    r = Recording()
    said = {} if severity is None else {"playhead__log__severity": severity}
    with r.root():
        r.log("shop.cart_emptied", playhead__log__body_ref=content("emptied"), shop__items=3, **said)
    (logged,) = only(r, ev.EventLogged)
    assert (logged.name, logged.severity, logged.value) == ("shop.cart_emptied", severity, content("emptied"))
    assert logged.attributes == {"shop.items": 3}
    assert ev.priority_of(logged) == priority
    assert ev.event_from_json(ev.event_to_json(logged)) == logged
