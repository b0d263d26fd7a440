"""Routes that create, list and revoke API keys. They need the scope `admin`."""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Body, Path, Response

from playhead.model.times import rfc3339
from playhead.wire.operations.keys import Key, Keys, NewKey, Revoked
from playhead_collector.errors import Refused
from playhead_collector.serve.keyring import ADMIN, Keyring
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import ApiRoutes, conflict, get, schema
from playhead_collector.store.ports.keys import ApiKey, KeyStore

_MAX_KEYS = 1_000
_FIRST = "make one with the scope admin and without an expiry first, or set PLAYHEAD_API_KEY for the collector"
_TEN_YEARS = 10 * 366 * 86_400
Name = Annotated[
    str, Body(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$", description="Name of the key, for people.")
]
Scopes = Annotated[
    list[Literal["ingest", "read", "admin"]],
    Body(min_length=1, max_length=3, description="ingest: send spans, content; read: query; admin: keys, deletion."),
]
Seconds = Annotated[float | None, Body(gt=0, le=_TEN_YEARS, description="Expires after so many seconds; null: never.")]
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="The `id` of a key.")]


class KeyRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: KeyStore, project_id: int, keyring: Keyring) -> None:
        self._store, self._project_id, self._keyring = store, project_id, keyring

    async def keys(self) -> Response:
        """List all keys, including expired ones. Of the key itself, only the first characters are shown."""
        answer: Keys = {"items": [_about(key) for key in await self._store.keys(self._project_id)]}
        return json_answer(answer)

    async def create_key(self, name: Name, scopes: Scopes, expires_seconds: Seconds = None) -> Response:
        """Create a key. Only this answer contains it; the collector stores a hash.

        As soon as there is a key, every request needs one. So the first key must have the scope `admin` and never
        expire, unless PLAYHEAD_API_KEY is set.
        """
        held = await self._store.keys(self._project_id)
        if len(held) >= _MAX_KEYS:
            raise Refused(409, "too_many_keys", f"there are {len(held)} keys: revoke some before making another")
        is_lasting = ADMIN in scopes and expires_seconds is None
        if self._keyring.master is None and not is_lasting and not any(map(_is_lasting, held)):
            when = "when it has expired" if ADMIN in scopes else "any more"
            raise Refused(409, "no_admin_key", f"nobody could make or revoke keys {when}: {_FIRST}")
        key = f"ph_{secrets.token_urlsafe(32)}"
        digest = hashlib.sha256(key.encode()).digest()
        wanted = sorted(set(scopes))
        made = await self._store.add_key(self._project_id, name, key[:9], digest, wanted, expires_seconds)
        self._keyring.forget()
        answer: NewKey = {"key": key, "about": _about(made)}
        return json_answer(answer)

    async def revoke_key(self, number: Number) -> Response:
        """Revoke a key. This collector refuses it at once, others on the same database within seconds.

        The last key with the scope `admin` that does not expire can be revoked only while PLAYHEAD_API_KEY is set.
        """
        answer: Revoked = {"revoked": await self._store.remove_key(self._project_id, number, self._check_revocation)}
        self._keyring.forget()
        if not answer["revoked"]:
            raise Refused(404, "no_such_key", f"there is no key {number}: `playhead keys list` shows those there are")
        return json_answer(answer)

    def _check_revocation(self, key: ApiKey, others: Sequence[ApiKey]) -> None:
        """Raises Refused (409) if `key` has the scope `admin` and no such key without an expiry would be left: then
        nobody could create keys, or, without any key, everybody could."""
        if self._keyring.master is not None or ADMIN not in key.scopes or not key.is_valid(self._keyring.wall_ns()):
            return
        if not any(map(_is_lasting, others)):
            raise Refused(409, "last_admin_key", f"key {key.number} is the last with the scope admin: {_FIRST}")


def _is_lasting(key: ApiKey) -> bool:
    return ADMIN in key.scopes and key.expires_ns is None


def _about(key: ApiKey) -> Key:
    return {
        "id": key.number,
        "name": key.name,
        "prefix": key.prefix,
        "scopes": list(key.scopes),
        "created": rfc3339(key.created_ns),
        "expires": None if key.expires_ns is None else rfc3339(key.expires_ns),
        "last_used": None if key.last_used_ns is None else rfc3339(key.last_used_ns),
    }


_NO_ADMIN = "No key that lasts would have the scope `admin`, or there are too many keys."
_LAST_ADMIN = "It is the last key that lasts and has the scope `admin`."


def add_routes(api: ApiRoutes, store: KeyStore, project_id: int, keyring: Keyring) -> None:
    """Registers the operations of this file."""
    routes = KeyRoutes(store, project_id, keyring)
    get(api, "keys", "/keys", routes.keys, Keys)
    new, refused = schema(NewKey), conflict(_NO_ADMIN)
    api.post("/keys", tags=["keys"], name="create_key", response_model=new, responses=refused)(routes.create_key)
    revoked, refused = schema(Revoked), conflict(_LAST_ADMIN)
    api.delete("/keys/{number}", tags=["keys"], name="revoke_key", response_model=revoked, responses=refused)(
        routes.revoke_key
    )
