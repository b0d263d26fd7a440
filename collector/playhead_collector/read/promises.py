"""Promises as answers: what a run waits for, and what it was answered."""

from typing import cast

from playhead.model.times import rfc3339
from playhead.wire.operations.promises import Kind, Promise, PromiseAnswer
from playhead_collector.store.ports.promises import StoredPromise


def promise_answer(promise: StoredPromise) -> Promise:
    """Converts a promise to an answer."""
    answer: PromiseAnswer | None = None
    if promise.answer is not None:
        answer = cast(PromiseAnswer, {**promise.answer, "time": rfc3339(promise.answered_ns or 0)})
    return {
        "id": promise.id,
        "kind": cast(Kind, promise.kind),
        "run": promise.run,
        "key": promise.body["key"],
        "name": promise.body["name"],
        "action": promise.body["action"],
        "risk": promise.body["risk"],
        "details": promise.body["details"],
        "schema": promise.body["schema"],
        "created": rfc3339(promise.created_ns),
        "deadline": None if promise.deadline_ns is None else rfc3339(promise.deadline_ns),
        "answer": answer,
    }
