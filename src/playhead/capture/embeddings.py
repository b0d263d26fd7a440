"""Embeddings of any provider. Inputs and vectors are content, vectors are packed in the record; there are no messages,
no streams and no edits.

A provider says how it reads a request and an answer, where the vectors are, and how it restores an answer.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from playhead.calls.run import ActiveRun
from playhead.capture.client_methods import ClientApi, EndCall, end_with_result
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.restoring import kept_answer, no_message
from playhead.capture.vectors import pack_vector, unpack_vector
from playhead.capture.wrapping import MethodCall
from playhead.errors import CannotRestore
from playhead.model.json_value import Json, JsonValue, objects_at

ChangeVector = Callable[[JsonValue], JsonValue]
WithVectors = Callable[[Json, ChangeVector], Json]
"""Returns an answer with the function applied to each of its vectors."""


def embeddings_api(
    *,
    read_request: Callable[[MethodCall], ObservedRequest],
    dump: Callable[[Any], Json | None],
    attributes: Callable[[Json], Mapping[str, object]],
    with_vectors: WithVectors,
    restore: Callable[[Json, MethodCall, BaseException | None], object],
    end_with_result: EndCall = end_with_result,
    one_shot: Iterable[str] = (),
) -> ClientApi:
    """Returns the API of a client's embeddings.

    `dump` returns the JSON of a result (None: the result is not an answer), `attributes` the attributes of an answer,
    and `restore` the method's result from an answer; see `ClientApi` for `restore`, `end_with_result` and `one_shot`.
    """

    def read_recorded(raw: Json, *_: object) -> ObservedResponse:
        return ObservedResponse([], raw, attributes=attributes(raw))

    def read_response(result: object, _run: ActiveRun, _call: MethodCall) -> ObservedResponse | None:
        raw = dump(result)
        return None if raw is None else read_recorded(with_vectors(raw, pack_vector))

    def restore_unpacked(raw: object, call: MethodCall, ending: BaseException | None) -> object:
        recorded = kept_answer(raw)
        if not isinstance(raw, dict):
            raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
        return restore(with_vectors(recorded, unpack_vector), call, ending)

    return ClientApi(
        read_request=read_request,
        is_streamed=lambda call: False,
        read_response=read_response,
        assemble=lambda chunks, run, call: None,
        read_recorded=read_recorded,
        restore=restore_unpacked,
        with_message=no_message,
        with_edit=lambda call, messages, system: None,
        end_with_result=end_with_result,
        one_shot=tuple(one_shot),
    )


def with_data_vectors(answer: Json, change: ChangeVector) -> Json:
    """`WithVectors` of answers in OpenAI's form, where each item of `data` has an `embedding`."""
    if "data" not in answer:
        return answer
    data = objects_at(answer, "data")
    changed = [{**item, "embedding": change(item["embedding"])} if "embedding" in item else item for item in data]
    return {**answer, "data": [*changed]}
