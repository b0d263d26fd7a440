"""Routes for promises: open, list, and answer (once) what runs wait for."""

import re
from enum import Enum
from typing import Annotated, Any, Literal, cast

from fastapi import Body, Path, Query, Response

from playhead.model.promises import ANSWERED, APPROVED, DENIED, EXPIRED
from playhead.model.times import rfc3339
from playhead.wire import operations
from playhead.wire.operations.promises import Promise, PromiseAnswer
from playhead_collector.errors import Refused
from playhead_collector.serve import routing
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import ApiRoutes, conflict, get, schema
from playhead_collector.store.ports import Store
from playhead_collector.store.ports.promises import StoredPromise

_CURSOR = re.compile(r"(\d{1,19})-([0-9a-f]{32})")
_NO_NUL = r"^[^\x00]*$"
PromiseId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The promise's id: 32 hex digits.")]
Id = Annotated[str, Body(pattern="^[0-9a-f]{32}$", description="32 hex digits that stand for what is asked.")]
Kind = Literal["approval", "input", "event", "interrupt"]
Run = Annotated[str | None, Body(pattern="^[0-9a-f]{32}$", description="The run; null: several runs may wait for it.")]
Key = Annotated[str, Body(max_length=2_000, description="The place in the run, or a key of the program's own.")]
Text = Annotated[str | None, Body(max_length=2_000)]
Seconds = Annotated[float | None, Body(ge=0, le=3_155_760_000, description="How long to wait; null: for ever.")]
By = Annotated[str | None, Body(max_length=200, pattern=_NO_NUL, description="Who answers.")]
Reason = Annotated[str | None, Body(max_length=10_000, description="Why.")]
Outcome = Annotated[
    Literal["approved", "denied", "answered"], Body(description="Of an approval: approved or denied; else: answered.")
]
_FIRST = "It has an answer already, which the message says; or nobody waits any more."


class PromiseRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: Store, project_id: int) -> None:
        self._store, self._project_id = store, project_id

    async def promises(
        self,
        state: Annotated[Literal["open", "answered", "all"], Query(description="Which ones.")] = "open",
        kind: Annotated[Kind | None, Query(description="Only this kind.")] = None,
        run: Annotated[str | None, Query(pattern="^[0-9a-f]{32}$", description="Only those of this run.")] = None,
        limit: routing.Limit = 100,
        cursor: routing.Cursor = None,
    ) -> Response:
        """List what runs wait for, oldest first."""
        is_open = None if state == "all" else state == "open"
        rows = await self._store.promises(
            self._project_id, kind=kind, run=run, is_open=is_open, after=_after(cursor), limit=limit + 1
        )
        items, last = rows[:limit], rows[limit - 1] if len(rows) > limit else None
        page: operations.Page[Promise] = {
            "items": [_shown(promise) for promise in items],
            "next_cursor": None if last is None else f"{last.created_ns}-{last.id}",
        }
        return json_answer(page)

    async def promise(self, promise: PromiseId) -> Response:
        """A promise with its answer; `answer` is null while it is open."""
        return json_answer(_shown(await self._known(promise)))

    async def open_promise(
        self,
        id: Id,  # noqa: A002 - the name in the body
        kind: Annotated[Kind, Body()],
        key: Key,
        run: Run = None,
        name: Text = None,
        action: Text = None,
        risk: Text = None,
        details: Annotated[Any, Body()] = None,
        expected: Annotated[Any, Body(alias="schema", description="JSON Schema of the value that is expected.")] = None,
        seconds: Seconds = None,
    ) -> Response:
        """Open a promise: a run waits for it. Opening it again changes nothing, and returns it with its answer."""
        body = {"key": key, "name": name, "action": action, "risk": risk, "details": details, "schema": expected}
        return json_answer(_shown(await self._store.open_promise(self._project_id, id, kind, run, body, seconds)))

    async def answer_promise(
        self,
        promise: PromiseId,
        outcome: Outcome,
        value: Annotated[Any, Body(description="The answer to a question, or what an event brings.")] = None,
        by: By = None,
        reason: Reason = None,
    ) -> Response:
        """Answer a promise. The first answer counts: 409 for a second one, whose message says what the first was."""
        stored = await self._known(promise)
        if (stored.kind == "approval") != (outcome != ANSWERED):
            expected = "approved or denied" if stored.kind == "approval" else "answered"
            raise Refused(
                400, "wrong_outcome", f"this is a promise of the kind {stored.kind}: answer it with {expected}"
            )
        answer = {"outcome": outcome, "value": value, "by": by, "reason": reason}
        if await self._store.answer_promise(self._project_id, promise, answer, late=False):
            return json_answer(_shown(await self._known(promise)))
        raise Refused(409, "answered", _first_answer(await self._known(promise)))

    async def expire_promise(self, promise: PromiseId) -> Response:
        """Say that nobody waits for this promise any more. If it was answered meanwhile, it keeps that answer."""
        answer = {"outcome": EXPIRED, "value": None, "by": None, "reason": None}
        await self._store.answer_promise(self._project_id, promise, answer, late=True)
        return json_answer(_shown(await self._known(promise)))

    async def _known(self, promise: str) -> StoredPromise:
        stored = await self._store.promise(self._project_id, promise)
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


def _shown(promise: StoredPromise) -> Promise:
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


def _first_answer(promise: StoredPromise) -> str:
    answer = promise.answer
    if answer is None or answer["outcome"] == EXPIRED:
        return "nobody waits for this any more: the run will ask again if it needs to"
    how = {APPROVED: "approved", DENIED: "denied"}.get(answer["outcome"], "answered")
    why = f": {answer['reason']}" if answer["reason"] else ""
    when = rfc3339(promise.answered_ns or 0)[:19]
    return f"{answer['by'] or 'somebody'} has {how} it already, at {when} UTC{why}; the first answer counts"


def add_routes(api: ApiRoutes, store: Store, project_id: int) -> None:
    """Registers the operations of this file."""
    routes, model = PromiseRoutes(store, project_id), schema(Promise)
    get(api, "promises", "/promises", routes.promises, operations.Page[Promise])
    get(api, "promises", "/promises/{promise}", routes.promise, Promise)
    api.post("/promises", tags=["promises"], name="open_promise", response_model=model)(routes.open_promise)
    path, tags = "/promises/{promise}", list[str | Enum](["promises"])
    api.post(path, tags=tags, name="answer_promise", response_model=model, responses=conflict(_FIRST))(
        routes.answer_promise
    )
    api.post(f"{path}/expire", tags=tags, name="expire_promise", response_model=model)(routes.expire_promise)
