"""The journal is gone, and the collector has the run: it is resumed and forked from there."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess

executed: list[int] = []


@observe(kind="tool")
def work(number: int) -> tuple[str, int]:
    executed.append(number)
    return "worked", number


@observe
def agent(client: openai.OpenAI) -> list[Any]:
    asked: Any = [{"role": "user", "content": "go"}]
    said = client.chat.completions.create(model="m", messages=asked).choices[0].message.content
    return [said, work(1), work(2)]


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tuple[str, openai.OpenAI, MockModelServer, str]]:
    with CollectorProcess() as collector, MockModelServer() as server:
        server.otherwise(text("fine"))
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "here")
        playhead.instrument("openai")
        with openai.OpenAI(base_url=server.base_url, api_key="none") as client:
            with playhead.run("p") as run:
                agent(client)
            assert playhead.flush()
            playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "elsewhere")
            shutil.rmtree(tmp_path / "here")
            executed.clear()
            assert run.id is not None
            yield run.id, client, server, collector.url
        playhead.uninstrument("openai")
        playhead.shutdown()


def test_a_run_goes_on_from_what_the_collector_has(recorded: tuple[str, openai.OpenAI, MockModelServer, str]) -> None:
    run_id, client, server, url = recorded
    with playhead.resume(run_id) as resumed, playhead.run("p"):
        assert agent(client) == ["fine", ("worked", 1), ("worked", 2)]
    assert (resumed.told.answered, resumed.told.live) == (3, 0)
    assert len(server.requests) == 1
    assert executed == []
    with playhead.Client(url) as asking:
        events: list[Any] = list(asking.events(run_id))
    begun = [event for event in events if "tool" in event["kind"]]
    with playhead.fork(run_id, at=begun[0]["seq"], outcome={"result": "other"}) as forked, playhead.run("p"):
        assert agent(client)[1] == "other"
    assert (forked.told.answered, forked.told.live) == (1, 1)
