"""`playhead.open_promises`, `approve`, `deny` and `answer`: what a person does, from Python."""

import re
from typing import Any, cast

from playhead.api import runtime
from playhead.api.promises.port import PromiseStore, promise_store
from playhead.api.promises.waiting import answer_of
from playhead.errors import NotFound
from playhead.model import promises as p
from playhead.wire.answers.promises import Promise

_WHOLE_ID = re.compile("[0-9a-f]{32}")


def open_promises() -> list[Promise]:
    """What runs wait for, oldest first: of the collector, and of the journal's folder on this machine.

    Without a collector, those of the folder.  Requests to stop a run are not among them.
    """
    return [promise for promise in _store().listed() if promise["kind"] != p.INTERRUPT]


def approve(
    promise: str | Promise | None = None,
    *,
    by: str | None = None,
    reason: str | None = None,
    key: str | None = None,
    action: str | None = None,
    details: Any = None,
) -> Promise:
    """Approves of what a run wants to do; returns the promise with the answer.

    `promise`: one of `open_promises()`, its id, or the beginning of one.  With `key` and `action` instead, and the
    details that the program gives, an approval with that key, also before it is asked for.  Raises NotFound, and
    Conflict if somebody has answered already.
    """
    if promise is None:
        if key is None or action is None:
            raise TypeError("approve() takes a promise, or a key and an action")
        asked = unasked(p.approval_id(key, action, details), p.APPROVAL, key=key, action=action, details=details)
        return _store().decide(asked["id"], answer_of(p.APPROVED, None, by, reason), asked)
    return _decide(promise, p.APPROVED, None, by, reason)


def deny(promise: str | Promise, *, by: str | None = None, reason: str | None = None) -> Promise:
    """Refuses what a run wants to do: it gets Denied with the reason.  The rest is as in `approve`."""
    return _decide(promise, p.DENIED, None, by, reason)


def answer(
    promise: str | Promise,
    value: Any,
    *,
    by: str | None = None,
    reason: str | None = None,
    key: str | None = None,
) -> Promise:
    """Answers a question of a run.  With `key`, `promise` is the name of an event: `answer("payment", 20, key="A1")`
    gives it to all runs that wait for it, also before they do.  The rest is as in `approve`."""
    if key is None:
        return _decide(promise, p.ANSWERED, value, by, reason)
    asked = unasked(p.event_id(str(promise), key), p.EVENT, key=key, name=str(promise))
    return _store().decide(asked["id"], answer_of(p.ANSWERED, value, by, reason), asked)


def _decide(promise: str | Promise, outcome: str, value: Any, by: str | None, reason: str | None) -> Promise:
    store = _store()
    named = whole_id(store, promise if isinstance(promise, str) else promise["id"])
    return store.decide(named, answer_of(outcome, value, by, reason))


def _store() -> PromiseStore:
    runtime.recorder()  # set up from the environment, if nothing was configured yet
    return promise_store()


def whole_id(store: PromiseStore, start: str) -> str:
    """The id that begins so.  Raises NotFound if no promise, or several, have such an id."""
    if _WHOLE_ID.fullmatch(start):
        return start
    found = sorted({promise["id"] for promise in store.listed(answered=True) if promise["id"].startswith(start)})
    if len(found) == 1:
        return found[0]
    how = f"{len(found)} promises begin" if found else "no promise begins"
    raise NotFound(f"{how} with {start!r}: see `playhead promises --all`")


def unasked(promise_id: str, kind: str, **asked: Any) -> Promise:
    """A promise that no run has asked for yet."""
    empty: dict[str, Any] = dict.fromkeys(("run", "name", "action", "risk", "details", "schema", "deadline", "answer"))
    created = answer_of(p.ANSWERED)["time"]
    return cast(Promise, {**empty, "id": promise_id, "kind": kind, "created": created, **asked})
