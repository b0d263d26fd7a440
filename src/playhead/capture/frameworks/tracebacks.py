"""Tracebacks of a program's errors as they would be without our wrappers, for frameworks that tell a model where a tool
has failed."""

from types import TracebackType

_OURS = ("playhead.", "wrapt.")


def without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    """Returns the traceback without the frames of our modules and of `wrapt`; the frames of the program are the same
    objects."""
    kept: list[TracebackType] = []
    while trace is not None:
        if not str(trace.tb_frame.f_globals.get("__name__")).startswith(_OURS):
            kept.append(trace)
        trace = trace.tb_next
    following: TracebackType | None = None
    for each in reversed(kept):
        following = TracebackType(following, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return following
