"""What type checkers must see of the public names. Checked by mypy and pyright (`make check`), never executed."""

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

import playhead
from playhead import observe
from playhead.wire.operations import RunSummary


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
    assert_type(playhead.propagate_to_thread(bare)("a"), int)


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


def declared_operations_have_the_types_of_their_signatures() -> None:
    with playhead.Client() as client:
        assert_type(client.state("last", at="turn:2", hydrate=True)["llm_calls"], int)
        assert_type(client.suspects("last", siblings=["a"], limit=3)["total"], int)
        assert_type(client.score("last", "resolved", True)["latest"], bool)
        assert_type(client.test_of("last"), str)
        assert_type(client.runs(agent="a", since="2026-01-31", limit=3), Iterator[RunSummary])
        for event in client.events("last", kinds=("run_started",), last=3):
            assert_type(event["seq"], int)
        client.state("last", at=0.5)  # type: ignore[arg-type]
        client.state()  # type: ignore[call-arg]
        client.runs(colour="red")  # type: ignore[call-arg]
        client.runs(status="lots")  # type: ignore[arg-type]


async def declared_operations_are_awaited() -> None:
    async with playhead.AsyncClient() as client:
        assert_type((await client.state("last", at=7))["llm_calls"], int)
        assert_type(client.runs(limit=3), AsyncIterator[RunSummary])
        async for event in client.live_events("last"):
            assert_type(event["seq"], int)


@playhead.tool
def shout(word: str, times: int = 1) -> str:
    return word.upper() * times


@playhead.tool(writes=True)
async def sell(item: str, ctx: playhead.AgentContext[Shop]) -> int:
    return ctx.deps.find(item)


def the_agent_and_its_tools() -> None:
    assert_type(shout("x", times=2), str)
    shout(3)  # type: ignore[arg-type]
    agent = playhead.Agent[Shop](model="gpt-4o", tools=[shout, sell, len], instructions=lambda ctx: str(ctx.turn))
    assert_type(agent.run_sync("?", deps=Shop("a")).turns, int)
    agent.run_sync("?", deps=3)  # type: ignore[arg-type]

    @agent.execute
    async def loop(ctx: playhead.AgentContext[Shop], ask: playhead.Ask) -> str:
        assert_type(ctx.deps, Shop)
        return (await ctx.call()).text + ask.prompt

    assert_type(playhead.LlmTask("t", model="gpt-4o")("?").usage.total, int | None)
