"""Moves what looks like content out of spans and log records that no dialect understood."""

import re

from playhead.lift.attribute_names import ADDED
from playhead.lift.extraction import EXTERNAL, ExtractedContent
from playhead.lift.oversize import is_oversize, move_values
from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.json_value import JsonValue
from playhead.model.span import Attributes

# Under a name for content, a value up to this length is a constant, an id or a flag, by which people filter.
_NAMED_CHARACTERS = 64
_CONTENT_NAME = re.compile(
    "prompt|completion|input|output|message|argument|parameter|result|response|content|query|document", re.IGNORECASE
)

_MESSAGES_JSON = re.compile(r'"(?:role|content|messages)"\s*:')
# Names that semantic conventions define and that never hold messages: statements, addresses, exceptions. Values of more
# than 4 KiB become content anyway.
_DEFINED_NAMES = (
    "code.", "db.query.text", "db.statement", "exception.", "http.request.header.", "http.response.header.",
    "http.target", "http.url", "playhead.", "process.", "url.",
)  # fmt: skip
_REF_SUFFIXES = (names.REF_SUFFIX, names.REF_SUFFIX + EXTERNAL)


def move_unknown_content(attributes: Attributes, contents: ExtractedContent, limit: int) -> Attributes:
    """Returns the attributes with refs in place of values that look like content; the same object if there are none.

    A value counts as content if it is long, if it is JSON of messages, or if its name is a common one for content
    (OpenInference's `input.value`, Vercel's `ai.prompt`). `limit`: texts of more characters are content whatever
    their name.
    """
    return move_values(
        attributes, [key for key, value in attributes.items() if _is_content_like(key, value, limit)], contents
    )


def _is_content_like(key: str, value: JsonValue, limit: int) -> bool:
    if key.startswith(_DEFINED_NAMES) or (key in ADDED and not isinstance(value, dict) and not is_oversize(value)):
        return False
    if isinstance(value, (list, dict)):
        text = canonical_json(value).decode("utf-8", "replace")
    elif isinstance(value, str):
        text = value
    else:
        return False
    if len(text) > limit:
        return True
    if key.endswith(_REF_SUFFIXES):  # the content is elsewhere
        return False
    if len(text) > _NAMED_CHARACTERS and _CONTENT_NAME.search(key):
        return True
    return text.lstrip()[:1] in ("{", "[") and _MESSAGES_JSON.search(text) is not None
