"""Values whose own methods raise, `SystemExit` included: recording hears of it, and the program never does."""

import asyncio
import functools
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import playhead
from playhead import observe
from playhead.errors import Suspended
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.objects.interrupts import ExitSentence, is_meant_for_program
from playhead.model.span import STATUS_ERROR
from tests.support.journal_reader import Recording


class Own(BaseException):
    """As test frameworks and cancel scopes have them."""


RAISED: list[type[BaseException]] = [
    SystemExit,
    GeneratorExit,
    asyncio.CancelledError,
    Own,
    RuntimeError,
    StopIteration,
]
METHODS = [
    "__repr__",
    "__str__",
    "__eq__",
    "__ne__",
    "__hash__",
    "__bool__",
    "__len__",
    "__iter__",
    "__getattr__",
    "__getattribute__",
    "__sizeof__",
    "__deepcopy__",
    "__fspath__",
    "__format__",
    "__reduce_ex__",
    "__getitem__",
    "keys",
    "items",
    "model_dump",
]
PROPERTIES = ["__class__", "__dict__", "tool_call_id", "isoformat", "value"]
BASES: list[tuple[type, ...]] = [(), (dict,), (list,), (str,), (int,), (Mapping,), (Exception,), (os.PathLike,)]


def hostile(base: tuple[type, ...], broken: list[str], raised: type[BaseException]) -> Any:
    """An instance of a class of which these methods and properties raise."""

    def boom(*_: Any, **__: Any) -> Any:
        raise raised("boom")

    body: dict[str, Any] = {"__abstractmethods__": frozenset()} if Mapping in base or os.PathLike in base else {}
    if Mapping in base:
        body |= {"__getitem__": boom, "__iter__": boom, "__len__": boom}
    if os.PathLike in base:
        body["__fspath__"] = boom
    body |= {name: property(boom) if name in PROPERTIES else boom for name in broken}
    kind = type("Hostile", base, body)
    made_as: Any = base[0] if base and base[0] in (dict, list, str, int, Exception) else object
    return made_as.__new__(kind)


@pytest.mark.parametrize("raised", [SystemExit, asyncio.CancelledError])  # the others: below
@pytest.mark.parametrize("name", [*METHODS, *PROPERTIES])
def test_whatever_a_method_of_a_value_raises_stays_in_here(
    recording: Recording, name: str, raised: type[BaseException]
):
    for base in BASES:
        _through_everything(hostile(base, [name], raised))
    seen = recording.read()
    assert len(seen.calls("give")) == 2 * len(BASES)
    assert all(names.INPUT_REF in span.attributes for span in seen.calls("give"))


def _through_everything(value: Any) -> None:
    @observe
    def give(x: Any, *more: Any, **named: Any) -> Any:
        return x

    @observe(kind="tool")
    def tool(x: Any) -> Any:
        return [x]

    @observe
    def steps(x: Any) -> Iterator[Any]:
        yield x

    @observe(kind="tool")
    def fail(x: Any) -> None:
        raise ValueError(x)

    with playhead.run("r", metadata={"x": value}) as run:
        assert give(value, value, named=value) is value
        assert give({"deep": [value]})["deep"][0] is value
        assert tool(value)[0] is value
        [same] = steps(value)
        assert same is value
        try:
            fail(value)
        except ValueError as error:
            same = error.args[0]  # not pytest.raises, which would ask the value
        assert same is value
        run.state["x"] = value
        playhead.annotate(decision=value)
        playhead.checkpoint(value)
        playhead.compressed(before=[value], after=[{"role": "user", "content": value}], summary=value)
        playhead.handoff(value)
        run.output(value)


_hostile = st.builds(
    hostile,
    st.sampled_from(BASES),
    st.lists(st.sampled_from([*METHODS, *PROPERTIES]), min_size=1, max_size=4),
    st.sampled_from(RAISED),
)
_graphs = st.recursive(
    _hostile | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(_graphs.map(lambda graph: [graph]))  # in a list: hypothesis asks values for their `repr`
def test_no_graph_of_such_values_changes_what_a_program_does(recording: Recording, graph: Any):
    _through_everything(graph[0])


@pytest.mark.parametrize("raised", RAISED)
def test_hooks_and_options_may_raise_what_they_like(recording: Recording, raised: type[BaseException]):
    def boom(*_: Any) -> Any:
        raise raised("boom")

    words: Any = type("Words", (), {"__iter__": boom, "__str__": boom})()

    @observe(redact=boom)
    def give(x: int) -> int:
        return x

    @observe(session=words, user=words, tags=words, record=words)
    def described() -> int:
        return give(5)

    assert described() == 5
    assert recording.read().input("give") == {"$playhead": "redaction failed", "error": raised.__name__}


# --- what is meant for the program -----------------------------------------------------------------------------------


class Interrupted:
    """While its `repr` is made, something arrives."""

    def __init__(self, arrives: Callable[[], Any]):
        self.arrives = arrives

    def __repr__(self) -> str:
        self.arrives()
        return "Interrupted()"


class Late(Exception):
    """A time limit."""


def by_name(number: int, frame: Any) -> None:
    raise SystemExit(3)


class ByCall:
    """A handler that is no function."""

    def __call__(self, number: int, frame: Any) -> None:
        raise SystemExit(3)

    def method(self, code: int, number: int, frame: Any) -> None:
        raise SystemExit(code)


HANDLERS: dict[str, Callable[..., Any]] = {
    "a function": by_name,
    "an object": ByCall(),
    "a partial of a method": functools.partial(ByCall().method, 3),
    "a lambda": lambda *_: sys.exit(3),
    "a deeper call": lambda number, frame: by_name(number, None),
}


@pytest.fixture
def on_signal() -> Iterator[Callable[[Any], None]]:
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda handler: signal.signal(signal.SIGUSR1, handler)  # pyright: ignore[reportReturnType]
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("how", HANDLERS)
@pytest.mark.parametrize("where", ["argument", "result"])
def test_what_a_signal_handler_raises_reaches_the_program(
    recording: Recording, on_signal: Callable[[Any], None], how: str, where: str
):
    on_signal(HANDLERS[how])
    value = Interrupted(lambda: signal.raise_signal(signal.SIGUSR1))

    @observe
    def give(x: Any) -> Any:
        return value if where == "result" else 1

    with pytest.raises(SystemExit) as raised:
        give(value if where == "argument" else 1)
    assert raised.value.code == 3
    assert playhead.current_run_id() is None


def test_a_time_limit_by_a_signal_reaches_the_program(recording: Recording, on_signal: Callable[[Any], None]):
    def handler(number: int, frame: Any) -> None:
        raise Late

    on_signal(handler)

    @observe
    def give(x: Any) -> Any:
        return x

    with pytest.raises(Late):
        give(Interrupted(lambda: signal.raise_signal(signal.SIGUSR1)))


def test_ctrl_c_reaches_the_program(recording: Recording, on_signal: Callable[[Any], None]):
    on_signal(signal.default_int_handler)  # for a signal that jobs of a shell's background do not ignore

    @observe
    def give(x: Any) -> Any:
        return x

    with pytest.raises(KeyboardInterrupt):
        give(Interrupted(lambda: signal.raise_signal(signal.SIGUSR1)))
    assert give(5) == 5


def test_ctrl_c_that_a_value_catches_and_raises_again_reaches_the_program(
    recording: Recording, on_signal: Callable[[Any], None]
):
    on_signal(signal.default_int_handler)

    def arrives() -> None:
        try:
            signal.raise_signal(signal.SIGUSR1)
        except KeyboardInterrupt:
            arrived.append(1)
            raise

    arrived: list[int] = []

    @observe
    def give(x: Any) -> Any:
        return x

    with pytest.raises(KeyboardInterrupt):
        give(Interrupted(arrives))


def test_a_handler_that_raises_keyboard_interrupt_reaches_the_program(
    recording: Recording, on_signal: Callable[[Any], None]
):
    def handler(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    on_signal(handler)

    @observe
    def give(x: Any) -> Any:
        return x

    with pytest.raises(KeyboardInterrupt):
        give(Interrupted(lambda: signal.raise_signal(signal.SIGUSR1)))


def test_a_time_limit_by_an_alarm_reaches_the_program(recording: Recording):
    def handler(number: int, frame: Any) -> None:
        raise Late

    @observe
    def give(x: Any) -> Any:
        return x

    def alarmed() -> None:
        signal.alarm(1)
        time.sleep(30)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(Late):
            give(Interrupted(alarmed))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert playhead.current_run_id() is None


def test_celery_s_soft_time_limit_reaches_the_program(recording: Recording):
    """As in a worker's process: its parent sends the signal when a task has run too long."""
    pool = pytest.importorskip("billiard.pool")

    @observe
    def task(x: Any) -> Any:
        return x

    before = signal.signal(pool.SIG_SOFT_TIMEOUT, pool.soft_timeout_sighandler)
    try:
        with pytest.raises(pool.SoftTimeLimitExceeded):
            task(Interrupted(lambda: signal.raise_signal(pool.SIG_SOFT_TIMEOUT)))
    finally:
        signal.signal(pool.SIG_SOFT_TIMEOUT, before)
    assert playhead.current_run_id() is None


def test_an_exception_is_meant_for_the_program_only_while_the_handler_is_installed(
    on_signal: Callable[[Any], None],
):
    with pytest.raises(SystemExit) as raised:
        by_name(signal.SIGUSR1, None)
    assert not is_meant_for_program(raised.value)
    on_signal(by_name)
    assert is_meant_for_program(raised.value)


def test_what_ends_the_program_by_our_own_code_reaches_it():
    with pytest.raises(SystemExit), guarded("begin"):
        raise SystemExit(ExitSentence("no such run"))
    with pytest.raises(Suspended), guarded("ask"):
        raise Suspended("waits", "promise")


def test_what_has_no_traceback_of_a_handler_stays_in_here():
    assert is_meant_for_program(KeyboardInterrupt())
    assert not is_meant_for_program(SystemExit())
    assert not is_meant_for_program(RecursionError())
    with pytest.raises(RuntimeError) as raised:
        threading.Condition().notify()
    assert not is_meant_for_program(raised.value)


@pytest.mark.parametrize("trio", [types.ModuleType("trio"), None])
def test_a_failure_while_trio_is_being_imported_is_a_failure(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, trio: Any
):
    @observe
    def fail() -> None:
        raise ValueError

    monkeypatch.setitem(sys.modules, "trio", trio)
    with pytest.raises(ValueError):
        fail()
    assert recording.read().call("fail").status == STATUS_ERROR


def test_what_fails_for_want_of_stack_is_recorded_as_failed(recording: Recording):
    @observe
    def deeper() -> None:
        deeper()

    with pytest.raises(RecursionError):
        deeper()
    assert {span.status for span in recording.read().calls("deeper")} == {STATUS_ERROR}


async def test_a_signal_while_a_message_is_read_reaches_the_program(
    recording: Recording, on_signal: Callable[[Any], None]
):
    on_signal(by_name)

    class Message:
        def model_dump(self, **_: Any) -> dict[str, Any]:
            signal.raise_signal(signal.SIGUSR1)
            return {}

    with pytest.raises(SystemExit), playhead.run("r"):
        playhead.compressed(before=[Message()], after=[])


def test_half_a_surrogate_pair_leaves_the_record_readable(recording: Recording):
    @observe(kind="tool")
    def fail() -> None:
        raise ValueError("broken \ud800 text")

    with pytest.raises(ValueError), playhead.run("r", session="a \udc00 b", tags=["\ud83d"]):
        fail()
    seen = recording.read()
    assert seen.call("fail").status_message == "broken ? text"
    assert seen.value(seen.call("fail"), names.ERROR_REF)["message"] == "broken \ud800 text"


def test_an_exit_of_the_program_s_own_is_its_own(recording: Recording):
    @observe
    def leave() -> None:
        sys.exit(4)

    with pytest.raises(SystemExit) as raised:
        leave()
    assert raised.value.code == 4
    assert recording.read().call("leave").attributes[names.ERROR_TYPE] == "SystemExit"
