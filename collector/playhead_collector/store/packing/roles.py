"""[store]: roles of messages as numbers, as rows of contents and of thread nodes hold them.  Pure."""

import re

# The numbers are stored in rows: add to these, never change them.
_ROLES = {1: "system", 2: "user", 3: "assistant", 4: "tool", 5: "developer", 6: "function", 7: "model"}
_ROLE_NUMBERS = {name: number for number, name in _ROLES.items()}
# Keys are sorted in canonical JSON, so a message's role comes last.
_ROLE_AT_END = re.compile(rb'"role":"([a-z]{1,20})"}\Z')
_MAX_ROLE_LENGTH = 40


def role_named(number: int | None) -> str | None:
    """Returns the role with this number; None when the content is not a message, or is not stored."""
    return _ROLES.get(number or 0)


def role_number(role: str | None) -> int:
    """Returns the number of a role; 0 for None, and for a role that has no number."""
    return _ROLE_NUMBERS.get(role or "", 0)


def role_in(message: bytes) -> int:
    """Returns the number of a message's role; 0 for a content that is not a message, and for a role that has no
    number."""
    role = _ROLE_AT_END.search(message[-_MAX_ROLE_LENGTH:])
    return _ROLE_NUMBERS.get(role[1].decode(), 0) if role and b'"parts":[' in message else 0
