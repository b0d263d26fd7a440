"""Recorded answers of models, whichever provider's: checks them before they are restored, and reads what an edited
answer keeps of the recorded one."""

from collections.abc import Callable, Collection
from typing import Never, TypeVar

from playhead.errors import CannotRestore
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_of, objects_at
from playhead.refs.plain import NOT_KEPT

T = TypeVar("T")


def kept_answer(raw: object) -> Json:
    """Returns a recorded answer as a JSON object; an empty object if it is none.

    Raises CannotRestore if the record has only a marker in the place of the answer, which says why it was not kept.
    """
    recorded = object_of(raw)
    reason = recorded.get(NOT_KEPT)
    if isinstance(reason, str):
        raise CannotRestore(f"the model's answer was not kept ({reason}); fork the run before this call")
    return recorded


def recorded_chunks(recorded: JsonMapping) -> list[JsonValue]:
    """Returns the chunks of a recorded stream.  Raises CannotRestore if no stream was recorded."""
    chunks = recorded.get("stream")
    if not isinstance(chunks, list):
        raise CannotRestore("a stream is asked for, and none was recorded")
    return chunks


def first_chunk(chunks: list[Json]) -> Json:
    """Returns the first chunk of a recorded stream; an empty object if there is none."""
    return chunks[0] if chunks else {}


def recorded_metadata(
    recorded: object, without: Collection[str], join: Callable[[list[Json]], Json] = first_chunk
) -> Json:
    """Returns what a recorded answer says about itself (id, model, time), for an answer with another content.

    `without`: the keys that are true of the recorded answer only.  `join` makes one object from the chunks of a stream.
    """
    answer = object_of(recorded)
    chunks = objects_at(answer, "stream")
    if chunks:
        answer = join(chunks)
    return {key: value for key, value in answer.items() if key not in without}


def no_message(*_: object) -> Never:
    """Raises CannotRestore: embeddings have no message that could be edited."""
    raise CannotRestore('an embedding has no message: give the outcome as {"result": ...} or {"error": ...}')


async def as_awaitable(value: T) -> T:
    """Returns the value when awaited, for a method whose result is awaited."""
    return value
