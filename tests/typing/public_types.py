"""What type checkers must see of the public names. Checked by mypy and pyright (`make check`), never executed."""

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

import playhead
from playhead import observe


@observe
def bare(task: str) -> int:
    return len(task)


@observe(kind="tool", idempotent=True)
def with_options(task: str) -> int:
    return len(task)


@observe
async def coroutine(task: str) -> int:
    return len(task)


@observe(name="parts")
def generator(task: str) -> Iterator[str]:
    yield task


@observe
async def stream(task: str) -> AsyncIterator[str]:
    yield task


class Agent:
    @observe
    def method(self, task: str) -> int:
        return len(task)

    @staticmethod
    @observe
    def static(task: str) -> int:
        return len(task)

    @classmethod
    @observe
    def made(cls, task: str) -> int:
        return len(task)


@observe
class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    def find(self, item: str) -> int:
        return len(item)


@observe(kind="tool")
class Tools(Shop):
    async def order(self, item: str) -> int:
        return len(item)


async def decorated_classes_are_the_same_classes() -> None:
    shop = Shop("corner")
    assert_type(shop, Shop)
    assert_type(shop.find("a"), int)
    tools: Shop = Tools("far")
    assert isinstance(tools, Tools)
    assert_type(await tools.order("a"), int)


async def decorated_functions_keep_their_types() -> None:
    assert_type(bare("a"), int)
    assert_type(with_options("a"), int)
    assert_type(await coroutine("a"), int)
    assert_type(generator("a"), Iterator[str])
    assert_type(stream("a"), AsyncIterator[str])
    assert_type(Agent().method("a"), int)
    assert_type(Agent.static("a"), int)
    assert_type(Agent.made("a"), int)
    assert_type(playhead.propagate(bare)("a"), int)


def misspelt_words_are_errors_of_types() -> None:
    """mypy refuses an ignore that ignores nothing."""
    observe(kind="tol")  # type: ignore[call-overload]
    observe(kind="tool", approval="alway")  # type: ignore[call-overload]
    playhead.configure(approval="wirtes")  # type: ignore[arg-type]
    playhead.on_event(print, priority="criticl")  # type: ignore[arg-type]
    playhead.event("shipped", priority="hihg")  # type: ignore[arg-type]


def words_that_are_known_are_none() -> None:
    observe(kind="tool", approval="always")
    observe(kind="tool", approval=lambda name, arguments: "amount" in arguments)
    playhead.configure(approval=["refund"])
    playhead.configure(approval="writes")


def a_run_that_stands_still_can_be_told_from_one_that_is_unknown(run_id: str) -> str:
    try:
        with playhead.resume(run_id) as resumed:
            bare("a")
    except playhead.InDoubt as error:
        return f"a person decides: {error}"
    except (playhead.ReplayDiverged, playhead.RunAlive, playhead.NoRecord) as error:
        assert_type(error, playhead.ReplayDiverged | playhead.RunAlive | playhead.NoRecord)
        return str(error)
    assert_type(resumed.not_called_again, list[str])
    return resumed.id


def answers_are_typed() -> None:
    with playhead.Client() as client:
        for run in client.runs(status="failed"):
            assert_type(run["run"], str)
            assert_type(client.run(run["run"])["attempts"], int)


async def answers_are_typed_when_awaited() -> None:
    async with playhead.AsyncClient() as client:
        async for run in client.runs():
            assert_type((await client.run(run["run"]))["attempts"], int)
