"""The private names of LangGraph that we use are where they were."""

from langgraph.checkpoint.serde import types
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from playhead.compat.langgraph import is_snapshot, snapshot_of


def test_a_snapshot_is_made_and_known():
    snapshot = snapshot_of([1])
    assert is_snapshot(snapshot)
    assert not is_snapshot([1])
    assert type(snapshot).__module__ == types.__name__
    assert snapshot.value == [1]
    serde = JsonPlusSerializer()
    assert is_snapshot(serde.loads_typed(serde.dumps_typed(snapshot)))
