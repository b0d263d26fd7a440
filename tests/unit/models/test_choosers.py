"""Choosers of models: what they choose and why, what they do after failures, with money, time, streams and choosers
inside; each choice is in the record before the call."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.context import Compression, Context, Keep, SlidingWindow
from playhead.local.client import JournalClient
from playhead.model.canonical import parse_json
from playhead.model.event import TokenUsage
from playhead.model.message import Message, text_message
from playhead.models import (
    Budget,
    BudgetExceeded,
    CallSituation,
    ContextTooLong,
    Fallback,
    MockModel,
    Model,
    ModelRequest,
    ModelResponse,
    Overloaded,
    RateLimited,
    Router,
    Select,
    complete,
    complete_async,
    mock_answer,
    stream,
    stream_async,
)
from playhead.models.mock import MockAnswer
from tests.support.journal_reader import Recording, start_recording


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def says(name: str, *answers: MockAnswer) -> MockModel:
    """A model that gives these answers, the last one from there on; without any, its name."""
    left = [*answers] or [name]

    def answer(_: ModelRequest) -> MockAnswer:
        return left.pop(0) if len(left) > 1 else left[0]

    return MockModel(answer, name=name)


def request(text: str = "Hello") -> ModelRequest:
    return ModelRequest([text_message("user", text)])


def decisions(recording: Recording, run: str | None) -> list[Any]:
    """(chosen, alternatives, reason) of each decision of a run, and `llm_called` in between."""
    playhead.flush()
    found: list[Any] = []
    with JournalClient(recording.folder, pytest.fail) as journal:
        for event in journal.events(run or ""):
            if event["kind"] == "llm_called":
                found.append("call")
            elif event["kind"] == "orchestration_decision":
                noted: Any = parse_json(journal.content(event["refs"]["annotation"]).data)
                found.append((noted["decision"], noted["alternatives"], noted["reason"]))
    return found


def chosen(recording: Recording, run: str | None) -> list[str]:
    return [entry[0] for entry in decisions(recording, run) if entry != "call"]


# --- Select -----------------------------------------------------------------------------------------------------------


def test_a_function_chooses_by_the_call_and_its_choice_is_recorded_before_the_call(recording: Recording):
    small, large = says("small"), says("large")
    chooser = Select(lambda call: large if call.tokens > 50 else small, among=[small, large])
    with playhead.run("agent") as run:
        assert complete(chooser, request()).text == "small"
        assert chooser.complete(request("word " * 80)).text == "large"
    assert decisions(recording, run.id) == [
        ("small", ["large"], "turn 1, select"),
        "call",
        ("large", ["small"], "turn 1, select"),
        "call",
    ]


def test_a_task_has_the_model_that_is_named_for_it(recording: Recording):
    small, large = says("small"), says("large")
    chooser = Select.by_task({"extract": small, "coder": large}, default="gpt-4o")
    reasons = {
        task: chooser.choose(CallSituation(task=task, agent=agent), [])
        for task, agent in (("extract", "coder"), ("other", "coder"), (None, None))
    }
    assert reasons == {"extract": small, "other": large, None: "gpt-4o"}


def test_what_the_function_raises_is_raised_and_a_failed_model_is_not_replaced():
    def broken(call: CallSituation) -> str:
        raise KeyError("no such model")

    with pytest.raises(KeyError, match="no such model"):
        complete(Select(broken), request())
    failing = says("a", RuntimeError("down"))
    with pytest.raises(RuntimeError, match="down"):
        complete(Select(lambda call: failing), request())


# --- Fallback ---------------------------------------------------------------------------------------------------------


def test_the_next_model_is_tried_after_these_errors_and_each_attempt_is_recorded_once(recording: Recording):
    first, second, third = says("a", RateLimited("slow down")), says("b", Overloaded("busy")), says("c")
    with playhead.run("agent") as run:
        assert complete(Fallback(first, second, third), request()).text == "c"
    assert decisions(recording, run.id) == [
        ("a", ["b", "c"], "the first one"),
        "call",
        ("b", ["a", "c"], "a failed: RateLimited: slow down"),
        "call",
        ("c", ["a", "b"], "b failed: Overloaded: busy"),
        "call",
    ]


def test_any_other_error_is_raised_and_so_is_the_last_one():
    second = says("b")
    with pytest.raises(ValueError, match="wrong"):
        complete(Fallback(says("a", ValueError("wrong")), second), request())
    assert second.requests == []
    assert complete(Fallback(says("a", ValueError("wrong")), second, on=ValueError), request()).text == "b"
    with pytest.raises(Overloaded, match="two"):
        complete(Fallback(says("a", Overloaded("one")), says("b", Overloaded("two"))), request())


@pytest.mark.parametrize(
    ("error", "answer"), [(RateLimited("x"), "b"), (ContextTooLong("x"), "c"), (Overloaded("x"), None)]
)
def test_the_next_model_may_depend_on_the_error(error: Exception, answer: str | None):
    chooser = Fallback(says("a", error), {RateLimited: says("b"), ContextTooLong: says("c")})
    if answer is None:
        with pytest.raises(Overloaded):
            complete(chooser, request())
    else:
        assert complete(chooser, request()).text == answer


def test_after_the_model_for_an_error_the_list_goes_on():
    chooser = Fallback(says("a", RateLimited("x")), {RateLimited: says("b", Overloaded("y"))}, says("c"))
    assert complete(chooser, request()).text == "c"


def test_a_list_without_a_first_model_is_refused():
    with pytest.raises(ValueError, match="the first one has to be a model"):
        Fallback({RateLimited: "b"})


def test_a_model_that_was_rate_limited_is_left_out_until_it_has_cooled_down(recording: Recording):
    clock = Clock()
    first, second = says("a", RateLimited("x", retry_after_s=50.0), "a"), says("b")
    chooser = Fallback(first, second, cool_down_s=10, clock=clock)
    with playhead.run("agent") as run:
        answers = [complete(chooser, request()).text]
        clock.now += 49
        answers.append(complete(chooser, request()).text)
        clock.now += 1
        answers.append(complete(chooser, request()).text)
    assert answers == ["b", "b", "a"]
    assert len(first.requests) == 2
    assert chosen(recording, run.id) == ["a", "b", "b", "a"]
    assert decisions(recording, run.id)[4] == ("b", ["a"], "cool down: a")


def test_if_all_cool_down_the_one_that_is_ready_first_is_tried():
    clock = Clock()
    first, second = says("a", RateLimited("x", 90.0), "a"), says("b", RateLimited("x", 40.0), "b")
    chooser = Fallback(first, second, clock=clock)
    with pytest.raises(RateLimited):
        complete(chooser, request())
    assert complete(chooser, request()).text == "b"


def test_a_context_that_is_too_long_cools_nothing_down():
    first = says("a", ContextTooLong("x"), "a")
    chooser = Fallback(first, says("b"))
    assert [complete(chooser, request()).text for _ in range(2)] == ["b", "a"]


def test_a_sticky_one_stays_with_the_model_to_which_it_came_for_the_rest_of_the_run(recording: Recording):
    first = says("a", ContextTooLong("x"), "a")
    chooser = Fallback(first, says("b"), sticky=True)
    with playhead.run("one") as run:
        assert [complete(chooser, request()).text for _ in range(3)] == ["b", "b", "b"]
    assert decisions(recording, run.id)[-2] == ("b", ["a"], "it stays with the model to which it came")
    with playhead.run("two"):
        assert complete(chooser, request()).text == "a"


def test_a_sticky_one_that_ran_out_of_models_begins_anew():
    first, second = says("a", ContextTooLong("x"), "a"), says("b", ContextTooLong("x"), "b")
    chooser = Fallback(first, second, sticky=True)
    with playhead.run("one"):
        with pytest.raises(ContextTooLong):
            complete(chooser, request())
        assert complete(chooser, request()).text == "a"


class Streams(MockModel):
    """Streams a piece, and fails before or after it."""

    def __init__(self, name: str, *, before: Exception | None = None, after: Exception | None = None) -> None:
        super().__init__(name, name=name)
        self._before, self._after = before, after

    def stream(self, request: ModelRequest) -> Iterator[Any]:
        self.requests.append(request)
        if self._before is not None:
            raise self._before
        chunks = super().stream(request)
        yield next(chunks)
        if self._after is not None:
            raise self._after
        yield from chunks


def test_a_stream_falls_back_before_its_first_chunk_and_never_after_it(recording: Recording):
    with playhead.run("agent") as run:
        chunks = [*stream(Fallback(Streams("a", before=Overloaded("x")), Streams("b")), request())]
        assert "".join(chunk.text for chunk in chunks) == "b"
        second = Streams("b")
        broken = stream(Fallback(Streams("a", after=Overloaded("half")), second), request())
        assert next(broken).text == "a"
        with pytest.raises(Overloaded, match="half"):
            next(broken)
        assert second.requests == []
    assert chosen(recording, run.id) == ["a", "b", "a"]


async def test_coroutines_and_streams_of_coroutines_fall_back_too():
    def chooser() -> Fallback:
        return Fallback(says("a", Overloaded("x")), says("b"))

    assert (await complete_async(chooser(), request())).text == "b"
    assert (await chooser().complete_async(request())).text == "b"
    assert "".join([chunk.text async for chunk in stream_async(chooser(), request())]) == "b"


def test_the_request_is_made_for_the_model_of_each_attempt_so_that_a_smaller_window_gets_a_shorter_context():
    large = says("large", Overloaded("x"))
    small = says("small")
    windows = {"large": 100_000, "small": 300}
    context = Context(system="Be brief.", api="canonical")
    for number in range(12):
        context.add("user", f"question {number} " + "word " * 30)
        context.add("assistant", f"answer {number}")

    def prepare(model: Model) -> ModelRequest:
        policy = Compression(strategy=SlidingWindow(4), limit=windows[model.name], keep=Keep(messages=4))
        with context.using(policy):
            return ModelRequest([*context.for_model()])

    assert complete(Fallback(large, small), prepare).text == "small"
    assert len(large.requests[0].messages) == 25
    assert len(small.requests[0].messages) < 8


# --- Budget -----------------------------------------------------------------------------------------------------------

PRICES = {"dear": (10.0, 100.0), "cheap": (1.0, 1.0)}


def costing(name: str, output_tokens: int | None, model: str | None = None) -> MockModel:
    usage = TokenUsage(0, output_tokens)
    return MockModel(lambda _: mock_answer(name, usage=usage, model=model or name), name=name)


def test_the_cheaper_model_is_used_when_the_reserve_is_reached_and_nothing_when_the_money_is_spent(
    recording: Recording,
):
    # 1,000 tokens of "dear" cost 0.10 USD, 100,000 of "cheap" too.
    budget = Budget(0.5, costing("dear", 1_000), costing("cheap", 100_000), reserve=0.25, prices=PRICES)
    with playhead.run("agent") as run:
        answers = [complete(budget, request()).text for _ in range(5)]
        assert budget.spent.usd == pytest.approx(0.5)
        with pytest.raises(BudgetExceeded, match=r"0\.5000 of 0\.5 USD are spent"):
            complete(budget, request())
    assert answers == ["dear", "dear", "dear", "cheap", "cheap"]
    assert chosen(recording, run.id) == answers
    assert decisions(recording, run.id)[0] == ("dear", ["cheap"], "0.5000 of 0.5 USD left, reserve 0.25")
    with playhead.run("another"):
        assert (complete(budget, request()).text, budget.spent.calls) == ("dear", 1)


def test_without_a_stop_it_goes_on_with_the_cheaper_one():
    budget = Budget(0.1, costing("dear", 2_000), costing("cheap", 1_000), stops=False, prices=PRICES)
    assert [complete(budget, request()).text for _ in range(3)] == ["dear", "cheap", "cheap"]


def test_the_input_of_the_next_call_counts_before_it_is_made():
    budget = Budget(0.5, costing("dear", 0), costing("cheap", 0), reserve=0.1, prices=PRICES)
    assert budget.choose(CallSituation(tokens=30_000), []) is budget._normal
    assert budget.choose(CallSituation(tokens=50_000), []) is budget._low


def test_a_price_that_is_not_known_is_refused_and_a_cost_that_is_not_known_is_not_nothing(recording: Recording):
    with pytest.raises(ValueError, match="no price for home-made"):
        Budget(1.0, "gpt-5", "home-made")
    normal = costing("dear", 10, model="a model that nobody knows")
    low = costing("cheap", None)  # reports no usage
    budget = Budget(1.0, normal, low, prices=PRICES)
    with playhead.run("agent") as run:
        assert [complete(budget, request()).text for _ in range(2)] == ["dear", "cheap"]
        assert (budget.spent.usd, budget.spent.unknown) == (0.0, ["a model that nobody knows", "cheap"])
        with pytest.raises(BudgetExceeded, match="is not known"):
            complete(budget, request())
    assert decisions(recording, run.id)[2][2] == "what a call of a model that nobody knows cost is not known"


def test_a_budget_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="expected 0 <= reserve < usd"):
        Budget(1.0, "gpt-5", "gpt-5-mini", reserve=1.0)
    with pytest.raises(ValueError, match="expected 0 <= reserve < usd"):
        Budget(0.0, "gpt-5", "gpt-5-mini")


def test_choosers_stand_in_for_models_and_the_answers_inside_cost_money():
    inner = Fallback(costing("dear", 3_000, model="dear"), says("cheap"))
    budget = Budget(0.5, inner, Select(lambda call: costing("cheap", 0)), reserve=0.3, prices=PRICES)
    assert [complete(budget, request()).text for _ in range(2)] == ["dear", "cheap"]
    assert budget.spent.usd == pytest.approx(0.3)


def test_a_streamed_answer_costs_money_too():
    budget = Budget(0.5, costing("dear", 3_000), costing("cheap", 0), prices=PRICES)
    assert "".join(chunk.text for chunk in budget.stream(request())) == "dear"
    assert budget.spent.usd == pytest.approx(0.3)


def test_a_run_that_goes_on_from_a_checkpoint_has_spent_what_it_spent_before():
    budget = Budget(0.5, costing("dear", 2_000), costing("cheap", 1_000), reserve=0.1, prices=PRICES)
    ids: list[str] = []

    def program(chooser: Budget, *, fails: bool) -> str:
        with playhead.run("agent") as run:
            ids.append(str(run.id))
            if run.checkpoint is None:
                complete(chooser, request("first"))
                playhead.checkpoint({"at": 1})
            if fails:
                raise RuntimeError("killed")
            complete(chooser, request("second"))
            return complete(chooser, request("third")).text

    with pytest.raises(RuntimeError):
        program(budget, fails=True)
    again = Budget(0.5, costing("dear", 2_000), costing("cheap", 1_000), reserve=0.1, prices=PRICES)
    with playhead.resume(ids[0]):
        assert program(again, fails=False) == "cheap"
    assert ids == ids[:1] * 2


def test_a_resumed_run_has_spent_all_that_its_record_cost_before_its_first_call():
    ids: list[str] = []

    def program(budget: Budget, calls: int) -> list[str]:
        with playhead.run("agent") as run:
            ids.append(str(run.id))
            seen = [budget.spent.usd]
            made = [complete(budget, request(str(number))).text for number in range(calls)]
            assert budget.spent.usd == pytest.approx(0.1 * made.count("dear"))
            if len(ids) == 1:
                raise RuntimeError("killed")
            return [f"{seen[0]:.1f}", *made]

    def new() -> Budget:
        return Budget(0.5, costing("dear", 1_000), costing("cheap", 0), reserve=0.15, prices=PRICES)

    with pytest.raises(RuntimeError):
        program(new(), 3)
    with playhead.resume(ids[0]):
        assert program(new(), 5) == ["0.3", "dear", "dear", "dear", "dear", "cheap"]


# --- Router -----------------------------------------------------------------------------------------------------------


def test_a_judge_reads_the_users_message_and_its_call_is_a_step_of_its_own(recording: Recording):
    judge = MockModel(lambda asked: "Hard." if "prove" in str(asked.messages) else "simple", name="judge")
    simple, hard = says("small"), says("large")
    router = Router(judge, {"simple": simple, "hard": hard})
    with playhead.run("agent") as run:
        assert complete(router, request("Please prove it")).text == "large"
        assert complete(router, request("Hello")).text == "small"
    assert "simple, hard" in str(judge.requests[0].system)
    assert decisions(recording, run.id) == [
        "call",
        ("large", ["small"], "the judge: hard"),
        "call",
        "call",
        ("small", ["large"], "the judge: simple"),
        "call",
    ]
    with JournalClient(recording.folder, pytest.fail) as journal:
        steps = [event for event in journal.events(run.id or "") if event["kind"] == "step_started"]
    assert [step["data"]["name"] for step in steps] == ["route", "route"]


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (says("judge", Overloaded("busy")), "the judge failed: Overloaded: busy"),
        (says("judge", "I cannot say"), "the judge named no kind: 'I cannot say'"),
        (lambda call: "nothing", "the judge named no kind: 'nothing'"),
    ],
    ids=["fails", "says nothing", "a function"],
)
def test_a_judge_that_is_of_no_use_leaves_the_default(judge: Any, reason: str, recording: Recording):
    router = Router(judge, {"simple": says("small"), "hard": says("large")}, default="hard")
    with playhead.run("agent") as run:
        assert complete(router, request()).text == "large"
    assert ("large", ["small"], reason) in decisions(recording, run.id)


async def test_a_coroutine_asks_the_judge_without_blocking():
    class Judge(MockModel):
        def complete(self, request: ModelRequest) -> ModelResponse:
            assert threading.current_thread() is not threading.main_thread()
            return super().complete(request)

    router = Router(Judge("hard", name="judge"), {"simple": says("small"), "hard": says("large")})
    assert (await complete_async(router, request())).text == "large"


def test_a_call_that_reads_a_tools_result_stays_with_the_kind_of_the_request():
    judge = says("judge", "hard")
    router = Router(judge, {"simple": says("small"), "hard": says("large")})
    result: Message = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "42"}]}
    asked = text_message("user", "Look it up")
    with playhead.run("agent"):
        router.choose(CallSituation([asked], agent="a"), [])
        router.choose(CallSituation([asked, result], agent="a", tool="look_up"), [])
        assert len(judge.requests) == 1
        router.choose(CallSituation([asked, result], agent="b", tool="look_up"), [])
    assert len(judge.requests) == 2


def test_kinds_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="expected one of simple"):
        Router("gpt-4o", {"simple": "gpt-4o"}, default="hard")
    with pytest.raises(ValueError, match="expected one of some kinds"):
        Router("gpt-4o", {})


# --- several at once --------------------------------------------------------------------------------------------------


def test_two_agents_at_once_do_not_get_mixed_up(recording: Recording):
    """Each runs in a thread, with a run of its own, and they share the choosers."""
    barrier = threading.Barrier(2, timeout=60)
    fails_for_one = MockModel(lambda asked: ContextTooLong("x") if "one" in str(asked.messages) else "a", name="a")
    sticky = Fallback(fails_for_one, says("b"), sticky=True)
    budget = Budget(0.5, costing("dear", 2_000), costing("cheap", 1_000), reserve=0.2, prices=PRICES)
    answers: dict[str, Sequence[str]] = {}
    runs: dict[str, str] = {}

    def agent(name: str, chooser_calls: Callable[[str], list[str]]) -> None:
        with playhead.run(name) as run:
            runs[name] = str(run.id)
            answers[name] = chooser_calls(name)

    def calls(name: str) -> list[str]:
        made: list[str] = []
        for number in range(3):
            barrier.wait()
            made.append(complete(sticky, request(f"{name if number == 0 else 'more'} ")).text)
            made.append(complete(budget, request(name)).text)
        return made

    threads = [threading.Thread(target=agent, args=(name, calls)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == {
        "one": ["b", "dear", "b", "dear", "b", "cheap"],
        "two": ["a", "dear", "a", "dear", "a", "cheap"],
    }
    assert chosen(recording, runs["one"]) == ["a", "b", "dear", "b", "dear", "b", "cheap"]
    assert chosen(recording, runs["two"]) == ["a", "dear", "a", "dear", "a", "cheap"]
