"""Handlers of promises: open, list, and answer (once) what runs wait for."""

import re
from typing import Literal

from playhead.model.promises import ANSWERED, APPROVED, DENIED, EXPIRED
from playhead.model.times import rfc3339
from playhead.wire.operations.page import Page
from playhead.wire.operations.promises import Kind, Promise, PromiseOperations
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.read.promises import promise_answer
from playhead_collector.store.ports.promises import StoredPromise

_CURSOR = re.compile(r"(\d{1,19})-([0-9a-f]{32})")


@handles_with_store(PromiseOperations.promises)
async def promises(
    asking: Changing,
    *,
    state: Literal["open", "answered", "all"] = "open",
    kind: Kind | None = None,
    run: str | None = None,
    limit: int | None = None,
) -> Page[Promise]:
    is_open = None if state == "all" else state == "open"
    size = asking.page(limit)
    rows = await asking.store.promises.page(
        asking.project_id, kind=kind, run=run, is_open=is_open, after=_after(asking.cursor), limit=size + 1
    )
    items, last = rows[:size], rows[size - 1] if len(rows) > size else None
    return {
        "items": [promise_answer(promise) for promise in items],
        "next_cursor": None if last is None else f"{last.created_ns}-{last.id}",
    }


@handles_with_store(PromiseOperations.promise)
async def promise(asking: Changing, promise: str) -> Promise:
    return promise_answer(await _known(asking, promise))


@changes(PromiseOperations.open_promise)
async def open_promise(
    asking: Changing,
    id: str,  # noqa: A002 - the name in the body
    kind: Kind,
    key: str,
    run: str | None = None,
    name: str | None = None,
    action: str | None = None,
    risk: str | None = None,
    details: object = None,
    expected: object = None,
    seconds: float | None = None,
) -> Promise:
    said = {"name": name, "action": action, "risk": risk, "details": details, "schema": expected}
    body = {"key": key, **dict(zip(said, await asking.masked([*said.values()]), strict=True))}
    return promise_answer(await asking.store.promises.open(asking.project_id, id, kind, run, body, seconds))


@changes(PromiseOperations.answer_promise)
async def answer_promise(
    asking: Changing,
    promise: str,
    outcome: Literal["approved", "denied", "answered"],
    *,
    value: object = None,
    by: str | None = None,
    reason: str | None = None,
) -> Promise:
    stored = await _known(asking, promise)
    if (stored.kind == "approval") != (outcome != ANSWERED):
        expected = "approved or denied" if stored.kind == "approval" else "answered"
        raise Refused(400, "wrong_outcome", f"this is a promise of the kind {stored.kind}: answer it with {expected}")
    value, by_text, why = await asking.masked([value, by, reason])
    answer = {"outcome": outcome, "value": value, "by": by_text, "reason": why}
    if await asking.store.promises.answer(asking.project_id, promise, answer, late=False):
        return promise_answer(await _known(asking, promise))
    raise Refused(409, "answered", _first_answer(await _known(asking, promise)))


@changes(PromiseOperations.expire_promise)
async def expire_promise(asking: Changing, promise: str) -> Promise:
    answer = {"outcome": EXPIRED, "value": None, "by": None, "reason": None}
    await asking.store.promises.answer(asking.project_id, promise, answer, late=True)
    return promise_answer(await _known(asking, promise))


async def _known(asking: Changing, promise: str) -> StoredPromise:
    stored = await asking.store.promises.get(asking.project_id, promise)
    if stored is None:
        raise Refused(404, "no_such_promise", f"no promise has the id {promise}: see `playhead promises`")
    return stored


def _after(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return 0, ""
    match = _CURSOR.fullmatch(cursor)
    if match is None or int(match[1]) >= 2**63:
        raise Refused(400, "bad_cursor", "send the `next_cursor` of the page before as it is")
    return int(match[1]), match[2]


def _first_answer(promise: StoredPromise) -> str:
    answer = promise.answer
    if answer is None or answer["outcome"] == EXPIRED:
        return "nobody waits for this any more: the run will ask again if it needs to"
    how = {APPROVED: "approved", DENIED: "denied"}.get(answer["outcome"], "answered")
    why = f": {answer['reason']}" if answer["reason"] else ""
    when = rfc3339(promise.answered_ns or 0)[:19]
    return f"{answer['by'] or 'somebody'} has {how} it already, at {when} UTC{why}; the first answer counts"
