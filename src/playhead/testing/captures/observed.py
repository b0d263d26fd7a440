"""`python -m playhead.testing.captures.observed SCRIPT ARGUMENTS...`: runs the script inside a function under
`@observe`, as a program does that decorates its own entry."""

import runpy
import sys

from playhead import observe


@observe(name="task")
def _task(script: str) -> None:
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    _task(sys.argv[0])
