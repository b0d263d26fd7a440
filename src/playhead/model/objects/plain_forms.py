"""What is said of an object without going into it: its type, its text, what it keeps in its dictionary."""

import re
from typing import Any

from playhead.model.objects.infrastructure import name_of_type
from playhead.model.objects.interrupts import let_through
from playhead.model.objects.masking import Mask

_MAX_REPR = 2_000
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{4,16}\b")  # differs in each process, and says nothing


class_of: Any = type
"""As `type`, for values of which nothing is known: a type checker lets the class be anything."""


def type_name(value: object) -> str:
    """`module.Name` of a value's type."""
    return name_of_type(type(value))


def attributes_of(value: object) -> dict[str, Any]:
    """What an object keeps in its dictionary; empty where it has none.  Its class is not asked."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:  # slots
        return {}


def safe_repr(value: object) -> str:
    """A bounded `repr`; a broken one is called once and described."""
    try:
        text = str.__str__(repr(value))
    except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
        let_through(error)
        return f"<repr raised {type(error).__name__}>"
    return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + f"... ({len(text)} characters)"


def described(value: Any, mask: Mask | None) -> dict[str, str]:
    """The description of what is no JSON and has no fields to show."""
    text = _ADDRESS.sub("", safe_repr(value))
    return {"$repr": mask.text(text) if mask else text, "$type": type_name(value)}
