"""Refs: the names of content.  A leaf of the vocabulary; what would carry a payload carries one of these instead."""

import hashlib
import re
from typing import Self

_SHAPE = re.compile(r"sha256:[0-9a-f]{64}")


class NotARef(ValueError):
    """The text is not a content ref."""


class ContentRef(str):
    """Names some bytes by what they are: `sha256:` and 64 lower-case hex digits.  Equal bytes, equal ref.

    It is a `str`, so that it is an OpenTelemetry attribute value, a JSON value and a dictionary key as it stands.
    Make one with `of`, `parse` or `from_digest`, which are the only ways that check.
    """

    __slots__ = ()

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The ref of these bytes."""
        return cls("sha256:" + hashlib.sha256(data).hexdigest())

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

    @property
    def digest(self) -> bytes:
        """The 32 bytes that the database keeps."""
        return bytes.fromhex(self[7:])


def is_ref(value: object) -> bool:
    """Whether this is the text of a ref of ours; refs of others (`gs://...`) are not."""
    return isinstance(value, str) and _SHAPE.fullmatch(value) is not None
