"""What came of a run: its error with the way that it took, what it waits for, its agents, its task, its last answer."""

from dataclasses import replace

from playhead.model import event as ev
from playhead.model.span import Span, SpanEvent
from playhead_collector.analysis.turns.verdict import answer_verdict
from tests.support.readers.agents import MESSAGE, STACK, TYPE, AgentsRun, span_with_error
from tests.support.readers.fake import RUN, record_of


def crashed_review() -> tuple[AgentsRun, dict[str, str]]:
    """Three reviewers side by side; a tool of one raises, and nobody catches it."""
    run = AgentsRun(tools=[{"name": "query_plan", "parameters": {"required": ["sql", "limit"]}}])
    review = run.agent("review")
    agents = {name: run.agent(name, review) for name in ("security", "performance", "readability")}
    run.turn(agent=agents["security"], calls=[("callers_of", "c1", {"name": "orders_of"})])
    asked = run.asks_model(agents["performance"])
    run.model_answers(asked, calls=[("query_plan", "c2", {"limit": 5, "sql": "select 1"})])
    run.turn("low: rename `d`", agent=agents["readability"])
    run.agent_ends(agents["readability"])
    tool = run.tool("query_plan", {"limit": 5, "sql": "select 1"}, "c2", agents["performance"])
    # Handled: the model call is made again.
    run.model_fails(run.asks_model(agents["security"]), "RateLimitError", "slow down")
    still = run.asks_model(agents["security"])
    run.tool_raises(tool, TYPE, MESSAGE)
    run.agent_ends(agents["performance"], (TYPE, MESSAGE))
    run.model_answers(still, "high: use a parameter")
    run.agent_ends(agents["security"])
    run.agent_ends(review, (TYPE, MESSAGE))
    return run, {**agents, "review": review, "tool": tool}


async def test_an_error_is_one_however_many_calls_it_went_through():
    run, spans = crashed_review()
    span_with_error(run, spans["tool"], STACK)
    verdict = await answer_verdict(run.fails(TYPE, MESSAGE))
    assert (verdict["outcome"]["word"], verdict["other_errors"], verdict["first_error"]) == ("crashed", 1, 2)
    error = verdict["error"]
    assert error is not None
    failed = next(event for event in run.events if isinstance(event, ev.ToolFailed))
    assert (error["type"], error["message"], error["seq"], error["turn"]) == (TYPE, MESSAGE, failed.seq, 2)
    # The arguments in the order of the definition that the model had.
    assert (error["call"], error["group"], error["after_ms"]) == (
        "query_plan(select 1, 5)", spans["performance"], failed.elapsed_ms,
    )  # fmt: skip
    assert [(step["kind"], step["name"]) for step in error["went_through"]] == [
        ("agent", "performance"), ("agent", "review"), ("run", "support"),
    ]  # fmt: skip
    assert error["handled"] is False
    assert error["at"] is not None
    assert (error["at"]["function"], error["at"]["line"]) == ("plan", 54)
    assert [(cause["type"], cause["message"]) for cause in error["causes"]] == [("TimeoutError", "timed out")]
    assert [frame["library"] for frame in error["frames"]] == [False, True, False]
    assert error["stack"] == STACK


async def test_agents_side_by_side_have_their_last_states():
    run, spans = crashed_review()
    agents = {agent["name"]: agent for agent in (await answer_verdict(run.fails(TYPE, MESSAGE)))["agents"]}
    assert list(agents)[:2] == ["performance", "review"]  # those that raised first, of these the later one
    assert {name: agent["status"] for name, agent in agents.items()} == {
        "performance": "failed", "review": "failed", "security": "completed", "readability": "completed",
    }  # fmt: skip
    assert agents["security"]["text"] == "high: use a parameter"
    assert agents["readability"]["text"] == "low: rename `d`"
    assert agents["performance"]["text"] == f"{TYPE}: {MESSAGE}"
    assert agents["readability"]["group"] == spans["readability"]


async def test_an_error_that_was_raised_from_another_went_the_same_way():
    run = AgentsRun()
    span = run.asks_model()
    run.model_answers(span, calls=[("plan", "c1", {})])
    tool = run.tool("plan", {}, "c1")
    run.tool_raises(tool, "TimeoutError", "timed out")
    span_with_error(run, run.root, STACK)
    error = (await answer_verdict(run.fails(TYPE, MESSAGE)))["error"]
    assert error is not None
    assert (error["type"], error["call"], [step["kind"] for step in error["went_through"]]) == (TYPE, "plan()", ["run"])


async def test_an_error_of_other_instrumentation_and_one_that_nobody_recorded():
    run = AgentsRun()
    event = SpanEvent(
        "exception",
        1,
        {"exception.type": "E", "exception.message": "no", "exception.stacktrace": "E: no\n    at a (/b.js:1:2)"},
    )
    run.store.spans_of[RUN] = [Span(RUN, run.root, None, "x", 1, 2, {}, events=[event])]
    error = (await answer_verdict(run.fails("E", "no")))["error"]
    assert error is not None
    assert (error["call"], error["turn"], error["at"] and error["at"]["file"]) == (None, None, "/b.js")
    bare = AgentsRun()
    error = (await answer_verdict(bare.fails("E", "no")))["error"]
    assert error is not None
    assert (error["stack"], error["frames"], error["causes"], error["at"]) == (None, [], [], None)


async def test_errors_that_were_handled_are_counted_and_do_not_come_out():
    run = AgentsRun()
    for _ in range(2):
        agent = run.agent("worker")
        span = run.asks_model(agent)
        run.model_answers(span, calls=[("look_up", None, {})])
        run.tool_raises(run.tool("look_up", {}, None, agent), "E", "no")
        run.agent_ends(agent, ("E", "no"))
    run.tool_raises(run.tool("cancelled", {}), "CancelledError", "", outcome="cancelled")
    run.turn("It works anyway.")
    verdict = await answer_verdict(run.done())
    assert (verdict["error"], verdict["other_errors"], verdict["first_error"]) == (None, 2, None)
    assert (verdict["answer"], verdict["last"], verdict["turns"]) == ("It works anyway.", 3, 3)


async def test_what_a_run_waits_for_and_what_is_under_way():
    run = AgentsRun()
    agent = run.agent("clerk")
    span = run.asks_model(agent)
    run.model_answers(span, calls=[("delete", "c1", {"table": "orders"})])
    tool = run.tool("delete", {"table": "orders"}, "c1", agent)
    details = run.store.keep({"table": "orders"})
    run.add(ev.ApprovalRequested, tool, approval="1a" * 16, action="Delete?", tool="delete", arguments=details)
    verdict = await answer_verdict(run.record())
    assert verdict["outcome"] == {"word": "waiting", "because": "running", "value": None}
    (promise,) = verdict["waits_for"]
    assert (promise["id"], promise["kind"], promise["action"], promise["name"], promise["details"]) == (
        "1a" * 16, "approval", "Delete?", "delete", {"table": "orders"},
    )  # fmt: skip
    (clerk,) = verdict["agents"]
    called = next(event for event in run.events if isinstance(event, ev.ToolCalled))
    assert (clerk["name"], clerk["status"], clerk["text"], clerk["seq"]) == (
        "clerk",
        "open",
        "delete(orders)",
        called.seq,
    )
    assert clerk["since_ms"] == called.seq - 1
    run.add(ev.ApprovalGranted, tool, approval="1a" * 16)
    assert (await answer_verdict(run.record()))["outcome"]["word"] == "running"


async def test_the_last_answer_is_what_the_run_returned_and_not_a_summary():
    run = AgentsRun()
    run.turn("Done.")
    span = run.asks_model()
    end = run.model_answers(span, "They said hello.")
    run.add(ev.ContextCompressed, run.root, origin="declared", summariser=span)
    verdict = await answer_verdict(run.done())
    assert verdict["answer"] == "Done."
    returned = AgentsRun()
    span = returned.asks_model()
    end = returned.model_answers(span, "It is lost.")
    verdict = await answer_verdict(returned.done(output=returned.store.keep("It is lost.")))
    assert (verdict["answer"], verdict["answer_seq"]) == ("It is lost.", end.seq)
    other = AgentsRun()
    other.turn("x" * 3_000)
    assert len((await answer_verdict(other.done()))["answer"] or "") == 2_000


async def test_runs_of_the_task_and_the_score_that_decides():
    store = AgentsRun().store
    for number, (reward, task) in enumerate([(1.0, "6"), (0.0, "6"), (None, "6"), (1.0, "7")]):
        run = AgentsRun(store, run=f"{number + 10:02x}" * 16)
        run.turn("Done.")
        if reward is not None:
            run.add(ev.ScoreRecorded, run.root, name="reward", value=reward)
        run.done()
        store.rows[run.run] = replace(store.rows[run.run], tags=(f"task:{task}", "trial:1"))
    verdict = await answer_verdict(record_of(store, "0b" * 16))
    assert verdict["outcome"] == {"word": "failed", "because": "reward>=0.5", "value": 0.0}
    assert verdict["condition"] == "reward>=0.5"
    assert verdict["task"] == {"task": "tag:task:6", "runs": 3, "scored": 2, "succeeded": 1}
    unscored = await answer_verdict(record_of(store, "0c" * 16))
    assert (unscored["outcome"]["word"], unscored["condition"]) == ("unknown", "score>=0.5")
    assert unscored["task"] == {"task": "tag:task:6", "runs": 3, "scored": 2, "succeeded": 1}
    assert (await answer_verdict(AgentsRun().done()))["task"] is None
