"""What is switched on in a program that `playhead run` has started."""

from playhead.api.functions.own_code import Launcher
from playhead.capture.registry import instrument
from playhead.interop.zero_code import before_instrumentors


def switch_on() -> None:
    """Records the calls of every installed library that is supported, and other GenAI instrumentations.  Never
    raises."""
    Launcher.name = Launcher.RUN
    before_instrumentors()
    instrument()
