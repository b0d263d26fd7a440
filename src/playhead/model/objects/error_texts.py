"""Texts of exceptions and their arguments, in bounded time: Python's own texts include everything that the arguments
hold.
"""

from typing import Any

from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.limits import weigh_inside
from playhead.model.objects.plain_forms import class_of, safe_repr, type_name

# In units of `limits.py`: a larger value would give a text of a hundred thousand characters.
_MOST = 10_000
_SCALARS = frozenset({str, int, bool, float, type(None)})
_PYTHONS_OWN = (BaseException.__str__, KeyError.__str__, OSError.__str__)


def error_text(raised: BaseException, if_broken: str | None = None) -> str:
    """Returns the text of an exception; its `__str__` is called once. Returns a sentence if Python would write out
    arguments that are too large. `if_broken`: returned if `__str__` raises; None: a sentence that says so."""
    kind: Any = type(raised)
    try:
        if kind.__str__ in _PYTHONS_OWN and _is_large(raised.args):
            return "(its arguments are too large to be written out)"
        return str.__str__(str(raised))
    except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
        reraise_if_for_program(error)
        return f"<str raised {type(error).__name__}>" if if_broken is None else if_broken


def argument_text(value: object) -> str:
    """Returns the bounded `repr` of an argument; only its type if it is too large to be written out."""
    return f"<{type_name(value)}, too large to be written out>" if _is_large(value) else safe_repr(value)


def _is_large(value: Any) -> bool:
    if class_of(value) is tuple and _SCALARS.issuperset(map(type, value)):  # as in most exceptions
        return False
    return weigh_inside(value, _MOST, digits=True) > _MOST
