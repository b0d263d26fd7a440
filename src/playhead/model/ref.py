"""Refs: content addresses, which spans and events carry instead of payloads.

A ref is the digest of bytes and, where the bytes are ambiguous, how to read them: the text `5` and the number 5 are the
same bytes.  Without a suffix, bytes are JSON if they look like JSON (`canonical.may_be_json`), else text if they are
UTF-8, else bytes.  Other content has a suffix: `sha256:<hex>:text` or `sha256:<hex>:bytes`.  So the type of a value
depends on the record with the ref, and never on which writer stored equal bytes first.
"""

import re
from typing import TYPE_CHECKING, Any, Self

from playhead.model.digest import sha256

AS_TEXT, AS_BYTES = "text", "bytes"

_SHAPE = re.compile(r"sha256:[0-9a-f]{64}(:text|:bytes)?")
_PLAIN = len("sha256:") + 64


class NotARef(ValueError):
    """The text is not a content ref."""


class ContentRef(str):
    """Content address of bytes: `sha256:` and 64 lower-case hex digits, and a suffix if the bytes are ambiguous.

    Equal values have equal refs.  Equal bytes have an equal `digest`, under which they are stored once.

    It is a `str`, so that it is an OpenTelemetry attribute value, a JSON value and a dictionary key as it stands.
    Make one with `of`, `parse` or `from_digest`, which are the only ways that check.
    """

    __slots__ = ("digest",)
    digest: bytes
    """The digest as 32 bytes, as the database stores it.  May be set when the ref is made; else it is decoded from the
    text at the first use."""

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The ref of these bytes."""
        return cls("sha256:" + sha256(data).hexdigest())

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `str(ref)` back; raises NotARef."""
        if not _SHAPE.fullmatch(text):
            raise NotARef(f"{text[:100]!r} is not a content ref; expected 'sha256:' and 64 lower-case hex digits")
        return cls(text)

    @classmethod
    def from_digest(cls, digest: bytes) -> Self:
        """The ref with this SHA-256 digest, 32 bytes; raises NotARef."""
        if len(digest) != 32:
            raise NotARef(f"a SHA-256 digest has 32 bytes, this has {len(digest)}")
        return cls("sha256:" + digest.hex())

    if not TYPE_CHECKING:  # a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            if name != "digest":
                raise AttributeError(name)
            self.digest = digest = bytes.fromhex(self[7:_PLAIN])
            return digest

    @property
    def plain(self) -> "ContentRef":
        """The ref without its suffix, under which the bytes are stored."""
        return self if len(self) == _PLAIN else ContentRef(self[:_PLAIN])

    @property
    def read_as(self) -> str | None:
        """The suffix, AS_TEXT or AS_BYTES; None: the kind is inferred from the bytes."""
        return None if len(self) == _PLAIN else self[_PLAIN + 1 :]

    def with_reading(self, read_as: str | None) -> "ContentRef":
        """The ref of the same bytes with this suffix; None: without a suffix."""
        return self.plain if read_as is None else ContentRef(f"{self.plain}:{read_as}")


def is_ref(value: object) -> bool:
    """Whether this is the text of a content ref; references to other storage (`gs://...`) are not."""
    return isinstance(value, str) and _SHAPE.fullmatch(value) is not None
