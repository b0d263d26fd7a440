"""Describes an object without reading what is in it: its type, its text, its dictionary of attributes."""

import re
from typing import Any

from playhead.model.objects.infrastructure import name_of_type
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.masking import Mask

_MAX_REPR = 2_000
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]{4,16}\b")  # a memory address: differs in each process


class_of: Any = type
"""`type`, for values of unknown types: to a type checker, the class can be anything."""


def type_name(value: object) -> str:
    """`module.Name` of a value's type."""
    return name_of_type(type(value))


def attributes_of(value: object) -> dict[str, Any]:
    """Returns an object's own dictionary of attributes; {} if it has none. Does not call code of its class."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:  # slots
        return {}


def safe_repr(value: object) -> str:
    """Returns a bounded `repr`. A `repr` that raises is called once and described."""
    try:
        text = str.__str__(repr(value))
    except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
        reraise_if_for_program(error)
        return f"<repr raised {type(error).__name__}>"
    return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + f"... ({len(text)} characters)"


def described(value: object, mask: Mask | None) -> dict[str, str]:
    """Returns the description of a value that is not JSON and has no fields to show."""
    text = _ADDRESS.sub("", safe_repr(value))
    return {"$repr": mask.text(text) if mask else text, "$type": type_name(value)}
