"""Media types: what may be said to be one.  `type/subtype`, then parameters, as HTTP writes them."""

import re

MAX_CHARACTERS = 200  # RFC 6838 allows 127 for each half; nothing in use comes near
_SHAPE = re.compile(r"[\w.+-]{1,127}+/[\w.+-]{1,127}+(; ?[\w-]{1,64}+=[\w.-]{1,64}+){0,8}", re.ASCII)


def is_media_type(text: str) -> bool:
    """Whether this can stand in a Content-Type header, and is of a length that one has."""
    return len(text) <= MAX_CHARACTERS and _SHAPE.fullmatch(text) is not None
