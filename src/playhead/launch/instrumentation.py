"""Switches recording on in a program that `playhead run` has started."""

from playhead.calls.own_code import Launcher
from playhead.capture.registry import instrument, instrumented
from playhead.interop.zero_code import before_instrumentors


def switch_on() -> None:
    """Records the calls of every installed library that is supported, and the spans of other GenAI instrumentations.
    Never raises."""
    before_instrumentors()
    instrument()
    Launcher.name = Launcher.RUN_WITH_COMMANDS if "subprocess" in instrumented() else Launcher.RUN
