"""Imports httpx without its command line, which loads click, pygments and rich where these are installed.

That is 30 to 40 ms on the thread that imports it, which is the program's at its first observed call.
"""

import sys
from importlib import import_module
from types import FunctionType
from typing import Any

_COMMAND_LINE = "httpx._main"


def import_httpx() -> None:
    """Imports httpx; `httpx.main` loads the command line when it is called.

    One that is imported already is left alone.  Raises what an import raises: RuntimeError while the interpreter ends,
    OSError where there are no descriptors.
    """
    if "httpx" in sys.modules:
        import_module("httpx")  # another thread may not be through with it
        return
    # As if it were not installed: httpx has a `main` for that, which says so.
    absent: Any = None
    sys.modules[_COMMAND_LINE] = absent
    try:
        found = vars(import_module("httpx"))
    finally:
        sys.modules.pop(_COMMAND_LINE, None)
    without_libraries = found.get("main")
    if not isinstance(without_libraries, FunctionType):
        return  # a version without a command line

    def main(*args: Any, **options: Any) -> Any:
        try:
            found["main"] = import_module(_COMMAND_LINE).main
        except ImportError:
            found["main"] = without_libraries
        return found["main"](*args, **options)

    found["main"] = main
