"""playhead → [first_use] → runtime.  Lets the call path start recording without an import of `playhead.configuring`,
which is in a higher layer.

The package `playhead` provides the function that imports it: with the first observed call, or with the first library
that is instrumented. `import playhead` alone does not.
"""

from collections.abc import Callable

_import_start: Callable[[], Callable[[], None]]
"""Set by the package `playhead`, which runs before every other module of ours."""


def provide_start(import_start: Callable[[], Callable[[], None]]) -> None:
    """Sets the function that `start_of_recording` calls."""
    global _import_start  # noqa: PLW0603 - the only assignment to it
    _import_start = import_start


def start_of_recording() -> Callable[[], None]:
    """Imports `playhead.configuring`, and returns its function that sets recording up from the environment."""
    return _import_start()
