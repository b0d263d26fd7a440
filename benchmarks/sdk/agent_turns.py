"""AG1: what `playhead.Agent` itself costs per turn, beside the recording.

A turn is a model call that asks for a tool, and the tool. The same turns are made by a loop without the kit, whose
calls are recorded in the same way; the difference is the kit's: schemas, the managed context, approval, results, the
event loop.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import playhead
from benchmarks.recording import recording
from benchmarks.sdk.sink import Sink
from playhead import observe
from playhead.model.message import Message, text_message
from playhead.models import MockModel, ModelRequest, ModelResponse, mock_answer
from playhead.models.recorded import ask
from tests.support.bar import Row, at_most, told

_TURNS, _RUNS, _ROUNDS = 20, 5, 9
_BAR_MS = 0.5
# The shipper waits this long: nothing is sent within a round.
_BETWEEN_ROUNDS = 60.0


def measure() -> Iterator[Row]:
    with Sink() as sink, recording(sink.url, linger_seconds=_BETWEEN_ROUNDS):
        agent = playhead.Agent(name="bench", model=_model(), tools=[look_up], instructions="Be brief.")
        with_kit, without = _per_turn(lambda: agent.run_sync("Begin."), _loop_without_the_kit)
    against = f"{_RUNS} runs of {_TURNS} turns, median of {_ROUNDS} rounds; CPU time of the process"
    yield at_most(
        "AG1", "a turn of Agent, beside its recording", with_kit - without, _BAR_MS, unit="ms", against=against
    )
    yield told("AG1", "the same turn with its recording", with_kit, unit="ms", against=against)
    yield told("AG1", "the same turn in a loop without the kit", without, unit="ms", against=against)


@playhead.tool(writes=False)
def look_up(order: str) -> str:
    """Looks an order up."""
    return f"{order} is in Rome"


def _answer(request: ModelRequest) -> ModelResponse:
    turn = sum(message["role"] == "assistant" for message in request.messages)
    if turn >= _TURNS:
        return mock_answer("Done.")
    return mock_answer(calls=[(f"c{turn}", "look_up", {"order": f"A{turn}"})])


def _model() -> MockModel:
    return MockModel(_answer)


def _loop_without_the_kit() -> None:
    model, tool = _model(), observe(kind="tool", name="look_up")(lambda order: f"{order} is in Rome")
    tools = [look_up.definition]
    with playhead.run("bench"):
        messages: list[Message] = [text_message("system", "Be brief."), text_message("user", "Begin.")]
        while True:
            response = ask(model, ModelRequest([*messages], tools=tools))
            messages.append(response.message)
            if response.done:
                return
            for call in response.tool_calls:
                arguments: Any = call.arguments
                part = {"type": "tool_call_response", "id": call.id, "response": tool(**arguments)}
                messages.append({"role": "tool", "parts": [part]})


def _per_turn(*programs: Callable[[], object]) -> list[float]:
    """Returns the CPU time of a turn of each program in ms; their rounds alternate."""
    times: list[list[float]] = [[] for _ in programs]
    for round_number in range(_ROUNDS + 1):
        for at, program in enumerate(programs):
            began = time.process_time()
            for _ in range(_RUNS):
                program()
            passed = (time.process_time() - began) * 1_000 / (_RUNS * (_TURNS + 1))
            if round_number:  # the first warms up
                times[at].append(passed)
            playhead.flush()
    return [statistics.median(each) for each in times]
