"""Python imports this module when it starts, since `playhead run` has put this folder first in PYTHONPATH.

Errors here must not reach the program: a child process may use a Python without Playhead, or with a broken one. A
`sitecustomize` that this one hides is imported as if this one did not exist.
"""

import os
import sys


def _switch_on() -> None:
    try:
        from playhead.launch.command import switch_on  # noqa: PLC0415

        switch_on()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - see above
        if os.environ.get("PLAYHEAD_RUN_PID") == str(os.getpid()) and sys.stderr is not None:
            sys.stderr.write(
                f"playhead: nothing is recorded ({error!r}): install playhead for {sys.executable}, "
                "or start the program with the Python that it is installed for\n"
            )


def _import_hidden() -> None:
    """Imports the next `sitecustomize` of the path in the place of this module. Its errors are reported by Python."""
    from importlib.machinery import PathFinder  # noqa: PLC0415
    from importlib.util import module_from_spec  # noqa: PLC0415

    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - `pathlib` takes long to import
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


_switch_on()
_import_hidden()
