"""`playhead run -- python app.py`: replaces itself with that program, in an environment that switches recording on.

That environment has the folder `site` in PYTHONPATH, so each Python process of the program calls `switch_on` at its
start.
"""

import atexit
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from playhead.calls.own_code import Launcher
from playhead.capture.instrumented import REPORT
from playhead.capture.registry import instrument, instrumented, warn_of_missing_modules
from playhead.errors import SettingInvalid
from playhead.interop.zero_code import before_instrumentors
from playhead.settings.sdk import read_function_names

SITE = Path(__file__).with_name("site")
STARTED = "PLAYHEAD_RUN_PID"
"""Environment variable with the process id of the started program: only that process warns if it is not recorded."""

RECORD_COMMANDS = {"PLAYHEAD_RECORD_COMMANDS": "true"}
RECORD_TOOLS = "PLAYHEAD_RECORD_TOOLS"

USAGE = """Usage: playhead run [--commands] [--tool MODULE:FUNCTION]... [--] COMMAND [ARGUMENTS...]

Start a program that is recorded without a change of its code: every installed library that Playhead knows is
instrumented, in the program and in the Python processes that it starts.

  playhead run -- python app.py
  playhead run -- python -m package
  playhead run -- gunicorn app:wsgi
  playhead run --tool app.search:web_search -- python app.py

With --commands, commands that the program starts with Python's subprocess are recorded as tools: a resumed run is given
their results, and does not start them again.

With --tool, a function (MODULE:FUNCTION) or method (MODULE:CLASS.METHOD) of the program or of a library is recorded as
a tool, as by @observe(kind="tool"): a resumed run is given its results, and does not call it again. The option may be
given several times. The function is found when the program imports its module; functions of the started script itself
cannot be named.

The program takes the place of this command: signals, standard input and the exit code are its own. Exit codes of this
command: 2 it is used wrongly; 126 the program cannot be executed; 127 it is not found.
"""
_MISUSED, _CANNOT_EXECUTE, _NOT_FOUND = 2, 126, 127


def run(arguments: Sequence[str]) -> int:
    """Replaces this process with the program; on Windows, runs the program and returns its exit code.

    If that is not possible, prints the reason to standard error and returns an exit code. For `--help`, returns 0.
    """
    if arguments and arguments[0] in {"-h", "--help"}:
        sys.stdout.write(USAGE)
        return 0
    more: dict[str, str] = {}
    while arguments and arguments[0] in {"--commands", "--tool"}:
        if arguments[0] == "--commands":
            arguments, more = arguments[1:], {**more, **RECORD_COMMANDS}
            continue
        try:
            before = {**os.environ, **more}
            arguments, more = arguments[2:], {**more, **recording_tools(before, list(arguments[1:2]) or [""])}
        except SettingInvalid as error:
            return _refused(str(error), _MISUSED)
    if arguments and arguments[0] != "--" and arguments[0].startswith("-"):
        return _refused(f"unknown option {arguments[0]}: the options of the program stand behind its name", _MISUSED)
    command = list(arguments[1:] if arguments and arguments[0] == "--" else arguments)
    if not command:
        return _refused("name the program to start: playhead run -- python app.py", _MISUSED)
    executable = shutil.which(command[0])
    if executable is None:
        return _not_executable(command)
    return _become(executable, command, {**environment(os.environ), **more})


def report(command: Sequence[str]) -> int:
    """Replaces this process with the program, as `run` does. Each of the program's Python processes reports at its end
    what was instrumented."""
    executable = shutil.which(command[0])
    if executable is None:
        return _not_executable(command)
    return _become(executable, command, {**environment(os.environ), REPORT: "1"})


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment for the program, with `SITE` as the first folder in PYTHONPATH."""
    folders = [folder for folder in environ.get("PYTHONPATH", "").split(os.pathsep) if folder and folder != str(SITE)]
    return {**environ, "PYTHONPATH": os.pathsep.join([str(SITE), *folders])}


def recording_tools(environ: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Returns the variable that records these functions as tools besides those in `environ`; empty if there are none.

    Raises SettingInvalid if a name is not `module:function`, or is of the started script.
    """
    for name in names:
        try:
            is_valid = len(read_function_names(name)) == 1
        except ValueError:
            is_valid = False
        if not is_valid:
            raise SettingInvalid(f"--tool {name or '(nothing)'}: expected MODULE:FUNCTION or MODULE:CLASS.METHOD")
        if name.startswith("__main__:"):
            raise SettingInvalid(
                f"--tool {name}: functions of the started script cannot be named; move the function to a module, or "
                'put @playhead.observe(kind="tool") on it'
            )
    named = [name for name in environ.get(RECORD_TOOLS, "").split(",") if name.strip()]
    return {RECORD_TOOLS: ",".join(dict.fromkeys([*named, *names]))} if names else {}


def _become(executable: str, command: Sequence[str], environ: dict[str, str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        if os.name == "nt":  # `exec` there ends the process that the shell waits for
            return subprocess.run([executable, *command[1:]], env=environ, check=False).returncode  # noqa: S603
        os.execve(executable, list(command), {**environ, STARTED: str(os.getpid())})  # noqa: S606
    except OSError as error:
        return _refused(f"{executable} cannot be executed: {error.strerror}", _CANNOT_EXECUTE)


def _not_executable(command: Sequence[str]) -> int:
    path = Path(command[0])
    if path.suffix == ".py" and path.is_file():
        again = " ".join(["python", *command])
        return _refused(f"{path} is not executable; start it with Python: playhead run -- {again}", _CANNOT_EXECUTE)
    if path.exists():
        return _refused(f"{path} is not executable; give it the right (chmod +x), or name a program", _CANNOT_EXECUTE)
    where = "there is no such file" if path.name != command[0] else "it is in no folder of PATH"
    return _refused(f"cannot find {command[0]}: {where}; check the name, or give the program's path", _NOT_FOUND)


def _refused(why: str, code: int) -> int:
    sys.stderr.write(f"playhead run: {why}\n")
    return code


# --- in the started program -------------------------------------------------------------------------------------------


def switch_on() -> None:
    """Records the calls of every installed library that is supported, and the spans of other GenAI instrumentations.
    Never raises."""
    before_instrumentors()
    instrument()
    if os.environ.get(STARTED) == str(os.getpid()):  # a child process may use other modules, or another Python
        atexit.register(warn_of_missing_modules)
    Launcher.name = Launcher.RUN_WITH_COMMANDS if "subprocess" in instrumented() else Launcher.RUN
