"""`subprocess`: commands that the program starts, each as a tool call.  Recorded only on request.

`run`, `call`, `check_call`, `check_output`, `getoutput` and `getstatusoutput` are recorded with command, folder, input,
exit code and output, and answered on resume like any tool.  `Popen`, which `asyncio.create_subprocess_exec` also uses,
is recorded with command and folder, and is in doubt on resume, since a process cannot be restored.

The environment of a command is not recorded, since it may hold secrets.  `os.system` and `os.exec*` are not recorded.
"""

import inspect
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from playhead.api.observe import ObserveOptions
from playhead.calls import functions
from playhead.calls.grouping import belongs_to_run
from playhead.calls.lifecycle import current_span
from playhead.capture.frameworks.observing import StartSpan, log_errors_and_return_none
from playhead.capture.patching import Instrumentation, Wrap, Wrapper
from playhead.errors import ReplayDiverged
from playhead.model import names

SUPPORTS = "Python's own"

# The options of Popen that are recorded: the command's input.  The others only say how it is started.
_RECORDED = ("cwd", "input", "shell", "stdin")
_PIPES = {subprocess.PIPE: "PIPE", subprocess.STDOUT: "STDOUT", subprocess.DEVNULL: "DEVNULL"}


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any], parameters: Sequence[str]) -> dict[str, Any]:
    values = {**dict(zip(parameters, args, strict=False)), **kwargs}
    command = values.get("args", values.get("cmd"))
    arguments: dict[str, Any] = {"command": _plain(command)}
    for name in _RECORDED:
        value = values.get(name)
        if value is not None and value is not False:
            arguments[name] = _PIPES.get(value, "file") if name == "stdin" else _plain(value)
    return arguments


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return os.fspath(value) if isinstance(value, os.PathLike) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


_COMMAND = ObserveOptions(None, "tool", True, True, None, {}, None)
_POPEN = tuple(inspect.signature(subprocess.Popen).parameters)


@log_errors_and_return_none
def _begin(name: str, args: Any, kwargs: Any, parameters: Sequence[str]) -> StartSpan | None:
    """Returns None if the command is in no run, or if a recorded call around it is answered as a whole."""
    span = current_span()
    if span.can_be_answered_from_record if span is not None else not belongs_to_run():
        return None
    arguments = _arguments(args, kwargs, parameters)
    return lambda: _COMMAND.begin(name, arguments, {names.TOOL_TYPE: names.COMMAND})


def _function(name: str, parameters: Sequence[str]) -> Wrapper:
    def wrapper(wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> Any:
        begin = _begin(f"subprocess.{name}", args, kwargs, parameters)
        span = None if begin is None else begin()
        if span is None:
            return wrapped(*args, **kwargs)
        done: list[Any] = []

        def plain(*args: Any, **kwargs: Any) -> Any:
            done.append(wrapped(*args, **kwargs))
            return _as_plain(done[0])

        result = functions.call(span, names.TOOL_RESULT_REF, plain, args, kwargs)
        return done[0] if done else _as_given(result, args, kwargs)

    return wrapper


def _as_plain(result: Any) -> Any:
    if not isinstance(result, subprocess.CompletedProcess):
        return result
    done = cast("subprocess.CompletedProcess[Any]", result)
    return {"returncode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def _as_given(outcome: Any, args: Any, kwargs: Any) -> Any:
    """Rebuilds the function's return value from a recorded result, or from one that a person set."""
    if not isinstance(outcome, dict) or "returncode" not in outcome:
        return cast(Any, outcome)
    result = cast("dict[str, Any]", outcome)
    command = args[0] if args else kwargs.get("args")
    return subprocess.CompletedProcess(command, result["returncode"], result.get("stdout"), result.get("stderr"))


def _start(wrapped: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> None:
    begin = _begin("subprocess.Popen", args, kwargs, _POPEN)
    span = None if begin is None else begin()
    if span is None:
        wrapped(*args, **kwargs)
        return
    started: list[None] = []

    def start(*args: Any, **kwargs: Any) -> None:
        started.append(None)
        wrapped(*args, **kwargs)

    functions.call(span, None, start, args, kwargs)
    if not started:
        raise ReplayDiverged(
            "a process that was started with Popen cannot be given an outcome: let it be started again "
            "(playhead.RERUN), or start it with subprocess.run"
        )


_commands = Instrumentation(
    [
        *(Wrap("subprocess", name, _function(name, _POPEN)) for name in ("run", "call", "check_call", "check_output")),
        *(Wrap("subprocess", name, _function(name, ("cmd",))) for name in ("getoutput", "getstatusoutput")),
        Wrap("subprocess", "Popen.__init__", _start),
    ]
)
patch, unpatch = _commands.patch, _commands.unpatch
