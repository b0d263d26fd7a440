"""[support] → show. Runs examples/support_agent.py, and reads its record from the collector."""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from playhead.demo.sizes import ModelExchange, Sizes, sizes_of, stored
from playhead.demo.stage import DemoFailed, Stage
from playhead.testing import ChatRequest
from playhead.wire.operations import ContextAt, RecordedEvent, RunDetail, StateAt
from playhead_collector.serve.browser.pages import UiFiles

EXAMPLE = "support_agent"
# In a wheel, the examples are in this package; in a checkout, they are at its top, where users look for them.
_EXAMPLE_FOLDERS = (Path(__file__).parent / "examples", Path(__file__).parents[3] / "examples")


@dataclass(frozen=True, slots=True)
class Scene:
    """One conversation with the agent, and what was recorded of it."""

    task: str
    reply: str
    url: str
    run: RunDetail
    events: list[RecordedEvent]
    state: StateAt
    context: ContextAt
    sizes: Sizes
    page: str | None
    """Address of the run in the web UI, at the tool that failed; None: the UI is not built."""


def support_scene(on: Stage) -> Scene:
    """Lets the agent answer one customer. Reads the run, and its state and context where a tool failed. Raises
    DemoFailed."""
    example, before = load_example(), stored(on.url)
    with example.scripted_model() as server, example.client_of(server) as client:
        reply = example.handle(client, example.TASK)
        calls = list(_model_calls(server.requests, reply))
    on.deliver()
    run = on.client.run(next(iter(on.client.runs(limit=1)))["run"])
    events = list(on.client.events(run["run"]))
    middle = _first("tool_failed", events)
    after = _first("llm_called", events[middle:])
    return Scene(
        task=example.TASK,
        reply=reply,
        url=f"{on.url}/api/v1/runs/{run['run']}",
        run=run,
        events=events,
        state=on.client.state(run["run"], at=middle, hydrate=True),
        context=on.client.context(run["run"], at=after),
        sizes=sizes_of(calls, on.url, before),
        page=f"{on.url}/runs/{run['run']}?at={middle}" if UiFiles().is_built else None,
    )


def load_example() -> Any:
    """Imports the module examples/support_agent.py. Raises DemoFailed."""
    for path in (place / f"{EXAMPLE}.py" for place in _EXAMPLE_FOLDERS):
        spec = importlib.util.spec_from_file_location(EXAMPLE, path) if path.exists() else None
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise DemoFailed(f"this installation has no example {EXAMPLE}.py: install playhead again, or run from a checkout")


def _model_calls(requests: Sequence[ChatRequest], reply: str) -> Iterator[ModelExchange]:
    """Yields the model calls. The answer to a request is in the next request; `reply` is the last answer."""
    for request, then in pairwise(requests):
        yield ModelExchange(request.messages, request.tools, then.messages[len(request.messages)])
    yield ModelExchange(requests[-1].messages, requests[-1].tools, {"role": "assistant", "content": reply})


def _first(kind: str, events: Sequence[RecordedEvent]) -> int:
    for event in events:
        if event["kind"] == kind:
            return event["seq"]
    raise DemoFailed(f"the record has no {kind} where the agent had one: this is a bug, please report it")
