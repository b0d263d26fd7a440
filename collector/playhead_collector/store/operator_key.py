"""The operator's key, which wraps the data keys of encrypted projects: a key of the settings, or a command that asks a
key service.

    wrapped by a key: 1 (1 byte) | fingerprint of the key (8) | encrypted data key
    wrapped by a command: 2 (1 byte) | what the command printed, decoded from base64
"""

import asyncio
import base64
import binascii
import shlex
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Protocol

from playhead_collector.errors import CannotDecrypt, WrongEncryptionKey
from playhead_collector.store.packing.cipher import KEY_BYTES, Cipher

_BY_KEY, _BY_COMMAND = b"\x01", b"\x02"
_FINGERPRINT_BYTES = 8
_PURPOSE: Final = "data_key"
# A key service in another region answers within a second; a hanging one must not hold up the start for ever.
COMMAND_SECONDS = 30.0


class OperatorKey(Protocol):
    """Wraps and unwraps data keys. Both methods raise WrongEncryptionKey."""

    is_here: bool
    """Whether unwrapping takes microseconds, and not the answer of another service."""

    async def wrap(self, key: bytes) -> bytes:
        """Returns the wrapped form of a data key, to be stored."""
        ...

    async def unwrap(self, wrapped: bytes) -> bytes:
        """Returns the data key that was wrapped."""
        ...


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where the operator's key comes from: base64 of 32 bytes, or a command; neither: there is none."""

    key: str | None = field(default=None, repr=False)
    command: str | None = None

    def open(self) -> OperatorKey | None:
        """Returns the key; None: there is none. Raises EncryptionMissing, ValueError for what is no key."""
        if self.key is not None:
            return LocalKey(key_in(self.key))
        return None if self.command is None else KeyCommand(self.command)


def key_in(text: str) -> bytes:
    """Reads a key. Raises ValueError if the text is not base64 of 32 bytes."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except binascii.Error as error:
        raise ValueError("the key is not base64") from error
    if len(key) != KEY_BYTES:
        raise ValueError(f"the key has {len(key)} bytes, not {KEY_BYTES}")
    return key


class LocalKey:
    """A key that this process has."""

    is_here = True

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(key, 0)
        self._fingerprint = sha256(b"playhead operator key " + key).digest()[:_FINGERPRINT_BYTES]

    async def wrap(self, key: bytes) -> bytes:
        return _BY_KEY + self._fingerprint + self._cipher.encrypt(key, _PURPOSE)

    async def unwrap(self, wrapped: bytes) -> bytes:
        if wrapped[:1] == _BY_COMMAND:
            raise WrongEncryptionKey("it was wrapped by a command: set PLAYHEAD_ENCRYPTION_COMMAND")
        fingerprint = wrapped[1 : 1 + _FINGERPRINT_BYTES]
        if wrapped[:1] != _BY_KEY or fingerprint != self._fingerprint:
            raise WrongEncryptionKey(
                f"it was wrapped by the key {fingerprint.hex()}, and PLAYHEAD_ENCRYPTION_KEY is "
                f"{self._fingerprint.hex()}: set the right one (these are digests of the keys)"
            )
        try:
            return self._cipher.decrypt(wrapped[1 + _FINGERPRINT_BYTES :], _PURPOSE)
        except CannotDecrypt as error:
            raise WrongEncryptionKey("it is damaged: restore the table project_key from a backup") from error


class KeyCommand:
    """A command that wraps and unwraps, called with `wrap` or `unwrap` as its last argument. It gets base64 on stdin
    and prints base64."""

    is_here = False

    def __init__(self, command: str, seconds: float = COMMAND_SECONDS) -> None:
        self._command, self._seconds = shlex.split(command), seconds

    async def wrap(self, key: bytes) -> bytes:
        return _BY_COMMAND + await self._ask("wrap", key)

    async def unwrap(self, wrapped: bytes) -> bytes:
        if wrapped[:1] != _BY_COMMAND:
            raise WrongEncryptionKey("it was wrapped by a key: set PLAYHEAD_ENCRYPTION_KEY")
        key = await self._ask("unwrap", wrapped[1:])
        if len(key) != KEY_BYTES:
            raise WrongEncryptionKey(f"PLAYHEAD_ENCRYPTION_COMMAND printed {len(key)} bytes, not {KEY_BYTES}")
        return key

    async def _ask(self, what: str, data: bytes) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, what, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
        except (OSError, ValueError) as error:
            raise WrongEncryptionKey(f"PLAYHEAD_ENCRYPTION_COMMAND cannot be started ({error})") from error
        try:
            async with asyncio.timeout(self._seconds):
                printed, _ = await process.communicate(base64.b64encode(data) + b"\n")
        except TimeoutError:
            raise WrongEncryptionKey(
                f"PLAYHEAD_ENCRYPTION_COMMAND {what} did not end within {self._seconds:g} s"
            ) from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            raise WrongEncryptionKey(f"PLAYHEAD_ENCRYPTION_COMMAND {what} ended with {process.returncode}: see the log")
        try:
            return base64.b64decode(printed.strip(), validate=True)
        except binascii.Error as error:
            raise WrongEncryptionKey(f"PLAYHEAD_ENCRYPTION_COMMAND {what} printed no base64") from error
