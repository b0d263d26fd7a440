"""Errors and recovery: a rate limit, a server error, arguments that are not JSON, a tool that fails; then success."""

from __future__ import annotations

from playhead.testing.answers import malformed_tool_call, rate_limit, server_error, text, tool_call
from playhead.testing.rules import any_request, contains, tool_offered, tool_requested
from playhead.testing.scenarios.scenario import Scenario, ScenarioLine

_BOOK = tool_offered("book_room")

SCENARIO = Scenario(
    "the tool book_room(room, day), which should say that it is taken for A and booked for B; the first two requests "
    "fail, and the first tool call is malformed",
    (
        ScenarioLine(any_request(), rate_limit(0), times=1),
        ScenarioLine(any_request(), server_error(503), times=1),
        ScenarioLine(_BOOK & ~tool_requested("book_room"), malformed_tool_call("book_room", '{"room": "A", '), times=1),
        ScenarioLine(contains("booked", role="tool"), text("Room B is booked for Monday; A was taken.")),
        ScenarioLine(contains("taken", role="tool"), tool_call("book_room", {"room": "B", "day": "Monday"})),
        ScenarioLine(_BOOK, tool_call("book_room", {"room": "A", "day": "Monday"})),
    ),
)
