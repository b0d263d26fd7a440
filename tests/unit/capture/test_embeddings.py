"""What the embeddings of all clients have in common."""

from typing import Any

import pytest

from playhead.capture.embeddings import embeddings_api, with_data_vectors
from playhead.capture.model_call import ObservedRequest
from playhead.capture.vectors import pack_vector
from playhead.capture.wrapping import MethodCall
from playhead.errors import CannotRestore

CALL = MethodCall(None, "create", (), {})
ANSWER = {"data": [{"embedding": [0.5, 1.0], "index": 0}, {"index": 1}], "model": "m"}
PACKED = {"data": [{"embedding": pack_vector([0.5, 1.0]), "index": 0}, {"index": 1}], "model": "m"}
API = embeddings_api(
    read_request=lambda call: ObservedRequest.of_embeddings("p", "m", "text", settings={}),
    dump=lambda result: result if isinstance(result, dict) else None,
    attributes=lambda raw: {"model": raw["model"]},
    with_vectors=with_data_vectors,
    restore=lambda raw, call, ending: raw,
)
RUN: Any = None


def test_vectors_are_packed_in_the_record_and_unpacked_for_the_program():
    response = API.read_response(ANSWER, RUN, CALL)

    assert response is not None
    assert response.raw == PACKED != ANSWER
    assert response.attributes == {"model": "m"}
    assert API.restore(response.raw, CALL, None) == ANSWER
    assert API.read_response("no answer", RUN, CALL) is None


def test_what_is_no_answer_cannot_be_restored():
    for raw in ({"$playhead": "too large"}, None, "text"):
        with pytest.raises(CannotRestore):
            API.restore(raw, CALL, None)


def test_embeddings_have_no_message():
    with pytest.raises(CannotRestore, match="an embedding has no message"):
        API.with_message(PACKED, "text", CALL)
