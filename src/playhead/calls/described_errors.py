"""Describes an exception that leaves observed calls: once for all of them, in bounded time.

An exception often passes through many calls. The innermost call describes it; each enclosing call refers to the same
content, as long as nothing was added to the exception meanwhile.
"""

import traceback
import weakref
from collections import deque
from collections.abc import Iterator
from itertools import islice
from types import TracebackType
from typing import Any, cast

from playhead.calls.recorder import Redact
from playhead.model.objects.error_texts import error_text
from playhead.model.ref import ContentRef

# The innermost frames say where the error was raised. The outer ones repeat the recorded calls.
_MAX_FRAMES = 50
# Chained exceptions and members of groups; a retry loop chains as many as it has attempts.
_MAX_EXCEPTIONS = 8
_MAX_FRAMES_OF_OTHERS = 15
_MAX_LINES = 10  # of notes, and of members of a group
_MAX_TEXT = 16_384
_MAX_MESSAGE = 2_000  # of one exception in the stack trace; the whole message is recorded beside it
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


class DescribedError:
    """The description of an exception, and a check whether it still fits. Keeps neither the exception alive nor the
    objects that its traceback refers to."""

    __slots__ = ("_changes", "_kept", "_redact", "_reference", "_restorable", "ref", "status_message")

    def __init__(
        self,
        raised: BaseException,
        ref: ContentRef | None,
        status_message: str,
        redact: Redact | None,
        *,
        restorable: bool,
    ):
        """`ref` and `status_message`: the description as recorded, after the hook `redact`. `restorable`: the content
        holds what is needed to raise the exception again on replay."""
        self.ref = ref
        self.status_message = status_message
        self._redact = redact
        self._restorable = restorable
        self._changes = _changes(raised)
        # Exceptions of Python's own classes cannot be referenced weakly. Their `__dict__`, nearly always empty, is kept
        # instead: while it is referenced, no other exception has the same object.
        self._kept: Any = None
        self._reference: weakref.ref[BaseException] | None = None
        try:
            self._reference = weakref.ref(raised)
        except TypeError:
            self._kept = _attributes(raised)

    def serves(self, raised: BaseException, redact: Redact | None, *, needs_restoring: bool) -> bool:
        """Whether this description can be used for the exception as it is now, by a call with this hook.
        `needs_restoring`: only if it is `restorable`."""
        if self._redact is not redact or (needs_restoring and not self._restorable):
            return False
        same = self._reference() is raised if self._reference is not None else self._kept is _attributes(raised)
        return same and self._changes == _changes(raised)


def _attributes(raised: BaseException) -> dict[str, Any]:
    return object.__getattribute__(raised, "__dict__")


def _changes(raised: BaseException) -> tuple[int, ...]:
    """Returns a tuple that differs after something was added to the exception: arguments, attributes, notes, a
    cause."""
    attributes = _attributes(raised)
    notes = attributes.get("__notes__")
    return (
        id(raised.args),
        id(raised.__cause__),
        id(raised.__context__),
        len(cast("list[Any]", notes)) if type(notes) is list else 0,
        *map(id, islice(attributes.values(), _MAX_LINES)),
    )


def name_of(raised: BaseException) -> str:
    """Returns `module.Name` of its class; `Name` alone for Python's own classes."""
    kind = type(raised)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def stack_trace_of(raised: BaseException, message: str) -> str:
    """Returns the traceback as Python prints it, at most 16,384 characters: innermost frames, and nearest causes.

    `message` is the result of `error_text`, so that the exception's own code (`__str__`) runs only once."""
    parts: list[str] = []
    for error, link in _chain(raised):
        is_last = error is raised
        parts += _described(
            error, message if is_last else error_text(error, if_broken=""), _MAX_FRAMES if is_last else None
        )
        parts.append(link)
    return "".join(parts)[-_MAX_TEXT:]


def _chain(raised: BaseException) -> list[tuple[BaseException, str]]:
    """Returns the exception and its causes, in the order in which they were raised, each with the text that links it
    to the next."""
    chain: list[tuple[BaseException, str]] = [(raised, "")]
    seen = {id(raised)}
    error = raised
    while len(chain) < _MAX_EXCEPTIONS:
        link = _CONTEXT if error.__cause__ is None else _CAUSE
        above = error.__cause__
        if above is None and not error.__suppress_context__:
            above = error.__context__
        if above is None or id(above) in seen:
            break
        seen.add(id(above))
        chain.append((above, link))
        error = above
    return chain[::-1]


def _described(error: BaseException, message: str, max_frames: int | None) -> Iterator[str]:
    frames, left_out = _innermost(error.__traceback__, max_frames or _MAX_FRAMES_OF_OTHERS)
    if frames:
        yield "Traceback (most recent call last):\n"
        if left_out:
            yield f"  ... {left_out} outer frames are left out\n"
        yield from traceback.StackSummary.extract(iter(frames)).format()
    yield f"{name_of(error)}: {_shortened(message)}\n" if message else f"{name_of(error)}\n"
    notes = _attributes(error).get("__notes__")
    for note in islice(cast("list[Any]", notes) if type(notes) is list else (), _MAX_LINES):
        yield f"{_shortened(note)}\n" if type(note) is str else ""
    if isinstance(error, BaseExceptionGroup):
        yield from _members(cast("BaseExceptionGroup[BaseException]", error))


def _members(group: BaseExceptionGroup[BaseException]) -> Iterator[str]:
    """Yields the exceptions of a group, each with its innermost frames. A nested group is one line."""
    members = group.exceptions
    for number, member in enumerate(members[:_MAX_LINES], 1):
        frames, _ = _innermost(member.__traceback__, _MAX_FRAMES_OF_OTHERS)
        yield f"  {number}. {name_of(member)}: {_shortened(error_text(member, if_broken=''))}\n"
        for line in traceback.StackSummary.extract(iter(frames)).format():
            yield line.replace("  ", "    ", 1)
    if len(members) > _MAX_LINES:
        yield f"  ... and {len(members) - _MAX_LINES} more exceptions\n"


def _innermost(trace: TracebackType | None, how_many: int) -> tuple[deque[tuple[Any, int]], int]:
    """Returns the innermost frames with their line numbers, and the number of frames left out around them."""
    frames: deque[tuple[Any, int]] = deque(maxlen=how_many)
    count = 0
    for frame in traceback.walk_tb(trace):
        frames.append(frame)
        count += 1
    return frames, count - len(frames)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}... ({len(text)} characters)"
