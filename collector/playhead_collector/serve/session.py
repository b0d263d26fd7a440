"""Routes of the web UI's session: who is asking, sign in with a key, sign out."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Body, Request, Response

from playhead.wire.operations.keys import Session
from playhead_collector.errors import Refused
from playhead_collector.serve.access_control import holder_in
from playhead_collector.serve.keyring import COOKIE, SCOPES, SESSION_SECONDS, KeyHolder, Keyring, make_token
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import ApiRoutes, Responses, first_refusal, schema

_KEY = "An API key with the scope `read` or `admin`."
Key = Annotated[str, Body(embed=True, min_length=1, max_length=500, description=_KEY)]


class SignIn:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    async def session(self, request: Request) -> Response:
        """Say whether this collector needs a key, and what the sender may do. Needs no key."""
        if not await self._keyring.locked():
            return json_answer(_session(needs_key=False, scopes=SCOPES))
        holder = await holder_in(self._keyring, request.headers)
        return json_answer(_session_of(holder))

    async def sign_in(self, request: Request, key: Key) -> Response:
        """Begin a session with a cookie that stands for a key for 12 hours. Scripts cannot read the cookie."""
        holder = await self._keyring.holder_of([key.encode()])
        if holder is None or not await self._keyring.locked():
            raise Refused(401, "unauthorized", "no such key: `playhead keys list` shows the keys that there are")
        expires = self._keyring.wall_ns() // 10**9 + SESSION_SECONDS
        token = make_token(*self._keyring.signing_key(key.encode()), expires)
        answer = json_answer(_session_of(holder))
        answer.set_cookie(COOKIE, token, max_age=SESSION_SECONDS, **_flags(request))
        return answer

    async def sign_out(self, request: Request) -> Response:
        """End the session of this browser: deletes its cookie."""
        answer = json_answer(_session(needs_key=await self._keyring.locked(), scopes=()))
        answer.delete_cookie(COOKIE, **_flags(request))
        return answer


def _session_of(holder: KeyHolder | None) -> Session:
    if holder is None:
        return _session(needs_key=True, scopes=())
    return {**_session(needs_key=True, scopes=holder.scopes), "is_operator": holder.is_operator}


def _session(*, needs_key: bool, scopes: Iterable[str]) -> Session:
    return {"needs_key": needs_key, "scopes": sorted(scopes), "is_operator": False}


def _flags(request: Request) -> dict[str, Any]:
    return {"httponly": True, "samesite": "strict", "secure": request.url.scheme == "https", "path": "/"}


def add_routes(api: ApiRoutes, keyring: Keyring) -> None:
    """Registers the operations of this file, which need no key."""
    handlers, answer, path = SignIn(keyring), schema(Session), "/session"
    refused: Responses = {401: first_refusal("There is no such key.")}
    for method, handler, summary, more in (
        ("GET", handlers.session, "Say whether this collector needs a key, and what the sender may do", None),
        ("POST", handlers.sign_in, "Begin a session with a cookie that stands for a key for 12 hours", refused),
        ("DELETE", handlers.sign_out, "End the session of this browser: deletes its cookie", None),
    ):
        api.add(path, handler, methods=[method], tags=["keys"], summary=summary, response_model=answer, responses=more)
