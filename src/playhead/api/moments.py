"""`datetime.now` and `datetime.utcnow`, for runs whose clock is recorded (see `values`).

They are part of a C type, which refuses new attributes; the dictionary in which CPython keeps what the type has is
reached the way the garbage collector reaches it.  That is done when the first run asks for its clock, is looked at
right after, and undone if it did not take: then only `playhead.now` is recorded, and a warning says so.
"""

import functools
import gc
import sys
from collections.abc import Callable
from datetime import datetime
from types import FrameType
from typing import Any, TypeVar

_NAMES = ("now", "utcnow")
_FOLDED = "*"

S = TypeVar("S")


def patch(reader: Callable[[FrameType], S | None], read: Callable[[S, str, Callable[[], str]], Any]) -> bool:
    """`reader` says for whom the calling frame reads, if it is recorded; `read` gives the recorded text, or keeps a new
    one.  False: it cannot be done here."""
    if all(_put(name, classmethod(_reading(name, _REAL[name], reader, read))) for name in _NAMES):
        return True
    unpatch()
    return False


def unpatch() -> None:
    """As Python has them."""
    for name, real in _REAL.items():
        if datetime.__dict__[name] is not real:
            _put(name, real)


_REAL: dict[str, Any] = {name: datetime.__dict__[name] for name in _NAMES}


def _put(name: str, method: Any) -> bool:
    try:
        import ctypes  # noqa: PLC0415 - some builds of Python have none

        [table] = gc.get_referents(datetime.__dict__)
        if type(table) is not dict or table[name] is not datetime.__dict__[name]:
            return False
        table[name] = method
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime))
    except Exception:  # noqa: BLE001 - another implementation of Python
        return False
    return datetime.__dict__[name] is method


def _reading(
    name: str,
    real: Any,
    reader: Callable[[FrameType], S | None],
    read: Callable[[S, str, Callable[[], str]], Any],
) -> Callable[..., datetime]:
    @functools.wraps(getattr(datetime, name))
    def moment(cls: type[datetime], *args: Any, **kwargs: Any) -> datetime:
        own = real.__get__(None, cls)
        who = reader(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if who is None:
            return own(*args, **kwargs)
        text = read(who, f"datetime.{name}", lambda: _written(own(*args, **kwargs)))
        return _read_back(cls, str(text), args[0] if args else kwargs.get("tz"))

    return moment


def _written(moment: datetime) -> str:
    """As it stood on the wall: what a zone makes of it is the zone's, which the program gives again."""
    return moment.replace(tzinfo=None).isoformat() + (_FOLDED if moment.fold else "")


def _read_back(cls: type[datetime], text: str, zone: Any) -> datetime:
    wall = cls.fromisoformat(text.removesuffix(_FOLDED))
    return wall.replace(tzinfo=zone, fold=int(text.endswith(_FOLDED)))
