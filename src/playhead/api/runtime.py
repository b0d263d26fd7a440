"""configure → [runtime] → calls. What the call path needs from the set-up of this process, in one object.

`playhead.configure` makes a new one whenever the set-up changes and installs it here; the call path only reads it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from playhead.api.calls.first_use import start_of_recording
from playhead.api.calls.span import ObservedSpan
from playhead.api.forks import delay_forks
from playhead.api.ports import Recorder, RunOwner
from playhead.api.run import ActiveRun, NextRun


@dataclass(frozen=True, slots=True)
class Runtime:
    """The current set-up of recording. Replaced as a whole, so that a call in another thread never sees half of a
    change.
    """

    recorder: Recorder | None = None
    """None: nothing is recorded."""
    task_run_seconds: float = 60.0
    """Calls of one asyncio task without an agent around them are one run while pauses are no longer; 0: never."""
    groups_calls: bool = True
    """Whether calls without an agent are put into runs by what started them and by what they say."""
    incoming_runs: str = "join"
    """What becomes of the run that a context from outside names: join, link or ignore."""
    join_seconds: float = 3600.0
    """A run is joined by what begins so long after it was handed on; later, it is linked."""
    prefer: str = "playhead"
    """Whose record of a model call counts when several instrumentations record it: see `model.instrumentations`."""
    own: Callable[[ActiveRun], RunOwner] | None = None
    """Returns the ownership of a run that begins in this process."""
    on_run_start: Callable[[ObservedSpan], None] | None = None
    """Called with the first call of each run, where runs record more than their calls."""
    on_model_call: Callable[[ObservedSpan], None] | None = None
    """Called with each model call that has ended, before that is journaled."""
    next_run: NextRun | None = None
    """The run that the environment says to go on with; the first run that begins takes it out."""


UNCONFIGURED = Runtime()
"""Nothing was set up yet, or recording was shut down: the first observed call sets it up from the environment."""
OFF = Runtime()
"""Nothing is recorded: a setting says so, or recording could not be started."""
current = UNCONFIGURED
"""What is in force.  Read it as `runtime.current`, never by `from ... import current`."""


_start: Callable[[], None] | None = None
"""Sets recording up from the environment; None: not imported yet."""


def install(runtime: Runtime) -> None:
    """Makes this the current set-up."""
    global current  # noqa: PLW0603 - the only assignment to it
    current = runtime


def import_root() -> Callable[[], None]:
    """Imports what the first observed call needs to set recording up, and returns the function that does it: it calls
    `install`, and raises nothing except to end the program.  A fork in another thread waits for the import.
    """
    global _start  # noqa: PLW0603 - the only assignment to it
    if _start is None:
        with delay_forks():
            _start = start_of_recording()
    return _start


def recorder() -> Recorder | None:
    """The recorder, set up from the environment on first use; None: nothing is recorded."""
    if current is UNCONFIGURED:
        import_root()()
    return current.recorder
