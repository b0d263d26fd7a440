"""Recorded results come back as what they were; what cannot come back is executed again, by the rules of doubt."""

import asyncio
import contextlib
import importlib
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, cast

import pydantic
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

import playhead
from playhead import observe
from playhead.errors import InDoubt, ReplayDiverged
from playhead.model import names
from playhead.replaying.recorded_calls import RecordedCall
from playhead.testing import MockModelServer, dropped_connection, rate_limit, text
from tests.support.journal_reader import Recording


@dataclass
class Point:
    x: int
    tags: tuple[str, ...]


class Colour(Enum):
    RED = "red"


class City(BaseModel):
    name: str
    since: datetime


class Refused(Exception):
    def __init__(self, reason: str, code: int):
        super().__init__(reason)
        self.code = code


VALUES: list[Any] = [
    ("a", 1),
    Point(1, ("x",)),
    Colour.RED,
    City(name="Bern", since=datetime(1191, 1, 1, tzinfo=UTC)),
    b"\x00\xff",
    bytearray(b"\x80"),
    {"z": 1, "a": 2},
    "text",
    "1",
    None,
    {1: {2, 3}},
    float("inf"),
    [Point(2, ())],
]


class CutOff(Exception):
    """Ends a run before it has completed."""


class Twice:
    """Runs a program, and runs it again on its record."""

    def __init__(self) -> None:
        self.executed = 0
        self.run_id: str | None = None

    def __call__(self, program: Any, **how: Any) -> tuple[Any, Any]:
        first: Any = None
        with contextlib.suppress(CutOff), playhead.run("p") as run:
            first = program()
            raise CutOff
        assert run.id is not None
        self.run_id = run.id
        self.executed = 0
        with playhead.resume(run.id, **how) as self.resumed, playhead.run("p"):
            return first, program()


@pytest.fixture
def twice() -> Twice:
    return Twice()


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_result_comes_back_as_what_it_was(twice: Twice, value: Any):
    @observe(kind="tool")
    def give() -> Any:
        twice.executed += 1
        return value

    first, again = twice(give)
    assert again == first
    assert type(again) is type(first)
    assert list(again) == list(first) if isinstance(value, dict) else True
    assert twice.executed == 0


def test_an_exception_comes_back_with_its_attributes(twice: Twice):
    @observe(kind="tool")
    def refuse() -> None:
        twice.executed += 1
        raise Refused("no", 7)

    def program() -> Any:
        with pytest.raises(Refused) as caught:
            refuse()
        return caught.value

    first, again = twice(program)
    assert (type(again), again.args, again.code) == (type(first), first.args, 7)
    assert twice.executed == 0


def test_any_call_can_be_answered_if_it_says_so(twice: Twice):
    @observe(replay=True)
    def now() -> int:
        twice.executed += 1
        return twice.executed

    assert twice(lambda: [now(), now()]) == ([1, 2], [1, 2])
    assert twice.executed == 0


def test_generators_give_their_items_again_and_stop_where_they_were_left(twice: Twice):
    @observe(kind="retriever")
    def pages() -> Iterator[tuple[int, str]]:
        for number in range(5):
            twice.executed += 1
            yield number, "page"

    assert twice(lambda: list(pages()))[1] == [(n, "page") for n in range(5)]
    assert twice.executed == 0

    def some(most: int) -> list[Any]:
        found: list[Any] = []
        for page in pages():
            found.append(page)
            if len(found) == most:
                break
        return found

    assert twice(lambda: some(2))[1] == [(0, "page"), (1, "page")]
    assert twice.executed == 0


def test_a_program_that_reads_on_where_it_had_stopped_is_told_so(twice: Twice):
    @observe(kind="retriever")
    def pages() -> Iterator[int]:
        yield from range(5)

    most = iter((2, 5))

    @observe(kind="step")
    def read() -> list[int]:
        return [page for page, _ in zip(pages(), range(next(most)), strict=False)]

    with pytest.raises(ReplayDiverged, match="reads on in p/read/pages:retriever"):
        twice(read)


@pytest.mark.parametrize("kind", ["retriever", "tool"])
def test_an_error_in_the_loop_of_its_reader_does_not_end_a_generator_for_good(twice: Twice, kind: Any):
    @observe(kind=kind)
    def pages() -> Iterator[str]:
        for number in range(4):
            twice.executed += 1
            yield f"page {number}"

    attempt = iter((1, 2))

    def program() -> list[str]:
        found: list[str] = []
        number = next(attempt)
        for page in pages():
            found.append(page)
            if number == 1 and len(found) == 2:
                raise CutOff
        return found

    if kind == "tool":
        with pytest.raises(ReplayDiverged, match="playhead.RERUN"):
            twice(program)
        return
    assert twice(program)[1] == [f"page {number}" for number in range(4)]
    assert twice.executed == 4
    assert twice.run_id is not None
    with playhead.resume(twice.run_id), playhead.run("p"):  # it has all of them now
        assert list(pages()) == [f"page {number}" for number in range(4)]
    assert twice.executed == 4


async def test_an_error_in_the_loop_of_its_reader_does_not_end_an_asynchronous_generator_for_good(twice: Twice):
    @observe(kind="retriever")
    async def pages() -> AsyncIterator[int]:
        for number in range(4):
            twice.executed += 1
            yield number

    attempt = iter((1, 2))

    async def read() -> list[int]:
        found: list[int] = []
        number = next(attempt)
        async with contextlib.aclosing(cast("AsyncGenerator[int]", pages())) as steps:
            async for page in steps:
                found.append(page)
                if number == 1 and len(found) == 2:
                    raise CutOff
        return found

    assert (await asyncio.to_thread(twice, lambda: asyncio.run(read())))[1] == [0, 1, 2, 3]


def test_a_generator_that_also_returns_a_value_is_executed_again(twice: Twice):
    @observe(kind="retriever")
    def pages() -> Any:
        twice.executed += 1
        yield 1
        return "the end"

    def program() -> Any:
        steps = pages()
        next(steps)
        with pytest.raises(StopIteration) as stop:
            next(steps)
        return stop.value.value

    assert twice(program) == ("the end", "the end")
    assert twice.executed == 1


def test_asynchronous_generators_and_functions_come_back(twice: Twice):
    @observe(kind="retriever")
    async def pages() -> AsyncIterator[bytes]:
        for number in range(3):
            twice.executed += 1
            yield bytes([number])

    @observe(kind="tool")
    async def add(a: int, b: int) -> tuple[int, int]:
        twice.executed += 1
        return a, b

    async def program() -> Any:
        return [page async for page in pages()], await add(1, 2)

    first, again = twice(lambda: asyncio.run(program()))
    assert again == first
    assert twice.executed == 0


def test_a_coroutine_that_is_not_awaited_leaves_no_warning(twice: Twice):
    @observe(kind="tool")
    async def add(a: int) -> int:
        return a

    arguments = iter((1, 2))
    with pytest.raises(ReplayDiverged):
        twice(lambda: asyncio.run(add(next(arguments))), on_divergence="raise")


class Handle:
    pass


def test_what_cannot_be_given_back_is_in_doubt(twice: Twice, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING, "playhead")

    class Local:
        pass

    @observe(kind="tool")
    def connect(host: str) -> Any:
        twice.executed += 1
        return Local()

    with pytest.raises(InDoubt, match=r"connect:tool was executed, and what came of it cannot be given back .*'h'"):
        twice(lambda: connect("h"))
    assert "connect would be executed again on resume" in caplog.text
    twice(lambda: connect("h"), in_doubt="rerun")
    assert twice.executed == 1
    assert twice(lambda: connect("h"), in_doubt=lambda call: {"result": call.name})[1] == "connect"


def test_who_decides_about_a_call_in_doubt_can_look_for_its_effect_and_let_it_run_again(twice: Twice):
    keys: list[str | None] = []

    @observe(kind="tool")
    def connect(host: str) -> Any:
        keys.append(playhead.idempotency_key())
        return Handle

    def not_executed(call: RecordedCall) -> Any:
        assert call.idempotency_key == keys[0]
        return playhead.RERUN

    twice(lambda: connect("h"), in_doubt=not_executed)
    assert len(keys) == 2
    assert keys[0] == keys[1]
    twice(lambda: connect("h"), in_doubt="raise", outcomes={"connect": playhead.RERUN})
    assert len(keys) == 4


def in_place_of(stopped: InDoubt) -> BaseException:
    error = RuntimeError("the tool failed")
    error.__cause__ = stopped
    return error


@pytest.mark.parametrize(
    "instead",
    [lambda stopped: stopped, in_place_of, lambda stopped: ExceptionGroup("tasks", [ValueError(), stopped])],
    ids=["itself", "raised from it", "in a group"],
)
def test_a_run_that_is_in_doubt_stays_open_whatever_a_framework_raises_instead(recording: Recording, instead: Any):
    @observe(kind="tool")
    def connect() -> Any:
        raise KeyboardInterrupt

    @observe
    def agent() -> None:
        try:
            connect()
        except InDoubt as stopped:
            raise instead(stopped)  # noqa: B904 - as careless frameworks do

    with contextlib.suppress(KeyboardInterrupt), playhead.run("r") as run:
        agent()
    ended = len(recording.read().spans)
    with contextlib.suppress(InDoubt, RuntimeError, ExceptionGroup), playhead.resume(run.id or ""), playhead.run("r"):
        agent()
    assert len(recording.read().spans) == ended


def test_nothing_is_given_back_from_a_redacted_record(recording: Recording, twice: Twice):
    recording.configure(redact=lambda value: "hidden")

    @observe(kind="tool")
    def charge(amount: int) -> int:
        twice.executed += 1
        return amount

    with pytest.raises(InDoubt, match="redacted"):
        twice(lambda: charge(5))
    assert twice(lambda: charge(5), in_doubt="rerun") == (5, 5)


def test_without_content_everything_is_live_with_one_warning(
    recording: Recording, twice: Twice, caplog: pytest.LogCaptureFixture
):
    recording.configure(capture_content=False)

    @observe(kind="tool")
    def give() -> int:
        twice.executed += 1
        return 1

    twice(lambda: [give(), give()])
    assert twice.executed == 2
    assert caplog.text.count("PLAYHEAD_CAPTURE_CONTENT") == 1


def test_the_idempotency_key_is_that_of_the_same_call_in_every_attempt(twice: Twice):
    keys: list[str | None] = []

    @observe(kind="tool")
    def charge(amount: int) -> Any:
        keys.append(playhead.idempotency_key())
        return Handle() if len(keys) == 2 else amount

    # The second of two equal calls is executed again (what it gave is in a class of its own): its key is the second.
    charge.__wrapped__.__globals__["Handle"] = type("Local", (), {})
    try:
        twice(lambda: [charge(5), charge(5), charge(6)], in_doubt="rerun")
    finally:
        charge.__wrapped__.__globals__["Handle"] = Handle
    assert len(keys) == 4
    assert keys[3] == keys[1]
    assert len(set(keys)) == 3


# --- models ----------------------------------------------------------------------------------------------------------

HELLO: Any = [{"role": "user", "content": "hello"}]


def test_a_stream_comes_back_chunk_by_chunk_also_when_it_was_left(
    twice: Twice, client: OpenAI, server: MockModelServer
):
    server.otherwise(text("one two three four five six seven eight nine ten"))

    def program(most: int) -> list[Any]:
        chunks: list[Any] = []
        with client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream:
            for chunk in stream:
                chunks.append(chunk)
                if len(chunks) == most:
                    break
        return chunks

    for most in (2, 1000):
        first, again = twice(lambda most=most: program(most))
        assert again == first
        assert (twice.resumed.report.answered, twice.resumed.report.live) == (1, 0)
    assert len(server.requests) == 2


def test_errors_of_a_provider_come_back(twice: Twice, client: OpenAI, server: MockModelServer):
    server.otherwise(rate_limit(0))

    def program() -> Any:
        with pytest.raises(Exception, match="Rate limit") as caught:
            client.chat.completions.create(model="m", messages=HELLO)
        return caught.value

    first, again = twice(program)
    assert (type(again), str(again), again.status_code) == (type(first), str(first), 429)
    assert len(server.requests) == 1


def test_a_stream_that_broke_breaks_again_after_the_same_chunks(twice: Twice, client: OpenAI, server: MockModelServer):
    server.otherwise(dropped_connection(text("one two three four five six seven eight"), after_chunks=2))

    def program() -> Any:
        chunks: list[Any] = []
        with pytest.raises(Exception, match=r".") as caught:  # noqa: PT012 - where it breaks is what is tested
            for chunk in client.chat.completions.create(model="m", messages=HELLO, stream=True):
                chunks.append(chunk)  # noqa: PERF402 - those before it breaks
        return chunks, type(caught.value).__name__

    first, again = twice(program)
    assert len(first[0]) > 0
    assert again == first
    assert len(server.requests) == 1


PIECES = "one two three four five six seven eight"


async def test_what_stops_a_resume_ends_no_stream_that_another_branch_reads(server: MockModelServer):
    server.otherwise(text(PIECES))

    @observe(kind="tool")
    async def charge(amount: int) -> str:
        raise KeyboardInterrupt

    @observe(kind="retriever")
    async def pages() -> AsyncIterator[int]:
        for number in range(4):
            yield number

    async def read(reading: asyncio.Event, go_on: asyncio.Event) -> tuple[list[int], str]:
        async with (
            AsyncOpenAI(base_url=server.base_url, api_key="none") as client,
            contextlib.aclosing(cast("AsyncGenerator[int]", pages())) as numbers,
            await client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream,
        ):
            found, chunks = [await anext(numbers)], [await anext(stream)]
            reading.set()
            await go_on.wait()
            found += [each async for each in numbers]
            chunks += [each async for each in stream]
        return found, "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    async def agent() -> Any:
        reading, go_on = asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            branch = group.create_task(read(reading, go_on))
            await reading.wait()
            charged = await charge(5)
            go_on.set()
        return charged, branch.result()

    with contextlib.suppress(KeyboardInterrupt), playhead.run("p") as run:
        await charge(5)
    assert run.id is not None
    with pytest.RaisesGroup(InDoubt), playhead.resume(run.id), playhead.run("p"):
        await agent()
    with playhead.resume(run.id, outcomes={"charge": {"result": "charged"}}), playhead.run("p"):
        assert await agent() == ("charged", (list(range(4)), PIECES))


def test_asynchronous_answers_come_back(twice: Twice, server: MockModelServer):
    async def program() -> Any:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            return await asyncio.gather(
                *(client.chat.completions.create(model="m", messages=HELLO, seed=seed) for seed in range(3))
            )

    first, again = twice(lambda: asyncio.run(program()))
    assert again == first
    assert len(server.requests) == 3


def test_a_tool_that_runs_now_answers_what_a_recorded_answer_asked_for(
    recording: Recording, client: OpenAI, server: MockModelServer
):
    from playhead.testing import tool_call

    server.otherwise(tool_call("look", {"id": 1}, call_id="c9"))

    @observe(kind="tool")
    def look(id: int) -> int:  # noqa: A002
        return id

    with contextlib.suppress(CutOff), playhead.run("p") as run:
        client.chat.completions.create(model="m", messages=HELLO)
        raise CutOff
    assert run.id is not None
    with playhead.resume(run.id), playhead.run("p"):
        client.chat.completions.create(model="m", messages=HELLO)
        look(id=1)
    assert len(server.requests) == 1
    assert recording.read().call("look").attributes[names.TOOL_CALL_ID] == "c9"


def test_a_result_whose_module_is_not_imported_is_in_doubt_until_it_is_declared(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "lazily_imported.py").write_text(
        "import dataclasses\n@dataclasses.dataclass\nclass Order:\n    id: int\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    executed: list[int] = []

    @observe(kind="tool")
    def find(order: int) -> Any:
        executed.append(order)
        return importlib.import_module("lazily_imported").Order(order)

    with playhead.run("p") as run:
        find(5)
    del sys.modules["lazily_imported"]
    assert run.id is not None
    with pytest.raises(InDoubt, match="PLAYHEAD_RESTORABLE=lazily_imported"), playhead.resume(run.id):  # noqa: SIM117
        with playhead.run("p"):
            find(5)
    recording.configure(restorable=["lazily_imported"])
    with playhead.resume(run.id), playhead.run("p"):
        assert find(5).id == 5
    assert executed == [5]
    del sys.modules["lazily_imported"]


@dataclass
class Login:
    user: str
    access_token: str = ""
    _password: str = ""


class Keys(BaseModel):
    note: str = ""
    api_key: str = pydantic.Field(default="", exclude=True)


SECRETIVE: list[Any] = [
    Login("ann", "s3cr3t"),
    Login("ann", "", "s3cr3t"),
    {"first": [Login("ann", "s3cr3t")]},
    Keys(api_key="s3cr3t"),
    [("a", Keys(note="x", api_key="s3cr3t"))],
]


@pytest.mark.parametrize("value", SECRETIVE, ids=repr)
def test_a_result_that_holds_secrets_is_in_doubt_and_they_are_nowhere(recording: Recording, twice: Twice, value: Any):
    executed: list[int] = []

    @observe(kind="tool")
    def login() -> Any:
        executed.append(1)
        return value

    with pytest.raises(InDoubt, match="holds secrets, which are masked"):
        twice(login)
    assert executed == [1]
    assert not any(b"s3cr3t" in content.data for content in recording.read().contents.values())


@pytest.mark.parametrize("value", [*SECRETIVE, Login("ann"), {"token": "s3cr3t"}], ids=repr)
def test_without_masking_everything_is_given_back(recording: Recording, twice: Twice, value: Any):
    if value in SECRETIVE:
        recording.configure(mask_keys=())

    executed: list[int] = []

    @observe(kind="tool")
    def login() -> Any:
        executed.append(1)
        return value

    assert twice(login) == (value, value)
    assert executed == [1]


def test_of_an_error_the_secrets_are_left_out_and_the_rest_is_given_back(recording: Recording, twice: Twice):
    @observe(kind="tool")
    def login() -> None:
        error = Refused("no", 401)
        vars(error).update(access_token="s3cr3t", login=Login("ann", "s3cr3t"), plain={"a": 1})
        raise error from ValueError(Login("bob", "s3cr3t"), 1)

    def program() -> dict[str, Any]:
        with pytest.raises(Refused) as raised:
            login()
        assert isinstance(raised.value.__cause__, ValueError)
        return vars(raised.value)

    first, again = twice(program)
    assert first.keys() - again.keys() == {"access_token", "login"}
    assert (again["code"], again["plain"]) == (401, {"a": 1})
    seen = recording.read()
    described = seen.value(seen.call("login"), names.ERROR_REF)
    assert "s3cr3t" not in str({**described["restore"], "cause": None, "context": None})


def test_an_interrupt_that_the_program_handled_is_given_again(twice: Twice):
    @observe(kind="tool")
    def slow() -> str:
        twice.executed += 1
        raise KeyboardInterrupt

    @observe
    def asks() -> str:
        try:
            return slow()
        except KeyboardInterrupt:
            return "the user has stopped it"

    assert twice(asks) == ("the user has stopped it", "the user has stopped it")
    assert twice.executed == 0  # the second time
