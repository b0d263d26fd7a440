"""playhead → [first_use] → runtime.  How the call path gets at `playhead.configure`, which stands above it.

The package `playhead` provides it. It is imported with the first observed call, or with the first library that is
instrumented: `import playhead` does without.
"""

from collections.abc import Callable

_import_start: Callable[[], Callable[[], None]]
"""Set by the package `playhead`, which runs before every other module of ours."""


def provide_start(import_start: Callable[[], Callable[[], None]]) -> None:
    """Sets the function that `start_of_recording` calls."""
    global _import_start  # noqa: PLW0603 - the only assignment to it
    _import_start = import_start


def start_of_recording() -> Callable[[], None]:
    """Imports what sets recording up from the environment, and returns the function that does it."""
    return _import_start()
