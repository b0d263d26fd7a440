"""What the record has under another kind, another name or another path is recognised, and is not executed again."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.errors import InDoubt, ReplayDiverged, ToolDenied
from playhead.model import names
from tests.support.journal_reader import Recording

executed: list[str] = []
Agent = Callable[[], Any]
REUSE: Any = {"on_divergence": "live", "completed": "reuse"}
RERUN: Any = {"on_divergence": "live", "completed": "rerun"}


class CutOff(Exception):
    """Ends a run before it has completed."""


@pytest.fixture(autouse=True)
def nothing_executed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "playhead")
    executed.clear()


def observed(function_name: str, **how: Any) -> Callable[..., str]:
    """An observed function of this name."""

    @observe(name=function_name, **how)
    def function(amount: int = 0) -> str:
        executed.append(f"{function_name} {amount}")
        return f"{function_name} {amount}"

    return function


def observed_async(function_name: str, **how: Any) -> Callable[..., str]:
    @observe(name=function_name, **how)
    async def function(amount: int = 0) -> str:
        executed.append(f"{function_name} {amount}")
        return f"{function_name} {amount}"

    return lambda amount: asyncio.run(function(amount))


def observed_generator(function_name: str, **how: Any) -> Callable[..., str]:
    @observe(name=function_name, **how)
    def function(amount: int = 0) -> Any:
        executed.append(f"{function_name} {amount}")
        yield f"{function_name} {amount}"

    return lambda amount: "".join(function(amount))


def observed_block(function_name: str, **how: Any) -> Callable[..., str]:
    def function(amount: int) -> str:
        with observe(function_name, **how):
            executed.append(f"{function_name} 0")
        return f"{function_name} {amount}"

    return function


look, charge, mail = (observed(name, kind="tool") for name in ("look", "charge", "mail"))


@observe
def before() -> list[str]:
    return [look(1), charge(5), mail(7)]


def with_charge(function: Callable[..., str]) -> Agent:
    @observe(name="before")
    def agent() -> list[str]:
        return [look(1), function(5), mail(7)]

    return agent


def record(agent: Agent = before, *, completes: bool = False) -> str:
    with contextlib.suppress(CutOff), playhead.run("shop") as run:
        agent()
        if not completes:
            raise CutOff
    assert run.id is not None
    executed.clear()
    return run.id


def again(run_id: str, agent: Agent, **how: Any) -> Any:
    with playhead.resume(run_id, **how) as resumed, playhead.run("shop"):
        agent()
    return resumed


# --- another kind -----------------------------------------------------------------------------------------------------

OTHER_KINDS: list[dict[str, Any]] = [{}, {"kind": "step"}, {"kind": "agent"}, {"kind": "guardrail"}]
FORMS = [observed, observed_async, observed_generator]


@pytest.mark.parametrize("kind", OTHER_KINDS, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_a_tool_that_is_of_another_kind_now_is_a_divergence(recording: Recording, form: Any, kind: Any) -> None:
    run_id = record(with_charge(form("charge", kind="tool")))
    with pytest.raises(ReplayDiverged, match=r"charge.* was recorded as a tool.*kind='tool'") as stopped:
        again(run_id, with_charge(form("charge", **kind)))
    assert executed == []
    assert "recorded call" in str(stopped.value)
    # It is as it was.
    assert again(run_id, with_charge(form("charge", kind="tool"))).report.live == 0
    assert executed == []


def test_a_block_that_is_of_another_kind_now_is_a_divergence() -> None:
    run_id = record(with_charge(observed_block("charge", kind="tool")))
    with pytest.raises(ReplayDiverged, match="was recorded as a tool"):
        again(run_id, with_charge(observed_block("charge")))
    assert executed == []


@pytest.mark.parametrize("kind", ["retriever", "embedding"])
def test_a_tool_that_is_harmless_by_its_kind_now_is_not_executed_again_either(kind: Any) -> None:
    run_id = record()
    with pytest.raises(ReplayDiverged):
        again(run_id, with_charge(observed("charge", kind=kind)))
    with pytest.raises(InDoubt, match="as a tool"):
        again(run_id, with_charge(observed("charge", kind=kind)), **REUSE)
    assert executed == []


def test_all_calls_that_lost_their_kind_stop_however_the_program_takes_the_error() -> None:
    steps = [observed(name) for name in ("look", "charge", "mail")]

    @observe(name="before")
    def careless() -> None:
        for step, amount in zip(steps, (1, 5, 7), strict=True):
            with contextlib.suppress(Exception):
                step(amount)

    for how in ({}, {"on_divergence": "live"}, REUSE):
        resumed = again(record(), careless, **how)
        assert len(resumed.report.divergences) >= 1
        assert executed == []


def test_a_call_of_another_kind_with_other_arguments_is_a_divergence() -> None:
    step = observed("charge")

    @observe(name="before")
    def changed() -> list[str]:
        return [look(1), step(6), mail(7)]

    with pytest.raises(ReplayDiverged, match="was recorded as a tool"):
        again(record(), changed)
    assert executed == []


@pytest.mark.parametrize(("completed", "is_stopped"), [("raise", True), ("reuse", True), ("rerun", False)])
def test_live_a_tool_of_another_kind_is_executed_only_when_that_is_asked_for(completed: Any, is_stopped: bool) -> None:
    run_id, agent = record(), with_charge(observed("charge"))
    if is_stopped:
        with pytest.raises(InDoubt, match="before:?.*charge.* had completed"):
            again(run_id, agent, on_divergence="live", completed=completed)
        assert executed == []
    else:
        again(run_id, agent, on_divergence="live", completed=completed)
        assert executed == ["charge 5"]


def test_a_callback_cannot_give_a_step_an_outcome() -> None:
    with pytest.raises(ReplayDiverged, match="cannot be given an outcome"):
        again(record(), with_charge(observed("charge")), on_divergence=lambda _: "?")
    assert executed == []


def test_a_tool_in_doubt_that_is_a_step_now_is_not_executed_again() -> None:
    @observe(name="charge", kind="tool")
    def interrupted(amount: int = 0) -> str:
        executed.append(f"charge {amount}")
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt), playhead.run("shop") as run:
        with_charge(interrupted)()
    executed.clear()
    assert run.id is not None
    for how in ({}, REUSE, RERUN):
        with pytest.raises((InDoubt, ReplayDiverged)):
            again(run.id, with_charge(observed("charge")), **how)
        assert executed == []


def test_a_completed_run_refuses_a_call_of_another_kind() -> None:
    with pytest.raises(ReplayDiverged, match=r"has completed.*playhead\.fork"):
        again(record(completes=True), with_charge(observed("charge")), **RERUN)
    assert executed == []


def test_a_fork_that_executes_no_tools_does_not_execute_one_as_a_step() -> None:
    run_id = record()
    with pytest.raises(ReplayDiverged, match="was recorded as a tool"):  # noqa: SIM117
        with playhead.fork(run_id, at="mail", live="llm"), playhead.run("shop"):
            with_charge(observed("charge"))()
    assert executed == []


def test_a_step_that_was_answered_and_is_not_now_is_a_divergence() -> None:
    run_id = record(with_charge(observed("charge", replay=True)))
    with pytest.raises(ReplayDiverged, match="was recorded with replay=True"):
        again(run_id, with_charge(observed("charge")))
    assert executed == []


def test_a_step_that_has_the_name_of_a_tool_and_was_always_one_runs_again() -> None:
    """As a function around a tool of the same name, or beside it, has it."""
    step = observed("charge")

    @observe(name="before")
    def both() -> list[str]:
        return [look(1), charge(5), step(5), step(6), mail(7)]

    again(record(both), both)
    assert executed == ["charge 5", "charge 6"]


def test_what_a_divergence_of_kind_says_is_in_the_record(recording: Recording) -> None:
    run_id = record()
    resumed = again(run_id, with_charge(observed("charge")), **RERUN)
    assert [divergence.how for divergence in resumed.report.divergences] == ["kind_changed"]
    [said] = [log for log in recording.read().logs if log.name == names.DIVERGED]
    assert said.attributes[names.DIVERGENCE_HOW] == "kind_changed"


# --- another name -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("completed", ["raise", "reuse"])
def test_live_a_tool_that_seems_renamed_stops_the_run(completed: Any) -> None:
    run_id, agent = record(), with_charge(observed("bill", kind="tool"))
    expected = r"charge.*renamed=\{'shop/before/charge': 'shop/before/bill'\}.*new=\['bill'\].*completed='rerun'"
    with pytest.raises(InDoubt, match=expected):
        again(run_id, agent, on_divergence="live", completed=completed)
    assert executed == []
    resumed = again(run_id, agent, renamed={"shop/before/charge": "shop/before/bill"})
    assert (executed, resumed.report.answered) == ([], 3)


def test_live_a_later_tool_that_seems_renamed_stops_the_run_too() -> None:
    bill, other = observed("bill", kind="tool"), observed("other", kind="tool")

    @observe(name="before")
    def agent() -> list[str]:
        return [look(1), other(99), bill(5), mail(7)]

    with pytest.raises(InDoubt, match="was charge renamed"):
        again(record(), agent, **REUSE)
    assert executed == ["other 99"]


def test_a_function_that_is_said_to_be_new_is_executed() -> None:
    with pytest.raises(InDoubt):
        again(record(), with_charge(observed("bill", kind="tool")), **REUSE)
    again(record(), with_charge(observed("bill", kind="tool")), **REUSE, new=["bill"])
    assert executed == ["bill 5"]
    executed.clear()
    with playhead.fork(record(), at="mail", completed="reuse", new=["bill"]), playhead.run("shop"):
        with_charge(observed("bill", kind="tool"))()
    assert executed == ["bill 5", "mail 7"]


def test_what_may_be_executed_again_is() -> None:
    again(record(), with_charge(observed("bill", kind="tool")), **RERUN)
    assert executed == ["bill 5", "mail 7"]
    again(record(), with_charge(observed("bill", kind="tool", idempotent=True)), **REUSE)
    assert executed == ["bill 5"]


@pytest.mark.parametrize("kind", ["tool", "step"])
def test_a_block_of_a_tool_is_not_entered_again(kind: Any) -> None:
    """Its code runs whatever the record says, so there is nothing that could answer it."""
    run_id = record(with_charge(observed_block("charge", kind="tool")))
    with pytest.raises(InDoubt if kind == "tool" else ReplayDiverged):
        again(run_id, with_charge(observed_block("charge", kind=kind)))
    with pytest.raises(ReplayDiverged, match=r"is a block" if kind == "tool" else "was recorded as a tool"):
        again(run_id, with_charge(observed_block("charge", kind=kind)), outcomes={"charge": "?"})
    assert executed == []
    if kind == "tool":
        again(run_id, with_charge(observed_block("charge", kind="tool")), outcomes={"charge": playhead.RERUN})
        assert executed == ["charge 0"]


def test_a_tool_whose_arguments_are_not_recorded_takes_an_outcome() -> None:
    hidden = observed("charge", kind="tool", capture_input=False)
    run_id = record(with_charge(hidden))
    with pytest.raises(InDoubt, match="its arguments are not recorded"):
        again(run_id, with_charge(hidden))
    again(run_id, with_charge(hidden), outcomes={"charge": "5"})
    assert executed == []
    with playhead.fork(record(with_charge(hidden)), at="charge", outcome="?"), playhead.run("shop"):
        assert with_charge(hidden)()[1] == "?"
    assert executed == ["mail 7"]


def test_live_a_renamed_tool_that_was_declared_so_is_answered() -> None:
    bill, other = observed("bill", kind="tool"), observed("other", kind="tool")

    @observe(name="before")
    def agent() -> list[str]:
        return [other(99), look(1), bill(5), mail(7)]

    again(record(), agent, **REUSE, renamed={"shop/before/charge": "shop/before/bill"})
    assert executed == ["other 99"]


def test_live_a_tool_in_doubt_is_in_doubt() -> None:
    @observe(name="charge", kind="tool")
    def interrupted(amount: int = 0) -> str:
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt), playhead.run("shop") as run:
        with_charge(interrupted)()
    assert run.id is not None
    executed.clear()

    @observe(name="before")
    def agent() -> list[str]:
        return [look(2), charge(5)]

    for how in (REUSE, RERUN):
        with pytest.raises(InDoubt, match=r"charge:tool was interrupted"):
            again(run.id, agent, **how)
    assert executed == ["look 2"]  # in the second attempt, it is answered
    again(run.id, agent, **REUSE, in_doubt="rerun")
    assert executed[-1] == "charge 5"


# --- another path: the outermost function is not observed any more ----------------------------------------------------


def bare(*tools: Callable[..., str]) -> None:
    for tool, amount in zip(tools or (look, charge, mail), (1, 5, 7), strict=True):
        with contextlib.suppress(Exception):  # as a program has it that takes all errors for those of its tools
            tool(amount)


def agentless(run_id: str, **how: Any) -> Any:
    with playhead.resume(run_id, **how) as resumed:
        bare()
    return resumed


@pytest.mark.parametrize("how", [{}, {"on_divergence": "live"}, REUSE], ids=str)
@pytest.mark.parametrize("completes", [False, True])
def test_without_the_outermost_function_nothing_is_executed_again(how: Any, completes: bool) -> None:
    resumed = agentless(record(completes=completes), **how)
    assert executed == []
    assert resumed.report.divergences or completes


def test_without_the_outermost_function_the_recorded_results_are_given_if_that_was_asked_for() -> None:
    with playhead.resume(record(), **REUSE):
        assert [look(1), charge(5), mail(7)] == ["look 1", "charge 5", "mail 7"]
        assert observed("new", kind="tool")(1) == "new 1"
    assert executed == ["new 1"]


def test_without_the_outermost_function_what_is_asked_for_is_executed() -> None:
    agentless(record(), **RERUN)
    assert executed == ["look 1", "charge 5", "mail 7"]


def test_in_one_task_without_the_outermost_function_nothing_is_executed_again() -> None:
    async def main() -> None:
        bare()

    with playhead.resume(record(), **REUSE):
        asyncio.run(main())
    assert executed == []


def test_agents_that_are_outermost_now_do_not_execute_again_what_their_own_runs_would() -> None:
    first, second = (
        observe(name=name)(function) for name, function in (("a", lambda: look(1)), ("b", lambda: charge(5)))
    )

    @observe(name="outer")
    def outer() -> list[str]:
        return [first(), second()]

    with contextlib.suppress(CutOff), playhead.run("shop") as run:
        outer()
        raise CutOff
    assert run.id is not None
    executed.clear()
    with playhead.resume(run.id, **REUSE):
        assert [first(), second()] == ["look 1", "charge 5"]
    assert executed == []


def test_runs_after_the_block_and_runs_that_are_others_are_not_touched() -> None:
    run_id = record(completes=True)
    with playhead.resume(run_id):
        with playhead.run("shop"):
            before()
        with playhead.run("another"):  # the record has nothing left: this is another run, and begins from nothing
            before()
    assert executed == ["look 1", "charge 5", "mail 7"]
    executed.clear()
    agentless(record())
    assert executed == []
    bare()
    assert executed == ["look 1", "charge 5", "mail 7"]


def test_in_the_block_of_a_fork_that_executes_no_tools_no_run_does() -> None:
    with playhead.fork(record(), at="look", live="llm"):
        with playhead.run("shop"):
            before()
        with playhead.run("another"), pytest.raises(ToolDenied):
            observed("new", kind="tool")(1)
    assert executed == []


# --- two changes at once, and a change of what is called more than once -----------------------------------------------


def shop(
    *, pay: Callable[..., Any], ship: str = "ship", agent: str | None = "agent", outer: str | None = None
) -> Agent:
    """An agent that ships twice, each time by a step around a tool; then it is cut off."""

    @observe(name=ship)
    def step(amount: int) -> str:
        return pay(amount)

    def work() -> list[str]:
        return [step(1), step(2)]

    for name in (agent, outer):
        if name is not None:
            work = observe(name=name)(work)
    return work


PAY = observed("pay", kind="tool")
CHANGED_PLACES: dict[str, dict[str, Any]] = {
    "as it was": {},
    "step renamed": {"ship": "send"},
    "agent renamed": {"agent": "seller"},
    "agent wrapped": {"outer": "shell"},
    "agent unwrapped": {"agent": None},
}


@pytest.mark.parametrize("place", CHANGED_PLACES)
@pytest.mark.parametrize("how", [{}, {"on_divergence": "live"}, REUSE], ids=str)
def test_a_tool_that_is_a_step_now_at_another_place_is_not_executed_again(place: str, how: Any) -> None:
    run_id = record(shop(pay=PAY))
    with pytest.raises((InDoubt, ReplayDiverged)):
        again(run_id, shop(pay=observed("pay"), **CHANGED_PLACES[place]), **how)
    assert executed == []


@pytest.mark.parametrize("place", CHANGED_PLACES)
def test_a_step_that_changed_and_is_called_twice_executes_no_completed_tool_again(place: str) -> None:
    run_id = record(shop(pay=PAY))
    again(run_id, shop(pay=PAY, **CHANGED_PLACES[place]), **REUSE)
    assert executed == []


def test_a_repeated_step_that_changed_stops_before_a_completed_tool_behind_harmless_calls() -> None:
    search = observed("search", kind="retriever")

    def agent(turn: str) -> Agent:
        step = observe(name=turn)(lambda function, amount: function(amount))
        return observe(name="agent")(lambda: [step(search, 1), step(PAY, 2), step(search, 3), step(PAY, 4)])

    run_id = record(agent("turn"))
    with pytest.raises(InDoubt, match="had completed"):
        again(run_id, agent("round"), on_divergence="live")
    assert not [done for done in executed if done.startswith("pay")]


@pytest.mark.parametrize("place", ["as it was", "agent wrapped", "agent unwrapped"])
@pytest.mark.parametrize("kind", ["tool", "retriever"])
def test_a_tool_of_another_name_at_another_place_is_not_executed_again(place: str, kind: Any) -> None:
    run_id = record(shop(pay=PAY))
    with pytest.raises(InDoubt, match="was pay renamed"):
        again(run_id, shop(pay=observed("bill", kind=kind), **CHANGED_PLACES[place]), **REUSE)
    assert executed == []


@pytest.mark.parametrize("ship", ["ship", "send"])
@pytest.mark.parametrize("kind", ["step", "retriever"])
def test_a_fork_that_executes_no_tools_executes_none_of_another_kind_after_its_cut(ship: str, kind: Any) -> None:
    def seller(pay: Callable[..., Any], ship: str) -> Agent:
        @observe(name=ship)
        def step(amount: int) -> str:
            return pay(amount)

        return observe(name="agent")(lambda: [look(1), step(5), step(6)])

    run_id = record(seller(PAY, "ship"))
    with pytest.raises(InDoubt, match="recorded as a tool"):  # noqa: SIM117
        with playhead.fork(run_id, at="look", outcome="X", live="llm"), playhead.run("shop"):
            seller(observed("pay", kind=kind), ship)()
    assert executed == []
