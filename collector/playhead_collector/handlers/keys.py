"""Handlers of API keys: create, list, revoke."""

import hashlib
import secrets
from collections.abc import Sequence

from playhead.model.times import rfc3339
from playhead.wire.operations.keys import Key, KeyOperations, Keys, NewKey, Revoked
from playhead.wire.operations.operation import ADMIN, Scope
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing, KeyCache
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.store.ports.keys import ApiKey

_MAX_KEYS = 1_000
_FIRST = "make one with the scope admin and without an expiry first, or set PLAYHEAD_ADMIN_KEY for the collector"


@handles_with_store(KeyOperations.keys)
async def keys(asking: Changing) -> Keys:
    return {"items": [_about(key) for key in await asking.store.keys.all(asking.project_id)]}


@changes(KeyOperations.create_key)
async def create_key(
    asking: Changing, name: str, scopes: Sequence[Scope], *, expires_seconds: float | None = None
) -> NewKey:
    cache = _cache(asking)
    held = await asking.store.keys.all(asking.project_id)
    if len(held) >= _MAX_KEYS:
        raise Refused(409, "too_many_keys", f"there are {len(held)} keys: revoke some before making another")
    is_lasting = ADMIN in scopes and expires_seconds is None
    if cache.master is None and not is_lasting and not any(map(_is_lasting, held)):
        when = "when it has expired" if ADMIN in scopes else "any more"
        raise Refused(409, "no_admin_key", f"nobody could make or revoke keys {when}: {_FIRST}")
    key = f"ph_{secrets.token_urlsafe(32)}"
    digest = hashlib.sha256(key.encode()).digest()
    wanted = sorted(set(scopes))
    made = await asking.store.keys.add(asking.project_id, name, key[:9], digest, wanted, expires_seconds)
    cache.forget()
    return {"key": key, "about": _about(made)}


@changes(KeyOperations.revoke_key)
async def revoke_key(asking: Changing, number: int) -> Revoked:
    cache = _cache(asking)

    def check(key: ApiKey, others: Sequence[ApiKey]) -> None:
        _check_revocation(cache, key, others)

    revoked = await asking.store.keys.remove(asking.project_id, number, check)
    cache.forget()
    if not revoked:
        raise Refused(404, "no_such_key", f"there is no key {number}: `playhead keys list` shows those there are")
    return {"revoked": revoked}


def _cache(asking: Changing) -> KeyCache:
    cache = asking.services.keys
    assert cache is not None  # noqa: S101 - whoever serves has one
    return cache


def _check_revocation(cache: KeyCache, key: ApiKey, others: Sequence[ApiKey]) -> None:
    """Raises Refused (409) if `key` has the scope `admin` and no such key without an expiry would be left: then nobody
    could create keys, or, without any key, everybody could."""
    if cache.master is not None or ADMIN not in key.scopes or not key.is_valid(cache.wall_ns()):
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
