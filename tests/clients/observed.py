"""What tests of clients share: a program is run live, then from its record, and its requests are compared with what the
record says was sent."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import playhead
from playhead.client import Client
from playhead.testing import MockModelServer
from playhead_collector.process import CollectorProcess

LONG = "An answer that is long enough for a number of chunks, so that there is a stream."


@contextmanager
def delivered_to(collector: CollectorProcess, folder: Path, *libraries: str) -> Iterator[Client]:
    """Records these libraries, and delivers to the collector that the client reads."""
    with Client(collector.url) as reader:
        playhead.shutdown()
        playhead.configure(endpoint=collector.url, journal_dir=folder / "journal", record="always")
        playhead.instrument(*libraries)
        try:
            yield reader
        finally:
            playhead.shutdown()
            playhead.uninstrument(*libraries)


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart, and a key that is null from one that is not there."""
    return json.dumps(value, sort_keys=True, indent=1)


def assert_exact(reader: Client, server: MockModelServer, ask: Callable[[], Any], *, at_least: int = 2) -> None:
    """Runs the program; the body of each model call is the one that the server got."""
    before = len(server.requests)
    with playhead.run("exact") as run:
        ask()
    assert playhead.flush(60)
    assert run.id is not None
    told = [reader.context(run.id, at=call["seq"], exact=True).get("request") for call in reader.llm_calls(run.id)]
    sent = [request.body for request in server.requests[before:] if not request.is_embedding]
    differing = [*zip(sorted(map(as_text, told)), sorted(map(as_text, sent)), strict=True)]
    for rebuilt, body in differing:
        assert rebuilt == body, f"{rebuilt}\nis not\n{body}"
    assert len(told) >= at_least


def rewound(server: MockModelServer, program: Callable[[], Any]) -> tuple[Any, Any]:
    """What the program returned live, and from its record: without a request, and with no call live."""
    with playhead.run("r") as run:
        live = program()
    assert run.id is not None
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        replayed = program()
    assert len(server.requests) == requests
    assert resumed.report.live == 0
    return live, replayed


def awaited(program: Callable[[], Awaitable[Any]]) -> Callable[[], Any]:
    """The same program, as a plain function."""

    async def main() -> Any:
        return await program()

    return lambda: asyncio.run(main())
