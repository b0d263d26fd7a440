"""Runs an example with an agent as a process of its own that dies where it is told to, and resumes it: see
`killed_examples`.

EXAMPLE names the file below examples/. DIE_AT_APPEND is the number of the journal's append after which it dies,
DIE_IN_TOOL that of the tool in which it dies before the tool does anything; 0: nowhere. Each tool that begins to work
is a line in the file EFFECTS. Prints the run's id, what was resumed, how often it has appended, and the answer as JSON.
"""

# ruff: noqa: T201 - what it prints is what the harness reads

import inspect
import json
import os
import signal
import sys
from contextlib import nullcontext
from importlib import import_module
from itertools import count
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import openai

import playhead
from playhead.agent.tools import Tool
from playhead.journal.segment import Segment
from playhead.models import OpenAIModel
from tests.support.programs.examples import ROOT, load_example

_entered = count(1)
_appends = 0
# The mock model answers as soon as this machine lets it, but for the report, which is to come too late.
_TIMEOUT_SECONDS, _REPORT_SECONDS = 120.0, 2.0


class ImpatientForReports(openai.DefaultHttpxClient):
    """Waits for reports only as long as the example does for everything."""

    def send(self, request: Any, **options: Any) -> Any:
        if b"Please write a report." in request.content:
            request.extensions["timeout"] = {**request.extensions["timeout"], "read": _REPORT_SECONDS}
        return super().send(request, **options)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_after_append(number: int) -> None:
    append = Segment.append

    def counted(self: Segment, data: bytes) -> int:
        global _appends  # noqa: PLW0603 - one per process
        written = append(self, data)
        _appends += 1
        if _appends == number:
            die()
        return written

    Segment.append = counted


def tools_of(*modules: ModuleType) -> set[CodeType]:
    """The functions of all tools, also of those that are methods."""
    values = [value for module in modules for value in vars(module).values()]
    classes = [value for value in values if isinstance(value, type)]
    values += [value for each in classes for value in vars(each).values()]
    functions = [inspect.unwrap(value) for value in values if isinstance(value, Tool)]
    return {function.__code__ for function in functions if inspect.isfunction(function)}


def note_tools(codes: set[CodeType], number: int) -> None:
    """Writes down each tool that is entered, in this thread."""
    effects = Path(os.environ["EFFECTS"])

    def called(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            if next(_entered) == number:
                die()
            with effects.open("a") as file:
                file.write(f"{frame.f_code.co_name}\n")

    sys.setprofile(called)


def main() -> None:
    sys.path.insert(0, str(ROOT / "examples"))
    example: Any = load_example(os.environ["EXAMPLE"])
    http_client = ImpatientForReports() if os.environ["EXAMPLE"] == "agents/errors" else None
    client = openai.OpenAI(max_retries=0, timeout=_TIMEOUT_SECONDS, http_client=http_client)
    model = OpenAIModel("gpt-4o-mini", client=client)
    resumed_id = sys.argv[1] if len(sys.argv) > 1 else None
    doubt: Any = os.environ.get("IN_DOUBT", "raise")
    resuming: Any = nullcontext() if resumed_id is None else playhead.resume(resumed_id, in_doubt=doubt)
    with resuming as resumed, playhead.run("example") as run:
        print(run.id, flush=True)
        die_after_append(int(os.environ["DIE_AT_APPEND"]))
        tools: Any = import_module("tools")  # of examples/, as the example itself imports it
        note_tools(tools_of(example, tools), int(os.environ["DIE_IN_TOOL"]))
        with tools.person_who_approves(run.id, "search", "read_file"):
            answer = example.solve(model)
        sys.setprofile(None)
        told: dict[str, Any] = {"appends": _appends}
        if resumed is not None:
            told |= {"in_doubt": resumed.report.in_doubt, "left": resumed.not_called_again}
            told |= {"divergences": [str(each) for each in resumed.report.divergences]}
    print(json.dumps(told))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
