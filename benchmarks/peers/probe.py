"""Runs all cases under one tool and prints what came out as JSON: `python -m benchmarks.peers.probe TOOL`."""

import contextvars
import importlib
import json
import logging
import sys
import warnings
from typing import Any

from benchmarks.peers.cases import ALL
from benchmarks.peers.cases.case import Case
from benchmarks.peers.recorded import RecordingTool, Wrong


class _Complaints(logging.Handler):
    """Errors that were logged, or raised where nobody can catch them, during a case."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(f"an error is logged: {record.getMessage().splitlines()[0][:80]}")

    def unraisable(self, raised: Any) -> None:
        """For `sys.unraisablehook`."""
        self.found.append(f"{raised.exc_type.__name__} is raised where nobody can catch it")


def outcome(tool: RecordingTool, case: Case, complaints: _Complaints) -> str | None:
    """What is wrong with the case under this tool; None: nothing."""
    tool.reset()
    complaints.found.clear()
    try:
        contextvars.Context().run(case.run, tool)
    except Wrong as wrong:
        return str(wrong)
    except BaseException as error:  # noqa: BLE001 - whatever a tool raises into the program is its result
        return f"the program gets {type(error).__name__}"
    return complaints.found[0] if complaints.found else None


def probe(tool: RecordingTool) -> dict[str, Any]:
    """All cases: `version` of the tool, and under `wrong` what is wrong by the case's title, None where nothing is."""
    complaints = _Complaints()
    logging.getLogger().addHandler(complaints)
    sys.unraisablehook = complaints.unraisable
    return {"version": tool.version, "wrong": {case.title: outcome(tool, case, complaints) for case in ALL}}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    module = importlib.import_module(f"benchmarks.peers.tools.{sys.argv[1]}_tool")
    sys.stdout.write(json.dumps(probe(module.make_tool())) + "\n")
