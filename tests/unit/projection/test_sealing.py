from playhead.model import event as ev
from playhead.projection.projector import project
from tests.unit.projection.recording import MS, SETTINGS, Recording


def ended() -> Recording:
    r = Recording()
    with r.root("lead"):
        r.tool("first")
        r.tool("second")
        r.tool("third")
    return r


def test_a_run_that_has_ended_and_been_quiet_is_sealed():
    r = ended()
    assert not r.project(quiet_ms=30_000).row.sealed
    assert r.project(quiet_ms=30_001).row.sealed


def test_a_sealed_run_stays_sealed_and_what_is_late_is_appended():
    r = ended()
    second = r.spans[2]
    sealed = r.project(spans=[span for span in r.spans if span is not second], quiet_ms=60_000)
    assert (sealed.row.sealed, sealed.row.spans_missing) == (True, 1)
    after = r.project(sealed=sealed.events)
    assert after.row.sealed
    assert after.row.spans_missing == 0
    assert list(after.events[: len(sealed.events)]) == list(sealed.events)
    assert [(event.seq, r.tell(event)) for event in after.events[len(sealed.events) :]] == [
        (7, "tool_called (late) second"),
        (8, "tool_completed (late) second"),
    ]
    assert after.row.tool_calls == 3


def test_projecting_a_sealed_run_again_changes_nothing():
    r = ended()
    sealed = r.project(spans=[*r.spans[:2], *r.spans[3:]], quiet_ms=60_000)
    late = r.project(sealed=sealed.events)
    assert r.project(sealed=late.events).events == late.events


def test_a_sealed_event_that_says_more_now_keeps_its_place():
    r = ended()
    r.spans[1].attributes["gen_ai.tool.call.arguments_ref"] = None
    sealed = r.project(quiet_ms=60_000).events
    r.spans[1].attributes["gen_ai.tool.call.arguments_ref"] = r.kept("found")
    after = r.events(sealed=sealed)
    assert [event.seq for event in after] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert isinstance(after[1], ev.ToolCalled)
    assert (after[1].arguments, after[1].late) == (r.kept("found"), False)


def test_a_message_that_a_late_call_brought_first_is_not_told_twice():
    r = Recording()
    with r.root():
        r.model(["user: a"], "assistant: B")
        r.model(["user: a", "assistant: B", "user: c"], "assistant: D")
    sealed = r.events(spans=[r.spans[0], r.spans[2]])
    after = r.events(sealed=sealed)
    assert [r.tell(event) for event in after[len(sealed) :]] == ["llm_called (late)", "llm_completed (late)"]
    assert sum(isinstance(event, ev.MessageAdded) for event in after) == 4


def test_a_sealed_event_whose_cause_has_gone_stays():
    r = ended()
    sealed = r.events()
    assert r.events(spans=r.spans[:2], sealed=sealed) == list(sealed)


def test_a_late_log_event_of_a_newer_sdk_says_where_it_stands():
    r = ended()
    sealed = r.events()
    r.log("playhead.of_tomorrow")
    late = r.events(sealed=sealed)[-1]
    assert isinstance(late, ev.UnknownEvent)
    assert (ev.event_to_json(late)["seq"], ev.event_to_json(late)["late"]) == (9, True)
    assert r.events(sealed=r.events(sealed=sealed))[-1] == late


def test_a_sealed_run_that_is_resumed_is_open_again_until_it_ends():
    r = Recording()
    r.end(r.begin("agent", "lead", playhead__run__root=True), error="out of luck")
    sealed = r.project(quiet_ms=60_000)
    assert (sealed.row.status, sealed.row.sealed) == ("failed", True)
    r.attempt = 1
    root = r.begin("agent", "lead", playhead__run__root=True)
    running = r.project(sealed=sealed.events, quiet_ms=60_000)
    assert [r.tell(event) for event in running.events] == ["run_started lead", "run_failed out of luck", "run_resumed"]
    assert (running.row.status, running.row.sealed) == ("running", False)
    r.end(root)
    assert project(r.work(), r.now_ns + 60_000 * MS, SETTINGS).row.sealed
