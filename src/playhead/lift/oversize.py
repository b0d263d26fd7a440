"""The last step of [lift]: a value that is too long for a span, and that no dialect moved, becomes content,
`<key>_ref`.
"""

from collections.abc import Sequence
from typing import Final, cast

from playhead.lift.extraction import ExtractedContent
from playhead.model.canonical import canonical_json
from playhead.model.json_value import JsonValue
from playhead.model.names import REF_SUFFIX
from playhead.model.span import Attributes

# Longer than values that people search and group by (URLs, SQL statements, header values), shorter than most payloads;
# and twice the size above which Postgres moves a value out of its row.
LIMIT_BYTES: Final = 4 * 1024
_SHORT_CHARS = 500

_SMALL = frozenset({bool, int, float, type(None)})


def is_oversize(value: JsonValue) -> bool:
    """Whether the value takes more than LIMIT_BYTES: text as UTF-8, lists and objects as JSON."""
    if type(cast(object, value)) in _SMALL:
        return False
    if isinstance(value, str):
        size = len(value)
        if size > LIMIT_BYTES or size * 4 <= LIMIT_BYTES or value.isascii():
            return size > LIMIT_BYTES
        return len(value.encode("utf-8", "surrogatepass")) > LIMIT_BYTES
    if isinstance(value, bytes):
        return len(value) > LIMIT_BYTES
    return len(canonical_json(value)) > LIMIT_BYTES


def move_long_values(attributes: Attributes, contents: ExtractedContent) -> Attributes:
    """Returns the attributes with refs in place of values that are too long; the same object if there are none."""
    return move_values(attributes, [key for key, value in attributes.items() if is_oversize(value)], contents)


def move_values(attributes: Attributes, keys: Sequence[str], contents: ExtractedContent) -> Attributes:
    """Returns the attributes with refs in place of the values of `keys`; the same object if there are no keys."""
    if not keys:
        return attributes
    moved = frozenset(keys)
    remaining = {key: value for key, value in attributes.items() if key not in moved}
    for key in keys:
        name = key + REF_SUFFIX
        while name in attributes or name in remaining:  # the name is in use
            name += REF_SUFFIX
        remaining[name] = contents.content(attributes[key])
    return remaining


def excerpt(text: str) -> str:
    """Returns the first 500 characters of a text, with its length."""
    return f"{text[:_SHORT_CHARS]}... ({len(text)} characters)"
