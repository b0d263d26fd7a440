"""A code assistant in several turns: it searches, reads and edits files, and asks before it edits."""

from __future__ import annotations

from playhead.testing.answers import text, thinking, tool_call
from playhead.testing.rules import contains, tool_requested
from playhead.testing.scenarios.scenario import Scenario, ScenarioLine, asked

_FILE = "shop/prices.py"
_FIND, _FIX, _TEST = asked("why|where|find"), asked("fix|change|edit"), asked("test")
_EDIT = {"path": _FILE, "old": "total * discount", "new": "total * (1 - discount)"}

SCENARIO = Scenario(
    "the tools search_files(pattern), read_file(path), edit_file(path, old, new) and run_tests(); questions that say "
    "why or find, then fix, then test. A result of edit_file with `denied` leaves the file as it is",
    (
        ScenarioLine(_FIND & ~tool_requested("search_files"), tool_call("search_files", {"pattern": "discount"})),
        ScenarioLine(_FIND & ~tool_requested("read_file"), tool_call("read_file", {"path": _FILE})),
        ScenarioLine(
            _FIND, text(f"`{_FILE}` multiplies by the discount itself, so ten percent off leaves ten percent.")
        ),
        ScenarioLine(
            _FIX & ~tool_requested("edit_file"), thinking("One line is wrong.") + tool_call("edit_file", _EDIT)
        ),
        ScenarioLine(_FIX & contains("denied", role="tool"), text("I have left the file as it is.")),
        ScenarioLine(_FIX, text("Done: the discount is now taken off the total.")),
        ScenarioLine(_TEST & ~tool_requested("run_tests"), tool_call("run_tests", {})),
        ScenarioLine(_TEST & contains("failed", role="tool"), text("The tests still fail.")),
        ScenarioLine(_TEST, text("All tests pass.")),
    ),
)
