"""Distinguishes the program's own code from libraries, and finds the script with which the program was started."""

import functools
import os
import site
import sys
from pathlib import Path
from typing import ClassVar

_files: dict[str, bool] = {}


class Launcher:
    """`name`: the command that switched recording on in this process; None: the program did that itself."""

    RUN = "playhead run"
    RUN_WITH_COMMANDS = "playhead run --commands"
    OPENTELEMETRY = "opentelemetry-instrument"
    name: ClassVar[str | None] = None


class NamedFunctions:
    """`names`: functions that were named to be recorded as tools in this process, as `module:function`."""

    names: ClassVar[tuple[str, ...]] = ()


@functools.cache
def _folders_of_others() -> tuple[str, ...]:
    """Returns the folders of Python's own code, of installed packages and of Playhead.

    Opens no file, unlike `sysconfig`, so that a process without free file descriptors can record its first call, too.
    """
    paths = (
        Path(os.__file__).parent,  # Python's own modules
        *site.getsitepackages(),
        site.getusersitepackages(),
        Path(__file__).parents[1],  # our own package
    )
    return tuple(str(Path(path).resolve()) for path in paths)


def is_own_code(file: str) -> bool:
    """Whether this file belongs to the program itself, and not to a library or to Python."""
    is_own = _files.get(file)
    if is_own is None:
        where = str(Path(file).resolve()) if not file.startswith("<") else file
        is_library = (
            where.startswith(("<frozen", *_folders_of_others())) or "site-packages" in where or "dist-packages" in where
        )
        is_own = _files[file] = not is_library
    return is_own


@functools.cache
def started_program() -> str | None:
    """Returns the script that this process was started with, relative to the working directory, or `-m MODULE`.

    None if it was not started with the program's own code, but with a library's command (`uvicorn`) or in a terminal.
    """
    main = sys.modules.get("__main__")
    file, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    try:
        if not isinstance(file, str) or not is_own_code(file):
            return None
        if spec is not None:
            return f"-m {spec.name.removesuffix('.__main__')}"
        here = os.path.relpath(file)
        return str(Path(file).resolve()) if here.startswith(os.pardir) else here
    except (OSError, ValueError, AttributeError):  # a folder that is gone, or on another drive
        return None
