"""Temporal activities over one growing chat, with a data converter that hands on a ref of the chat, and not the chat.

No Temporal server is used here: the activities run in the test environment of Temporal's SDK, and what a server would
store of their arguments and results is what the data converter makes of them.

    python examples/recipes/temporal_history.py [STEPS]
"""

import asyncio
import sys
from typing import Any

from temporalio import activity
from temporalio.converter import (
    AdvancedJSONEncoder,
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
    JSONTypeConverter,
)
from temporalio.testing import ActivityEnvironment

import playhead


class HistoryEncoder(AdvancedJSONEncoder):
    """Writes a history as its ref."""

    def default(self, o: Any) -> Any:
        return o.to_json() if isinstance(o, playhead.History) else super().default(o)


class HistoryReader(JSONTypeConverter):
    """Reads a history, also where a program sent a list of messages before."""

    def to_typed_value(self, hint: Any, value: Any) -> Any:
        return playhead.History.load(value) if hint is playhead.History else JSONTypeConverter.Unhandled


class HistoryPayloadConverter(CompositePayloadConverter):
    """Temporal's own converters, with histories in its JSON."""

    def __init__(self) -> None:
        json_converter = JSONPlainPayloadConverter(encoder=HistoryEncoder, custom_type_converters=[HistoryReader()])
        given = DefaultPayloadConverter.default_encoding_payload_converters
        super().__init__(*(json_converter if isinstance(each, JSONPlainPayloadConverter) else each for each in given))


# For Client.connect(data_converter=...).
CONVERTER = DataConverter(payload_converter_class=HistoryPayloadConverter)


@activity.defn
async def turn(history: playhead.History) -> playhead.History:
    """One turn of the chat. What it returns is persisted: only then does the converter write a ref."""
    history.append("user", "question: " + "lorem ipsum " * 30)

    async def ask(messages: list[Any]) -> str:  # in your program: a model
        return f"answer to {len(messages)} messages"

    with playhead.run("turn", session=activity.info().workflow_id):
        await history.call_async(ask)
    await history.persist_async()
    return history


async def main(steps: int) -> None:
    environment, stored = ActivityEnvironment(), 0
    payloads = await CONVERTER.encode([playhead.History()])
    for _ in range(steps):
        stored += sum(payload.ByteSize() for payload in payloads)  # the arguments, in the workflow's history
        [history] = await CONVERTER.decode(payloads, [playhead.History])
        payloads = await CONVERTER.encode([await environment.run(turn, history)])
        stored += sum(payload.ByteSize() for payload in payloads)  # the result
    [history] = await CONVERTER.decode(payloads, [playhead.History])
    print(len(history), (await history.hydrate_async())[-1]["content"])
    print(stored, "bytes of arguments and results")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
