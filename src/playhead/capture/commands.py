"""`subprocess`: commands that the program starts, each as a tool call.  Recorded only on request.

`run`, `call`, `check_call`, `check_output`, `getoutput` and `getstatusoutput` are recorded with command, folder, input,
exit code and output, and answered on resume like any tool.  `Popen`, which `asyncio.create_subprocess_exec` also uses,
is recorded with command and folder, and is in doubt on resume, since a process cannot be restored.

The environment of a command is not recorded, since it may hold secrets.  `os.system` and `os.exec*` are not recorded.
"""

import inspect
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from playhead.api.observe import ObserveOptions
from playhead.calls import functions
from playhead.calls.grouping import belongs_to_run
from playhead.calls.lifecycle import current_span
from playhead.capture.frameworks.observing import StartSpan, log_errors_and_return_none
from playhead.capture.patching import Instrumentation, Wrap, Wrapper
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.errors import ReplayDiverged
from playhead.model import names
from playhead.model.json_value import object_of

SUPPORTS = "Python's own"

# The options of Popen that are recorded: the command's input.  The others only say how it is started.
_RECORDED = ("cwd", "input", "shell", "stdin")
_PIPES = {subprocess.PIPE: "PIPE", subprocess.STDOUT: "STDOUT", subprocess.DEVNULL: "DEVNULL"}


def _arguments(called: MethodCall, parameters: Sequence[str]) -> dict[str, object]:
    values = called.arguments(*parameters)
    command = values.get("args", values.get("cmd"))
    arguments = {"command": _plain(command)}
    for name in _RECORDED:
        value = values.get(name)
        if value is not None and value is not False:
            arguments[name] = _PIPES.get(value, "file") if name == "stdin" else _plain(value)
    return arguments


def _plain(value: Any) -> object:
    items: Iterable[object] = value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in items]
    return os.fspath(value) if isinstance(value, os.PathLike) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


_COMMAND = ObserveOptions(None, "tool", True, True, None, {}, None)
_POPEN = tuple(inspect.signature(subprocess.Popen).parameters)


@log_errors_and_return_none
def _begin(name: str, called: MethodCall, parameters: Sequence[str]) -> StartSpan | None:
    """Returns None if the command is in no run, or if a recorded call around it is answered as a whole."""
    span = current_span()
    if span.can_be_answered_from_record if span is not None else not belongs_to_run():
        return None
    arguments = _arguments(called, parameters)
    return lambda: _COMMAND.begin(name, arguments, {names.TOOL_TYPE: names.COMMAND})


def _function(name: str, parameters: Sequence[str]) -> Wrapper:
    def run(function: Callable[..., object], called: MethodCall) -> object:
        begin = _begin(f"subprocess.{name}", called, parameters)
        span = None if begin is None else begin()
        if span is None:
            return called.make(function)
        done: list[object] = []

        def plain(*args: object, **kwargs: object) -> object:
            done.append(function(*args, **kwargs))
            return _as_plain(done[0])

        result = functions.call(span, names.TOOL_RESULT_REF, plain, called.args, called.kwargs)
        return done[0] if done else _as_given(result, called)

    return intercepted(run)


def _as_plain(result: Any) -> object:
    done: subprocess.CompletedProcess[object] = result
    if not isinstance(result, subprocess.CompletedProcess):
        return result
    return {"returncode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def _as_given(outcome: object, called: MethodCall) -> object:
    """Rebuilds the function's return value from a recorded result, or from one that a person set."""
    result = object_of(outcome)
    if "returncode" not in result:
        return outcome
    code: Any = result["returncode"]
    return subprocess.CompletedProcess(called.argument(0, "args"), code, result.get("stdout"), result.get("stderr"))


@intercepted
def _start(function: Callable[..., None], called: MethodCall) -> None:
    begin = _begin("subprocess.Popen", called, _POPEN)
    span = None if begin is None else begin()
    if span is None:
        called.make(function)
        return
    started: list[None] = []

    def start(*args: object, **kwargs: object) -> None:
        started.append(None)
        function(*args, **kwargs)

    functions.call(span, None, start, called.args, called.kwargs)
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
