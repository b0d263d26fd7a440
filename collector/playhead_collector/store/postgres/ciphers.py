"""[store]: the data keys of encrypted projects: made, unwrapped once by each process, wrapped anew, and destroyed."""

import os
from collections.abc import Collection, Iterable

from playhead_collector.errors import CannotDecrypt, KeyDestroyed, WrongEncryptionKey
from playhead_collector.store.operator_key import OperatorKey
from playhead_collector.store.packing.cipher import KEY_BYTES, Cipher
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn


class Ciphers:
    """The ciphers of projects. Whether a project is encrypted never changes, so each is looked up once."""

    def __init__(self, operator_key: OperatorKey | None) -> None:
        self._operator_key = operator_key
        self._known: dict[int, Cipher | None] = {}

    async def of(self, conn: Conn, project_id: int) -> Cipher | None:
        """Returns the cipher of a project; None: it is not encrypted. Raises KeyDestroyed, WrongEncryptionKey."""
        if project_id not in self._known:
            row = await sql.row(conn, "project_key", project_id=project_id)
            if row is None:
                return None  # it is gone
            if not row["encrypted"]:
                self._known[project_id] = None
            elif row["wrapped_key"] is None:
                raise KeyDestroyed
            else:
                self._known[project_id] = await self._unwrapped(row["name"], project_id, row["wrapped_key"])
        return self._known[project_id]

    async def check(self, conn: Conn) -> None:
        """Unwraps the keys of all projects; with a key that is asked for elsewhere, only the first one. Raises
        WrongEncryptionKey."""
        rows = await sql.rows(conn, "project_keys")
        for row in rows if self._operator_key is None or self._operator_key.is_here else rows[:1]:
            self._known[row["project_id"]] = await self._unwrapped(row["name"], row["project_id"], row["wrapped_key"])

    async def new_key(self) -> bytes:
        """Returns the wrapped key of a new project. Raises WrongEncryptionKey if there is no operator's key, or it does
        not work; EncryptionMissing."""
        if self._operator_key is None:
            raise WrongEncryptionKey("there is no operator's key: set PLAYHEAD_ENCRYPTION_KEY for the collector")
        key = os.urandom(KEY_BYTES)
        Cipher(key, 0)  # raises EncryptionMissing before anything is stored
        wrapped = await self._operator_key.wrap(key)
        if await self._operator_key.unwrap(wrapped) != key:
            raise WrongEncryptionKey("PLAYHEAD_ENCRYPTION_COMMAND does not unwrap what it has wrapped: correct it")
        return wrapped

    def forget(self, project_ids: Iterable[int]) -> None:
        """Drops the keys of these projects."""
        for project_id in project_ids:
            self._known.pop(project_id, None)

    def keep_only(self, project_ids: Collection[int]) -> None:
        """Drops the keys of all projects but these."""
        self.forget([number for number, cipher in self._known.items() if cipher and number not in project_ids])

    async def _unwrapped(self, name: str, project_id: int, wrapped: bytes) -> Cipher:
        if self._operator_key is None:
            raise WrongEncryptionKey(
                f"the project {name!r} is encrypted, and there is no operator's key: set PLAYHEAD_ENCRYPTION_KEY, "
                "PLAYHEAD_ENCRYPTION_KEY_FILE or PLAYHEAD_ENCRYPTION_COMMAND"
            )
        try:
            return Cipher(await self._operator_key.unwrap(wrapped), project_id)
        except (WrongEncryptionKey, CannotDecrypt) as error:
            raise WrongEncryptionKey(f"the key of the project {name!r} cannot be unwrapped: {error}") from error


async def rewrap(conn: Conn, old: OperatorKey, new: OperatorKey) -> int:
    """Wraps the keys of all projects with another operator's key; returns how many. Raises WrongEncryptionKey."""
    rows = await sql.rows(conn, "project_keys_to_rewrap")
    for row in rows:
        key = await old.unwrap(row["wrapped_key"])
        wrapped = await new.wrap(key)
        if await new.unwrap(wrapped) != key:
            raise WrongEncryptionKey("the new key does not unwrap what it has wrapped: nothing was changed")
        await sql.run(conn, "write_project_key", project_id=row["project_id"], wrapped_key=wrapped)
    return len(rows)
