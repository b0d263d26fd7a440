"""[store]: encrypts and decrypts what is stored of one project.  Pure.

Bodies and texts are encrypted with AES-256-GCM and random nonces, so that equal ones look different. Texts that are
looked up (tags, ids of conversations) become tokens: AES-SIV, with which equal texts of a project give equal tokens.
Each purpose has a key of its own, derived from the project's data key with HKDF. The purpose and the project's number
are authenticated: what was encrypted for one place cannot be read in another.

    encrypted body: version (1 byte) | nonce (12) | ciphertext and tag (16 longer than the plain bytes)

A nonce is random, so that about 2^32 bodies may be encrypted for one purpose of a project.
"""

import base64
import os
from typing import Any

from playhead_collector.errors import CannotDecrypt, EncryptionMissing

KEY_BYTES = 32
_NONCE_BYTES, _TAG_BYTES = 12, 16
_VERSION = b"\x01"
OVERHEAD_BYTES = len(_VERSION) + _NONCE_BYTES + _TAG_BYTES
"""So much longer is an encrypted body than the plain one."""


class Cipher:
    """Encrypts and decrypts for one project. Threads may share it."""

    def __init__(self, key: bytes, project_id: int) -> None:
        """`key`: the project's data key, KEY_BYTES long. Raises EncryptionMissing."""
        self._key, self._project_id = key, project_id
        self._library = _Library()
        self._by_purpose: dict[tuple[str, str], Any] = {}

    def encrypt(self, data: bytes, purpose: str) -> bytes:
        """Returns the encrypted data; other bytes each time."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._gcm(purpose).encrypt(nonce, data, self._place(purpose))

    def decrypt(self, body: bytes, purpose: str) -> bytes:
        """Returns what `encrypt` was given. Raises CannotDecrypt for anything else."""
        if body[:1] != _VERSION or len(body) < OVERHEAD_BYTES:
            raise _cannot(purpose)
        nonce, encrypted = body[1 : 1 + _NONCE_BYTES], body[1 + _NONCE_BYTES :]
        try:
            return self._gcm(purpose).decrypt(nonce, encrypted, self._place(purpose))
        except self._library.InvalidTag:
            raise _cannot(purpose) from None

    def encrypt_text(self, text: str, purpose: str) -> str:
        """Returns the encrypted text as ASCII; another one each time."""
        return _ascii(self.encrypt(text.encode("utf-8", "surrogatepass"), purpose))

    def decrypt_text(self, text: str, purpose: str) -> str:
        """Returns what `encrypt_text` was given. Raises CannotDecrypt for anything else."""
        return self.decrypt(_bytes(text, purpose), purpose).decode("utf-8", "surrogatepass")

    def token(self, text: str, purpose: str) -> str:
        """Returns the token of a text as ASCII: always the same one. The empty text stays empty."""
        if not text:
            return ""
        return _ascii(self._siv(purpose).encrypt(text.encode("utf-8", "surrogatepass"), [self._place(purpose)]))

    def text_of(self, token: str, purpose: str) -> str:
        """Returns the text of a token. Raises CannotDecrypt for anything else."""
        if not token:
            return ""
        data = _bytes(token, purpose)
        try:
            return self._siv(purpose).decrypt(data, [self._place(purpose)]).decode("utf-8", "surrogatepass")
        except (self._library.InvalidTag, ValueError):
            raise _cannot(purpose) from None

    def _gcm(self, purpose: str) -> Any:
        if (found := self._by_purpose.get(("gcm", purpose))) is None:
            found = self._library.AESGCM(self._derived("gcm", purpose, KEY_BYTES))
            self._by_purpose["gcm", purpose] = found
        return found

    def _siv(self, purpose: str) -> Any:
        if (found := self._by_purpose.get(("siv", purpose))) is None:
            found = self._library.AESSIV(self._derived("siv", purpose, 2 * KEY_BYTES))
            self._by_purpose["siv", purpose] = found
        return found

    def _derived(self, algorithm: str, purpose: str, length: int) -> bytes:
        return self._library.derive(self._key, f"playhead/{algorithm}/{purpose}".encode(), length)

    def _place(self, purpose: str) -> bytes:
        return f"{self._project_id}/{purpose}".encode()


class _Library:
    """The parts of `cryptography` that are needed: an extra, which most collectors run without."""

    def __init__(self) -> None:
        try:
            from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - see above
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV  # noqa: PLC0415 - see above
            from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - see above
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 - see above
        except ImportError as error:
            raise EncryptionMissing(
                "encryption needs the package cryptography: install playhead with its extra `encryption`"
            ) from error
        self.InvalidTag, self.AESGCM, self.AESSIV = InvalidTag, AESGCM, AESSIV
        self._hkdf, self._sha256 = HKDF, SHA256

    def derive(self, key: bytes, info: bytes, length: int) -> bytes:
        """Returns a key that is derived from `key` for what `info` says."""
        return self._hkdf(algorithm=self._sha256(), length=length, salt=None, info=info).derive(key)


def _cannot(purpose: str) -> CannotDecrypt:
    return CannotDecrypt(
        f"a stored {purpose.replace('_', ' ')} cannot be decrypted: it was changed in the database, or is of another "
        "project; restore it from a backup"
    )


def _ascii(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _bytes(text: str, purpose: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise _cannot(purpose) from None
