"""[store]: kinds of contents as numbers, as rows and packs hold them.  Pure."""

import re
from collections.abc import Iterator
from typing import Final

from playhead.model.content_kinds import CONTENT_KINDS, OF_ATTRIBUTE, OTHER, ContentKind, kind_of_part, kind_of_role
from playhead.model.names import REF_SUFFIX
from playhead.model.ref import ContentRef
from playhead_collector.store.packing.roles import role_named

NOT_KNOWN: Final = 0
"""The number of a content whose kind is not known yet: nothing that names it has been looked at."""
# The numbers are stored: add to the kinds, never change their order.
_NUMBERS: Final = {kind: number for number, kind in enumerate(CONTENT_KINDS, 1)}
OTHER_NUMBER: Final = _NUMBERS[OTHER]
# What says little: a name that says more counts, wherever it is.
_VAGUE: Final = frozenset({_NUMBERS["input"], _NUMBERS["output"], NOT_KNOWN})
_OF_NAME: Final = {name.removesuffix(REF_SUFFIX).encode(): _NUMBERS[kind] for name, kind in OF_ATTRIBUTE.items()}
# A ref in JSON, with the name of the attribute that holds it.
_REF = re.compile(rb'(?:"([a-z_.]{1,60})_ref":")?sha256:([0-9a-f]{64})')


def kind_named(number: int) -> ContentKind | None:
    """Returns the kind with this number; None for `NOT_KNOWN`, and for a number of a newer version."""
    return CONTENT_KINDS[number - 1] if 0 < number <= len(CONTENT_KINDS) else None


def kind_number(kind: ContentKind) -> int:
    """Returns the number of a kind."""
    return _NUMBERS[kind]


def kind_in(data: bytes, role: int) -> int:
    """Returns the number of the kind that a content's bytes tell: of a message with a role that is known, and of a
    large part of one. `role`: see `roles.role_in`. Reads only the end of the bytes."""
    kind = kind_of_role(role_named(role)) or kind_of_part(data)
    return NOT_KNOWN if kind is None else _NUMBERS[kind]


def kind_of_stored(kind: int, role: int) -> ContentKind | None:
    """Returns the kind of a stored content from its numbers. Contents of older versions have only the role."""
    return kind_named(kind) or kind_of_role(role_named(role))


def refs_with_kinds(text: bytes) -> Iterator[tuple[ContentRef, int]]:
    """Yields the refs in a JSON text, each as often as it is there, with the number of the kind that its name says."""
    for match in _REF.finditer(text):
        yield ContentRef("sha256:" + match[2].decode()), _OF_NAME.get(match[1], NOT_KNOWN)


def add_kind(kinds: dict[ContentRef, int], ref: ContentRef, kind: int) -> None:
    """Notes the kind of a content, unless it has one that says as much. The first name counts."""
    known = kinds.setdefault(ref, kind)
    if known != kind and known in _VAGUE and (kind not in _VAGUE or known == NOT_KNOWN):
        kinds[ref] = kind
