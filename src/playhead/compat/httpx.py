"""Imports httpx without its command line, which loads click, pygments and rich where these are installed.

That saves 30 to 40 ms on the importing thread, which is the user's thread at the first observed call.
"""

import sys
from importlib import import_module
from types import FunctionType
from typing import Any

_COMMAND_LINE = "httpx._main"


def import_httpx() -> None:
    """Imports httpx; `httpx.main` loads the command line when it is called.

    Changes nothing if httpx is imported already. Raises the errors of an import: RuntimeError while the interpreter
    shuts down, OSError if there are no file descriptors left.
    """
    if "httpx" in sys.modules:
        import_module("httpx")  # waits for a thread that is still importing it
        return
    # As if the command line's packages were not installed: for this case, httpx has a `main` that says so.
    absent: Any = None
    sys.modules[_COMMAND_LINE] = absent
    try:
        namespace = vars(import_module("httpx"))
    finally:
        sys.modules.pop(_COMMAND_LINE, None)
    without_libraries = namespace.get("main")
    if not isinstance(without_libraries, FunctionType):
        return  # a version without a command line

    def main(*args: Any, **options: Any) -> Any:
        try:
            namespace["main"] = import_module(_COMMAND_LINE).main
        except ImportError:
            namespace["main"] = without_libraries
        return namespace["main"](*args, **options)

    namespace["main"] = main
