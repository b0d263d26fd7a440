"""The program has changed since it was recorded: what resume says, and does, for each way in which it can have."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.errors import InDoubt, ReplayDiverged, ReplayError
from playhead.model import names
from playhead.testing import MockModelServer
from tests.support.journal_reader import Recording

Agent = Callable[[], Any]
executed: list[str] = []


@pytest.fixture(autouse=True)
def nothing_executed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "playhead")
    executed.clear()


@observe(kind="tool")
def search(query: str) -> list[str]:
    executed.append(f"search {query}")
    return [query]


@observe(kind="tool")
def book(flight: str) -> str:
    executed.append(f"book {flight}")
    return f"booked {flight}"


@observe(kind="tool")
def mail(to: str) -> str:
    executed.append(f"mail {to}")
    return f"mailed {to}"


@observe(kind="tool")
async def fetch(page: int) -> int:
    executed.append(f"fetch {page}")
    await asyncio.sleep(0)
    return page * 10


class CutOff(Exception):
    """Ends a run before it has completed."""


LIVE: Any = {"on_divergence": "live", "completed": "rerun"}


def record(agent: Agent, *, completes: bool = False) -> str:
    with contextlib.suppress(CutOff), playhead.run("trip") as run:
        agent()
        if not completes:
            raise CutOff
    assert run.id is not None
    executed.clear()
    return run.id


def again(run_id: str, agent: Agent, **how: Any) -> tuple[Any, Any]:
    """What the changed program comes to, and what was said of that."""
    with playhead.resume(run_id, **how) as resumed, playhead.run("trip"):
        result = agent()
    return result, resumed


def verdicts(resumed: Any) -> list[str]:
    return [divergence.how for divergence in resumed.report.divergences]


def trip(*calls: Callable[[], Any]) -> Agent:
    return lambda: [call() for call in calls]


def asking(client: openai.OpenAI, prompt: str, model: str = "m") -> Agent:
    def agent() -> Any:
        answer = client.chat.completions.create(model=model, messages=[{"role": "user", "content": prompt}])
        return [answer.choices[0].message.content, book("LX1")]

    return agent


AS_IT_WAS = trip(lambda: search("a"), lambda: book("LX1"), lambda: mail("bob"))


def test_nothing_has_changed(recording: Recording):
    result, resumed = again(record(AS_IT_WAS), AS_IT_WAS)
    assert result == [["a"], "booked LX1", "mailed bob"]
    assert (executed, verdicts(resumed), resumed.report.answered, resumed.report.live) == ([], [], 3, 0)


def test_a_changed_prompt_is_shown_and_its_branch_goes_live(client: openai.OpenAI, server: MockModelServer):
    run_id = record(asking(client, "Where to?"))
    _, resumed = again(run_id, asking(client, "Where to, and when?"), **LIVE)
    assert verdicts(resumed) == ["changed"]
    report = str(resumed.report.divergences[0])
    assert "message 1 changed:" in report
    assert "-user: Where to?" in report
    assert "+user: Where to, and when?" in report
    assert len(server.requests) == 2
    assert executed == ["book LX1"]


def test_a_changed_model_is_shown(client: openai.OpenAI, server: MockModelServer):
    run_id = record(asking(client, "Where to?"))
    _, resumed = again(run_id, asking(client, "Where to?", model="m-2"), **LIVE)
    assert verdicts(resumed) == ["changed"]
    assert "request settings changed:" in str(resumed.report.divergences[0])
    assert 'model: "m-2"' in str(resumed.report.divergences[0])
    assert len(server.requests) == 2


def test_a_changed_argument_is_shown_and_its_branch_goes_live():
    changed = trip(lambda: search("a"), lambda: book("LX2"), lambda: mail("bob"))
    result, resumed = again(record(AS_IT_WAS), changed, **LIVE)
    assert result == [["a"], "booked LX2", "mailed bob"]
    assert verdicts(resumed) == ["changed"]
    assert '+flight: "LX2"' in str(resumed.report.divergences[0])
    assert executed == ["book LX2", "mail bob"]


def test_a_changed_argument_stops_the_run_when_that_was_asked_for_even_if_the_program_catches_it():
    def careless() -> str:
        with contextlib.suppress(Exception):  # as agents do around their tools
            book("LX2")
        return mail("bob")

    run_id = record(AS_IT_WAS)
    with pytest.raises(ReplayDiverged, match=r"book:tool#1 asks something else than it did"):
        again(run_id, careless, on_divergence="raise")
    assert executed == []
    assert again(run_id, AS_IT_WAS)[1].report.live == 0


def test_a_callback_may_say_what_comes_of_a_changed_call():
    changed = trip(lambda: search("a"), lambda: book("LX2"), lambda: mail("bob"))
    result, _ = again(record(AS_IT_WAS), changed, on_divergence=lambda report: {"result": report.how})
    assert result == [["a"], "changed", "mailed bob"]
    assert executed == []


def test_an_inserted_step_is_told_from_what_the_record_has_there():
    changed = trip(lambda: search("a"), lambda: mail("alice"), lambda: book("LX1"), lambda: mail("bob"))
    _, resumed = again(record(trip(lambda: search("a"), lambda: book("LX1"))), changed, **LIVE)
    assert verdicts(resumed) == ["inserted"]
    assert "the record goes on with trip/book:tool" in str(resumed.report.divergences[0])
    assert executed == ["mail alice", "book LX1", "mail bob"]


def test_a_removed_step_leaves_the_others_answered_and_is_named():
    changed = trip(lambda: search("a"), lambda: mail("bob"), lambda: mail("carol"))
    _, resumed = again(record(AS_IT_WAS), changed)
    assert verdicts(resumed) == []
    assert resumed.not_called_again == ["trip/book:tool"]
    assert executed == ["mail carol"]


def test_sequential_steps_in_another_order_are_answered():
    changed = trip(lambda: book("LX1"), lambda: search("a"), lambda: mail("bob"))
    result, resumed = again(record(AS_IT_WAS), changed)
    assert result == ["booked LX1", ["a"], "mailed bob"]
    assert (verdicts(resumed), executed) == ([], [])


def test_parallel_calls_in_another_order_are_answered():
    async def gathered(*pages: int) -> list[int]:
        return await asyncio.gather(*map(fetch, pages))

    run_id = record(lambda: asyncio.run(gathered(1, 2, 3)))
    result, resumed = again(run_id, lambda: asyncio.run(gathered(3, 1, 2)))
    assert result == [30, 10, 20]
    assert (verdicts(resumed), executed) == ([], [])


def test_a_renamed_function_is_another_function():
    @observe(kind="tool", name="reserve")
    def reserve(flight: str) -> str:
        executed.append(f"reserve {flight}")
        return "reserved"

    _, resumed = again(
        record(AS_IT_WAS), trip(lambda: search("a"), lambda: reserve("LX1"), lambda: mail("bob")), **LIVE
    )
    assert verdicts(resumed) == ["inserted"]
    assert "the record goes on with trip/book:tool" in str(resumed.report.divergences[0])
    assert executed == ["reserve LX1", "mail bob"]


def test_a_changed_return_type_gives_what_was_recorded_and_says_that_the_code_changed(
    caplog: pytest.LogCaptureFixture,
):
    @observe(kind="tool", name="book")
    def book_better(flight: str) -> dict[str, str]:
        executed.append("book better")
        return {"flight": flight}

    run_id = record(AS_IT_WAS)
    result, resumed = again(run_id, trip(lambda: search("a"), lambda: book_better("LX1"), lambda: mail("bob")))
    assert result[1] == "booked LX1"
    assert (verdicts(resumed), executed) == ([], [])
    assert resumed.report.changed_code == ["execute_tool book"]
    assert caplog.messages == [
        "the code of execute_tool book has changed since it was recorded: its recorded results are given"
    ]
    assert again(record(AS_IT_WAS), AS_IT_WAS)[1].report.changed_code == []
    _, resumed = again(record(AS_IT_WAS), trip(lambda: search("a"), lambda: book_better("LX9")), **LIVE)
    assert resumed.report.divergences[0].code_changed
    assert "the function's own code has changed since" in str(resumed.report.divergences[0])


def test_what_happened_is_in_the_record(recording: Recording):
    run_id = record(AS_IT_WAS)
    again(run_id, trip(lambda: search("a"), lambda: book("LX2")), **LIVE)
    journaled = recording.read()
    events = [log for log in journaled.logs if log.attributes[names.RUN_ID] == run_id]
    assert [log.name for log in events] == [names.RESUMED, names.DIVERGED]
    assert events[0].attributes[names.RUN_ATTEMPT] == 1
    assert events[1].attributes[names.DIVERGENCE_HOW] == "changed"
    assert events[1].attributes[names.DIVERGENCE_CALL] == "trip/book:tool#1"
    assert journaled.value(events[1], names.DIVERGENCE_REF)["how"] == "changed"
    assert len(journaled.calls("search")) == 1
    attempts = [span.attributes[names.RUN_ATTEMPT] for span in journaled.calls("book")]
    assert attempts == [0, 1]


def test_a_run_that_only_repeats_itself_writes_nothing(recording: Recording):
    run_id = record(AS_IT_WAS, completes=True)
    before = recording.read()
    again(run_id, AS_IT_WAS)
    after = recording.read()
    assert (len(after.spans), len(after.announced), len(after.logs)) == (
        len(before.spans),
        len(before.announced),
        len(before.logs),
    )


# --- a branch that goes on live ---------------------------------------------------------------------------------------

CHANGED = trip(lambda: search("b"), lambda: book("LX1"), lambda: mail("bob"))


def test_nothing_is_executed_by_a_changed_program_unless_that_was_asked_for():
    run_id = record(AS_IT_WAS)
    with pytest.raises(ReplayDiverged, match=r"on_divergence='live'.*completed='reuse'"):
        again(run_id, CHANGED)
    assert executed == []


def test_live_a_completed_tool_stops_the_run_and_both_ways_are_named():
    run_id = record(AS_IT_WAS)
    with pytest.raises(InDoubt, match=r"trip/book:tool had completed .*completed='reuse'.*idempotent=True"):
        again(run_id, CHANGED, on_divergence="live")
    assert executed == ["search b"]


def test_live_a_completed_tool_is_answered_or_executed_as_was_asked_for():
    result, _ = again(record(AS_IT_WAS), CHANGED, on_divergence="live", completed="reuse")
    assert (result, executed) == ([["b"], "booked LX1", "mailed bob"], ["search b"])
    executed.clear()
    again(record(AS_IT_WAS), CHANGED, on_divergence="live", completed="rerun")
    assert executed == ["search b", "book LX1", "mail bob"]


def test_live_an_idempotent_tool_is_executed_again_under_its_own_key():
    keys: list[str | None] = []

    @observe(kind="tool", idempotent=True)
    def store(what: str) -> str:
        keys.append(playhead.idempotency_key())
        return what

    run_id = record(trip(lambda: search("a"), lambda: store("x")))
    again(run_id, trip(lambda: search("b"), lambda: store("x")), on_divergence="live")
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_a_fork_executes_again_what_had_completed():
    run_id = record(AS_IT_WAS)
    with playhead.fork(run_id, at="book"), playhead.run("trip"):
        CHANGED()
    assert executed == ["search b", "book LX1", "mail bob"]


# --- enclosing functions ----------------------------------------------------------------------------------------------


@observe
def inner() -> list[Any]:
    return [search("a"), book("LX1")]


@observe(name="inner2")
def renamed() -> list[Any]:
    return [search("a"), book("LX1")]


@observe
def wrapper() -> list[Any]:
    return inner()


OTHER_PATHS: list[tuple[str, Agent, dict[str, str]]] = [
    ("renamed", renamed, {"trip/inner": "trip/inner2"}),
    ("wrapped", wrapper, {"trip": "trip/wrapper"}),
    ("unwrapped", trip(lambda: search("a"), lambda: book("LX1")), {"trip/inner": "trip"}),
]


@pytest.mark.parametrize(("what", "changed", "option"), OTHER_PATHS, ids=[what for what, _, _ in OTHER_PATHS])
def test_another_path_is_told_before_anything_is_executed_and_can_be_taken_for_the_old_one(
    what: str, changed: Agent, option: dict[str, str]
):
    run_id = record(inner)
    with pytest.raises(ReplayDiverged) as stopped:
        again(run_id, changed)
    assert f"resume with renamed={option}" in str(stopped.value)
    with pytest.raises(InDoubt):
        again(run_id, changed, on_divergence="live")
    assert executed == []
    result, resumed = again(run_id, changed, renamed=option)
    assert (result, executed, verdicts(resumed)) == ([["a"], "booked LX1"], [], [])


def test_a_renamed_entry_point_is_told():
    run_id = record(inner)
    with pytest.raises(ReplayDiverged, match=r"it looks as if trip was renamed to journey"):  # noqa: SIM117
        with playhead.resume(run_id), playhead.run("journey"):
            inner()
    with playhead.resume(run_id, renamed={"trip": "journey"}), playhead.run("journey") as run:
        assert inner() == [["a"], "booked LX1"]
    assert (executed, run.id) == ([], run_id)


def test_a_function_that_moved_to_another_module_is_the_same():
    run_id = record(inner)
    moved: Any = {"search": search, "book": book, "observe": observe, "__name__": "elsewhere"}
    exec("@observe\ndef inner():\n    return [search('a'), book('LX1')]", moved)
    assert again(run_id, moved["inner"])[0] == [["a"], "booked LX1"]
    assert executed == []


def test_a_call_that_is_new_inside_a_function_that_had_completed_is_a_change():
    @observe(name="inner")
    def longer() -> list[Any]:
        return [search("a"), book("LX1"), mail("bob")]

    run_id = record(inner)
    with pytest.raises(ReplayDiverged, match=r"trip/inner:step had completed without such a call"):
        again(run_id, longer)
    assert executed == []


# --- runs that have completed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, LIVE, {"in_doubt": "rerun"}], ids=str)
def test_a_completed_run_refuses_a_changed_program_and_names_fork(
    recording: Recording, client: openai.OpenAI, server: MockModelServer, how: Any
):
    run_id = record(asking(client, "Where to?"), completes=True)
    before = recording.read()
    changes: list[Agent] = [
        asking(client, "Where to, and when?"),
        trip(asking(client, "Where to?"), lambda: mail("bob")),
        trip(lambda: playhead.annotate(decision="new"), lambda: book("LX9")),
    ]
    for changed in changes:
        with pytest.raises(ReplayDiverged, match=rf"has completed.*playhead\.fork\('{run_id}', at='[0-9a-f]{{16}}'\)"):
            again(run_id, changed, **how)
    after = recording.read()
    assert len(server.requests) == 1
    assert executed == []
    assert [len(after.spans), len(after.announced), len(after.logs)] == [
        len(before.spans),
        len(before.announced),
        len(before.logs),
    ]


def test_a_completed_run_takes_no_other_outcomes():
    run_id = record(AS_IT_WAS, completes=True)
    with pytest.raises(ReplayError, match=r"has completed.*playhead fork"):
        playhead.resume(run_id, outcomes={"book": "no"}).__enter__()


def test_what_nobody_came_for_is_told_when_the_run_ends(recording: Recording, caplog: pytest.LogCaptureFixture):
    again(record(AS_IT_WAS), trip(lambda: search("a"), lambda: mail("bob")))
    assert "trip/book:tool had completed, and the program has not called it again" in caplog.text
    [said] = [log for log in recording.read().logs if log.name == names.DIVERGED]
    assert said.attributes[names.DIVERGENCE_HOW] == "not_called_again"
    assert said.attributes[names.DIVERGENCE_CALL] == "trip/book:tool#1"
