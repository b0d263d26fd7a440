"""configure → [runtime] → calls.  What observed calls need of how this process was set up, in one object.

`playhead.configure` makes one whenever the set-up changes and installs it here; the call path only reads it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from playhead.api.calls.span import ObservedSpan
from playhead.api.ports import Recorder
from playhead.api.run import ActiveRun


@dataclass(frozen=True, slots=True)
class Runtime:
    """How calls are recorded from now on.  Replaced as a whole, so that a call in another thread sees no half of it."""

    recorder: Recorder | None = None
    """None: nothing is recorded."""
    task_run_seconds: float = 60.0
    """Calls of one asyncio task without an agent around them are one run while pauses are no longer; 0: never."""
    on_run_start: Callable[[ObservedSpan], None] | None = None
    """Called with the first call of each run, where runs record more than their calls."""
    next_run: list[ActiveRun] | None = None
    """The run that the environment says to go on with; the first run that begins takes it out."""


UNCONFIGURED = Runtime()
"""Nothing was set up yet, or recording was shut down: the first observed call sets it up from the environment."""
OFF = Runtime()
"""Nothing is recorded: a setting says so, or recording could not be started."""
current = UNCONFIGURED
"""What is in force.  Read it as `runtime.current`, never by `from ... import current`."""


_configure: Callable[[], None] | None = None


def configure_on_first_use(configure: Callable[[], None]) -> None:
    """Has `configure` called by the first observed call after nothing was set up.  It calls `install`, and never raises
    but to end the program.  (Given by `playhead.configure`, which the call path may not import.)"""
    global _configure  # noqa: PLW0603 - the only assignment to it
    _configure = configure


def install(runtime: Runtime) -> None:
    """From now on calls are recorded like this."""
    global current  # noqa: PLW0603 - the only assignment to it
    current = runtime


def recorder() -> Recorder | None:
    """The recorder, set up from the environment on first use; None: nothing is recorded."""
    if current is UNCONFIGURED and _configure is not None:
        _configure()
    return current.recorder
