"""configure → [runtime] → calls. Holds the set-up of recording in this process, as the call path needs it.

`playhead.configuring` installs a new object here whenever the set-up changes; the call path only reads it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playhead.calls.first_use import start_of_recording
from playhead.calls.recorder import Recorder, RunOwner
from playhead.calls.run import ActiveRun, NextRun
from playhead.calls.span import ObservedSpan
from playhead.kernel.forks import delay_forks

if TYPE_CHECKING:
    from playhead.kernel.opentelemetry_sdk import TracerProvider


@dataclass(frozen=True, slots=True)
class Runtime:
    """The current set-up of recording. Replaced as a whole, so that a call in another thread never sees half of a
    change.
    """

    recorder: Recorder | None = None
    """None: nothing is recorded."""
    task_run_seconds: float = 60.0
    """Longest pause between calls without an agent in one asyncio task that still are one run; 0: never one run."""
    groups_calls: bool = True
    """Whether calls without an agent are grouped into runs by the work that started them and by their messages."""
    incoming_runs: str = "join"
    """How to treat the run that a context from outside names: join, link or ignore."""
    join_seconds: float = 3600.0
    """Age of a handed-on call up to which its run is joined; an older one is only linked."""
    exporting_provider: "TracerProvider | None" = None
    """Gets the mirror spans where the program has no tracer provider; None: there are none then."""
    pages_url: str | None = None
    """Address of Playhead's pages, to which mirror spans link; None: they have no link."""
    prefer: str = "playhead"
    """Whose record of a model call counts if several instrumentations record it: see `model.instrumentations`."""
    own: Callable[[ActiveRun], RunOwner] | None = None
    """Returns the object that tells whether this process still owns a run that begins here, or of which it has a
    part."""
    on_run_start: Callable[[ObservedSpan], None] | None = None
    """Called with the first call of each run."""
    on_model_call: Callable[[ObservedSpan], None] | None = None
    """Called with each model call that has ended, before its end is journaled."""
    context_windows: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tokens of the contexts of models, by the beginnings of their names, as the settings say them."""
    next_run: NextRun | None = None
    """The run that the environment says to resume or fork; the first run that begins takes it."""


UNCONFIGURED = Runtime()
"""Nothing was set up yet, or recording was shut down: the first observed call sets it up from the environment."""
OFF = Runtime()
"""Nothing is recorded: a setting says so, or recording could not be started."""
current = UNCONFIGURED
"""The set-up in force. Read it as `runtime.current`, never by `from ... import current`."""


_start: Callable[[], None] | None = None
"""Sets recording up from the environment; None: not imported yet."""


def install(runtime: Runtime) -> None:
    """Makes this the current set-up."""
    global current  # noqa: PLW0603 - the only assignment to it
    current = runtime


def import_configuration() -> Callable[[], None]:
    """Imports the modules that set recording up, and returns the function that does it: it calls `install`, and raises
    nothing except to end the program. A fork in another thread waits for the import.
    """
    global _start  # noqa: PLW0603 - the only assignment to it
    if _start is None:
        with delay_forks():
            _start = start_of_recording()
    return _start


def recorder() -> Recorder | None:
    """Returns the recorder, set up from the environment on first use; None: nothing is recorded."""
    if current is UNCONFIGURED:
        import_configuration()()
    return current.recorder
