"""`@observe` on functions, methods and blocks: what is recorded, and that nothing else changes."""

import functools
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.model import names
from tests.support.journal_reader import Recording, kind

pytestmark = pytest.mark.usefixtures("quiet")


def test_a_bare_decorator_records_name_arguments_result_and_nesting(recording: Recording):
    @observe
    def inner(x: int, *, y: int = 2) -> int:
        return x + y

    @observe
    def outer(task: str) -> int:
        return inner(1, y=3)

    assert outer("add") == 4
    seen = recording.read()
    assert (seen.input("outer"), seen.output("outer")) == ({"task": "add"}, 4)
    assert (seen.input("inner"), seen.output("inner")) == ({"x": 1, "y": 3}, 4)
    assert seen.parent("inner") == "outer"
    assert seen.parent("outer") is None


def test_the_outermost_call_is_the_runs_agent_and_those_inside_are_steps(recording: Recording):
    @observe
    def work(depth: int) -> None:
        if depth:
            work(depth - 1)

    work(1)
    step, root = recording.read().spans
    assert (kind(step), step.name) == ("step", "work")
    assert (kind(root), root.name) == ("agent", "invoke_agent work")
    assert root.attributes[names.CALL_KEY] == "work:agent#1"
    assert step.attributes[names.CALL_KEY] == "work/work:step#1"
    assert root.attributes[names.RUN_ROOT] is True
    assert names.RUN_ROOT not in step.attributes


def test_an_explicit_step_stays_one_at_the_root_and_is_announced(recording: Recording):
    @observe(kind="step")
    def only() -> None: ...

    only()
    seen = recording.read()
    assert kind(seen.call("only")) == "step"
    assert [span.name for span in seen.announced] == ["only"]


@pytest.mark.parametrize("how", [observe(), observe("named"), observe(name="named"), observe(kind="tool")])
def test_it_may_be_called_with_options(recording: Recording, how: Any):
    @how
    def work() -> str:
        return "done"

    assert work() == "done"
    [span] = recording.read().spans
    assert span.name in {"invoke_agent work", "invoke_agent named", "execute_tool work"}


def test_calls_of_the_same_name_are_counted(recording: Recording):
    @observe
    def step() -> None: ...

    with playhead.run("r"):
        step()
        step()
    keys = [span.attributes[names.CALL_KEY] for span in recording.read().spans]
    assert keys == ["r/step:step#1", "r/step:step#2", "r:agent#1"]


def test_starts_and_ends_have_their_place_without_a_clock(recording: Recording):
    @observe
    def step() -> None: ...

    with playhead.run("r"):
        step()
        playhead.annotate(decision="go on")
        step()
    first, second, root = recording.read().spans
    order = [span.attributes[names.CALL_ORDER] for span in (root, first, second)]
    assert order == [1, 2, 4]
    ended = [(span.attributes[names.CALL_ENDED_AFTER], span.attributes[names.CALL_END_ORDER]) for span in (first, root)]
    assert ended == [(2, 1), (4, 3)]


class Shop:
    def __init__(self, name: str):
        self.name = name

    @observe
    def method(self, x: int) -> str:
        return f"{self.name}{x}"

    @classmethod
    @observe
    def above_class(cls, x: int) -> str:
        return f"{cls.__name__}{x}"

    @observe
    @classmethod
    def below_class(cls, x: int) -> str:
        return f"{cls.__name__}{x}"

    @staticmethod
    @observe
    def above_static(x: int) -> str:
        return f"{x}"

    @observe
    @staticmethod
    def below_static(x: int) -> str:
        return f"{x}"

    @observe
    def __call__(self, x: int) -> str:
        return f"called {x}"

    @property
    @observe
    def price(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("call", "name", "expected"),
    [
        (lambda: Shop("a").method(1), "method", "a1"),
        (lambda: Shop.method(Shop("b"), 1), "method", "b1"),
        (lambda: Shop.above_class(1), "above_class", "Shop1"),
        (lambda: Shop("a").above_class(1), "above_class", "Shop1"),
        (lambda: Shop.below_class(1), "below_class", "Shop1"),
        (lambda: Shop.above_static(1), "above_static", "1"),
        (lambda: Shop("a").above_static(1), "above_static", "1"),
        (lambda: Shop.below_static(1), "below_static", "1"),
        (lambda: Shop("a").below_static(x=1), "below_static", "1"),
        (lambda: Shop("a")(1), "__call__", "called 1"),
    ],
)
def test_methods_of_every_kind_are_recorded_without_their_self(
    recording: Recording, call: Callable[[], str], name: str, expected: str
):
    assert call() == expected
    seen = recording.read()
    assert seen.input(name) == {"x": 1}
    assert seen.output(name) == expected


def test_a_property_and_an_inherited_method_work(recording: Recording):
    class Branch(Shop):
        def method(self, x: int) -> str:
            return "branch " + super().method(x)

    assert Shop("a").price == 7
    assert Branch("c").method(2) == "branch c2"
    assert recording.read().output("method") == "c2"


def test_arguments_beyond_the_named_ones_are_kept(recording: Recording):
    @observe
    def many(a: int, *rest: int, **more: int) -> None: ...

    many(1, 2, 3, b=4)
    assert recording.read().input("many") == {"a": 1, "*args": [2, 3], "b": 4}


def test_the_result_is_the_same_object(recording: Recording):
    thing = object()

    @observe
    def give(x: Any) -> Any:
        return x

    assert give(thing) is thing


def test_an_exception_is_the_same_object_with_a_usable_traceback(recording: Recording):
    problem = ValueError("no such order")

    @observe
    def fail() -> None:
        raise problem

    with pytest.raises(ValueError, match="no such order") as caught:
        fail()
    assert caught.value is problem
    assert caught.value.__context__ is None
    assert caught.traceback[-1].name == "fail"
    seen = recording.read()
    span = seen.call("fail")
    assert (span.status, span.status_message) == (2, "no such order")
    assert span.attributes[names.ERROR_TYPE] == "ValueError"
    error = seen.value(span, names.ERROR_REF)
    assert (error["type"], error["message"]) == ("ValueError", "no such order")
    assert "in fail" in error["stacktrace"]


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(3), BaseException("odd")])
def test_exceptions_that_are_no_errors_pass_through_too(recording: Recording, raised: BaseException):
    @observe
    def leave() -> None:
        raise raised

    with pytest.raises(type(raised)) as caught:
        leave()
    assert caught.value is raised
    assert recording.read().call("leave").status == 2


def test_the_context_is_clean_after_a_failure(recording: Recording):
    @observe
    def fail() -> None:
        raise ValueError

    @observe
    def after() -> None: ...

    with playhead.run("r"):
        with pytest.raises(ValueError):
            fail()
        after()
    assert recording.read().parent("after") == "r"


def test_a_recursion_nests(recording: Recording):
    @observe
    def count(n: int) -> int:
        return n and count(n - 1) + 1

    assert count(60) == 60
    seen = recording.read()
    assert len(seen.spans) == 61
    assert max(len(span.attributes[names.CALL_KEY]) for span in seen.spans) < 500
    assert len({span.attributes[names.CALL_KEY] for span in seen.spans}) == 61


def test_an_observed_call_takes_three_frames_of_the_recursion_limit(
    recording: Recording, caplog: pytest.LogCaptureFixture
):
    reached = 0

    @observe
    def descend(n: int) -> None:
        nonlocal reached
        reached = n
        descend(n + 1)

    free = sys.getrecursionlimit() - len(list(traceback.walk_stack(None)))
    with pytest.raises(RecursionError):
        descend(1)
    assert reached >= free // 3 - 10
    # Where the stack ends inside our code, which depends on how deep the test is called, one warning says so.
    assert all("end of Python's stack" in message for message in caplog.messages)
    caplog.clear()


def test_threads_get_the_run_by_propagate_and_have_runs_of_their_own_without(recording: Recording):
    @observe
    def work(n: int) -> int:
        return n

    with playhead.run("main"), ThreadPoolExecutor(2) as pool:
        assert list(pool.map(playhead.propagate_to_thread(work), range(4))) == [0, 1, 2, 3]
        assert pool.submit(work, 9).result() == 9
    seen = recording.read()
    main = seen.call("main").attributes[names.RUN_ID]
    runs = [span.attributes[names.RUN_ID] for span in seen.calls("work")]
    assert runs.count(main) == 4
    assert len(set(runs)) == 2


def test_many_threads_in_one_run_never_share_a_place(recording: Recording):
    @observe
    def work(n: int) -> None: ...

    def loop() -> None:
        for n in range(50):
            work(n)

    with playhead.run("main"):
        threads = [threading.Thread(target=playhead.propagate_to_thread(loop)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    spans = recording.read().spans
    assert sorted(span.attributes[names.CALL_ORDER] for span in spans) == list(range(1, 402))
    assert sorted(span.attributes[names.CALL_END_ORDER] for span in spans) == list(range(1, 402))
    assert all(span.attributes[names.CALL_ENDED_AFTER] >= span.attributes[names.CALL_ORDER] for span in spans)
    assert len({span.attributes[names.CALL_KEY] for span in spans}) == 401


def test_a_block_is_a_call(recording: Recording):
    with observe("parse", kind="step") as block:
        block.output({"n": 1})
    assert recording.read().output("parse") == {"n": 1}


def test_a_block_that_raises_is_a_failed_call(recording: Recording):
    with pytest.raises(ValueError, match="bad"), observe("parse"):
        raise ValueError("bad")
    assert recording.read().call("parse").status_message == "bad"


def test_one_observation_may_be_many_blocks_at_once(recording: Recording):
    block = observe("shared")
    inside = threading.Barrier(2)

    def work(n: int) -> None:
        with playhead.run(f"r{n}"), block:
            inside.wait(60)
            block.output(n)
            inside.wait(60)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (1, 2)))
    with block:
        pass
    seen = recording.read()
    by_run = {span.attributes[names.RUN_ID]: span for span in seen.calls("shared")}
    for n in (1, 2):
        assert seen.value(by_run[seen.call(f"r{n}").attributes[names.RUN_ID]], names.OUTPUT_REF) == n
    assert len(seen.calls("shared")) == 3


async def test_a_block_may_be_asynchronous(recording: Recording):
    async with observe("parse"):
        pass
    assert recording.read().call("parse").status == 0


def test_input_and_output_can_be_left_out(recording: Recording):
    @observe(capture_input=False, capture_output=False)
    def secret(x: str) -> str:
        return x

    secret("sesame")
    seen = recording.read()
    assert names.INPUT_REF not in seen.call("secret").attributes
    assert names.OUTPUT_REF not in seen.call("secret").attributes
    assert not any(b"sesame" in content.data for content in seen.contents.values())


def test_what_describes_the_run_stands_on_its_root(recording: Recording):
    @observe(session="conv-1", user="u1", tags=["beta"], metadata={"tier": 2})
    def agent() -> None:
        inner()

    @observe(session="ignored inside")
    def inner() -> None: ...

    agent()
    seen = recording.read()
    root = seen.call("agent")
    assert root.attributes[names.CONVERSATION] == "conv-1"
    assert root.attributes[names.USER] == "u1"
    assert root.attributes[names.RUN_TAGS] == ["beta"]
    assert seen.value(root, names.RUN_METADATA_REF) == {"tier": 2}
    assert names.CONVERSATION not in seen.call("inner").attributes


def test_decorators_above_and_below_keep_working(recording: Recording):
    def doubled(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> int:
            return 2 * function(*args, **kwargs)

        return wrapper

    @observe
    @doubled
    def below(x: int) -> int:
        return x

    @doubled
    @observe
    def above(x: int) -> int:
        return x

    @observe
    @functools.lru_cache
    def cached(x: int) -> int:
        return x

    assert (below(2), above(2), cached(2)) == (4, 4, 2)
    assert cached.cache_info().misses == 1
    seen = recording.read()
    assert (seen.output("below"), seen.output("above")) == (4, 2)
    assert seen.input("below") == {"x": 2}


def test_partials_and_callable_objects_are_recorded_by_what_they_are(recording: Recording):
    def add(a: int, b: int) -> int:
        return a + b

    class Adder:
        def __call__(self, a: int) -> int:
            return a + 1

    assert observe(functools.partial(add, 1))(2) == 3
    assert observe(Adder())(2) == 3
    seen = recording.read()
    assert seen.input("add") == {"b": 2}
    assert seen.output("Adder") == 3


def test_the_fingerprint_follows_the_code_and_nothing_else(recording: Recording):
    def make(body: str) -> Any:
        space: dict[str, Any] = {}
        exec(f"def f(x):\n{body}", space)
        return observe(space["f"])

    for body in (" return x in {1, 2}", "\n\n return x in {2, 1}", " return x in {1, 3}"):
        make(body)(1)
    first, moved, other = (span.attributes[names.CODE] for span in recording.read().spans)
    assert first == moved != other


class Verdict:
    def __init__(self, tripwire_triggered: bool) -> None:
        self.tripwire_triggered = tripwire_triggered


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        ({"tripped": True, "why": "rude"}, "tripped"),
        ({"tripped": False}, None),
        (Verdict(tripwire_triggered=True), "tripped"),
        (Verdict(tripwire_triggered=False), None),
        (True, None),
    ],
)
def test_a_guardrail_is_tripped_if_its_result_says_so(recording: Recording, verdict: Any, outcome: str | None):
    @observe(kind="guardrail")
    def is_polite(_text: str) -> Any:
        return verdict

    @observe(kind="agent")
    def answer() -> Any:
        return is_polite("hi")

    assert answer() is verdict
    assert recording.read().call("is_polite").attributes.get(names.OUTCOME) == outcome
