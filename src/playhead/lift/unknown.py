"""Spans and log events that no dialect understood: moves values that look like content out of them.

A value counts as content if it is long, if it is JSON of messages, or if its name is a common one for content
(OpenInference's `input.value`, Vercel's `ai.prompt`).
"""

import re
from typing import Any, Final

from playhead.lift.attribute_names import ADDED
from playhead.lift.found import EXTERNAL, LiftedContent
from playhead.lift.oversize import is_oversize, move
from playhead.model.canonical import canonical_json
from playhead.model.names import REF_SUFFIX
from playhead.model.span import Attributes

# Longer than names, ids and most URLs; shorter than what people and models write to each other.
INLINE_CHARACTERS: Final = 1024
# Under a name for content, a value up to this length is a constant, an id or a flag, by which people filter.
_NAMED_CHARACTERS = 64
_CONTENT_NAME = re.compile(
    "prompt|completion|input|output|message|argument|parameter|result|response|content|query|document", re.IGNORECASE
)
_MESSAGES = re.compile(r'"(?:role|content|messages)"\s*:')
# Names that semantic conventions define and that never hold messages: statements, addresses, exceptions. Values of more
# than 4 KiB become content anyway.
_DEFINED = (
    "code.", "db.query.text", "db.statement", "exception.", "http.request.header.", "http.response.header.",
    "http.target", "http.url", "playhead.", "process.", "url.",
)  # fmt: skip
_REFS = (REF_SUFFIX, REF_SUFFIX + EXTERNAL)


def move_content_like(attributes: Attributes, contents: LiftedContent, limit: int) -> Attributes:
    """Returns the attributes with refs in place of values that look like content; the same object if there are none.

    `limit`: texts of more characters are content whatever their name.
    """
    return move(attributes, [key for key, value in attributes.items() if _is_content_like(key, value, limit)], contents)


def scope_name(scope: str) -> str:
    """The name of a scope for display: at most 100 characters of valid Unicode."""
    return scope[:100].encode("utf-8", "replace").decode() or "(no name)"


def _is_content_like(key: str, value: Any, limit: int) -> bool:
    if key.startswith(_DEFINED) or (key in ADDED and not isinstance(value, dict) and not is_oversize(value)):
        return False
    if isinstance(value, (list, dict)):
        text = canonical_json(value).decode("utf-8", "replace")
    elif isinstance(value, str):
        text = value
    else:
        return False
    if len(text) > limit:
        return True
    if key.endswith(_REFS):  # the content is elsewhere
        return False
    if len(text) > _NAMED_CHARACTERS and _CONTENT_NAME.search(key):
        return True
    return text.lstrip()[:1] in ("{", "[") and _MESSAGES.search(text) is not None
