"""`playhead.open_promises`, `approve`, `deny` and `answer`: a person's answers, given from Python."""

from typing import Any, cast

from playhead.api.promises.store import PromiseStore, promise_store
from playhead.api.promises.waiting import answer_of
from playhead.calls import runtime
from playhead.errors import NotFound
from playhead.model import promises as p
from playhead.model.ids import WHOLE_ID
from playhead.wire.operations.promises import Promise


def open_promises() -> list[Promise]:
    """Returns the open promises of the collector and of this machine's journal folder, oldest first.

    Without a collector, only those of the folder. Requests to stop a run are left out.
    """
    return [promise for promise in _store().listed() if promise["kind"] != p.INTERRUPT]


def approve(
    promise: str | Promise | None = None,
    *,
    by: str | None = None,
    reason: str | None = None,
    key: str | None = None,
    action: str | None = None,
    details: object = None,
) -> Promise:
    """Approves an action that a run waits for. Returns the promise with the answer.

    `promise`: one of `open_promises()`, its id, or the beginning of its id. Instead, `key` and `action`, with the same
    `details` as in the program, answer the approval with that key, even before the program asks for it. Raises
    NotFound, and Conflict if the promise already has an answer.
    """
    if promise is None:
        if key is None or action is None:
            raise TypeError("approve() takes a promise, or a key and an action")
        new_promise = unasked(p.approval_id(key, action, details), p.APPROVAL, key=key, action=action, details=details)
        return _store().decide(new_promise["id"], answer_of(p.APPROVED, None, by, reason), new_promise)
    return _decide(promise, p.APPROVED, None, by, reason)


def deny(promise: str | Promise, *, by: str | None = None, reason: str | None = None) -> Promise:
    """Refuses an action that a run waits for: the run gets Denied with the reason. The rest is as in `approve`."""
    return _decide(promise, p.DENIED, None, by, reason)


def answer(
    promise: str | Promise,
    value: object,
    *,
    by: str | None = None,
    reason: str | None = None,
    key: str | None = None,
) -> Promise:
    """Answers a question of a run. With `key`, `promise` is the name of an event: `answer("payment", 20, key="A1")`
    answers all runs that wait for it, even those that wait for it later. The rest is as in `approve`."""
    if key is None:
        return _decide(promise, p.ANSWERED, value, by, reason)
    new_promise = unasked(p.event_id(str(promise), key), p.EVENT, key=key, name=str(promise))
    return _store().decide(new_promise["id"], answer_of(p.ANSWERED, value, by, reason), new_promise)


def _decide(promise: str | Promise, outcome: str, value: object, by: str | None, reason: str | None) -> Promise:
    store = _store()
    promise_id = whole_id(store, promise if isinstance(promise, str) else promise["id"])
    return store.decide(promise_id, answer_of(outcome, value, by, reason))


def _store() -> PromiseStore:
    runtime.recorder()  # set up from the environment, if nothing was configured yet
    return promise_store()


def whole_id(store: PromiseStore, start: str) -> str:
    """Returns the whole id of the promise whose id begins with `start`. Raises NotFound if not exactly one does."""
    if WHOLE_ID.fullmatch(start):
        return start
    ids = store.ids(start)
    if len(ids) == 1:
        return ids.pop()
    how = f"{len(ids)} promises begin" if ids else "no promise begins"
    raise NotFound(f"{how} with {start!r}: see `playhead promises --all`")


def unasked(promise_id: str, kind: str, **fields: object) -> Promise:
    """Makes a promise that no run has asked for yet."""
    empty: dict[str, Any] = dict.fromkeys(("run", "name", "action", "risk", "details", "schema", "deadline", "answer"))
    created = answer_of(p.ANSWERED)["time"]
    return cast(Promise, {**empty, "id": promise_id, "kind": kind, "created": created, **fields})
