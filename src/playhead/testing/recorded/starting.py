"""test → [starting] → program.  Starts a program as it was started when its run was recorded."""

from __future__ import annotations

import asyncio
import inspect
import runpy
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast


def run_program(program: str, *arguments: str) -> None:
    """Runs a script, or `-m MODULE`, in this process to its end, with these arguments in `sys.argv`.

    Raises what the program raises, and SystemExit if it exits with a status other than 0.
    """
    module = program.removeprefix("-m ") if program.startswith("-m ") else None
    argv, path = sys.argv, list(sys.path)
    sys.argv = [program if module is None else module, *arguments]
    try:
        if module is None:
            sys.path.insert(0, str(Path(program).resolve().parent))
            runpy.run_path(program, run_name="__main__")
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        sys.argv, sys.path[:] = argv, path


def complete(result: Any) -> Any:
    """Returns the result of a call: awaits a coroutine; reads a generator, also an asynchronous one, into a list."""
    if inspect.isawaitable(result) or isinstance(result, AsyncIterator):
        return asyncio.run(_awaited(result))
    return list(cast("Iterator[Any]", result)) if inspect.isgenerator(result) else result


async def _awaited(result: Any) -> Any:
    if isinstance(result, AsyncIterator):
        return [item async for item in cast("AsyncIterator[Any]", result)]
    return await result
