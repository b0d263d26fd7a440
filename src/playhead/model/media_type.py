"""Checks media types: `type/subtype`, then parameters, as in HTTP."""

import re

MAX_CHARACTERS = 200  # RFC 6838 allows 127 for each half; nothing in use comes near
_SHAPE = re.compile(r"[\w.+-]{1,127}+/[\w.+-]{1,127}+(; ?[\w-]{1,64}+=[\w.-]{1,64}+){0,8}", re.ASCII)


def is_media_type(text: str) -> bool:
    """Whether the text is valid as a Content-Type header of at most 200 characters."""
    return len(text) <= MAX_CHARACTERS and _SHAPE.fullmatch(text) is not None
