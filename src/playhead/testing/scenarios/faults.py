"""Scenarios of what goes wrong: errors of the provider, arguments that cannot be read, answers that come too late."""

from playhead.testing.answers import (
    context_too_long,
    delay,
    malformed_tool_call,
    rate_limit,
    server_error,
    text,
    thinking,
    tool_call,
)
from playhead.testing.rules import (
    any_request,
    contains,
    context_exceeds,
    regex,
    tool_offered,
    tool_requested,
    tool_result_received,
)
from playhead.testing.scenarios.prompts import asked
from playhead.testing.script import Script

# --- errors, one at a time --------------------------------------------------------------------------------------------

_MAX_TOKENS = 4_000
_WAIT_SECONDS = 1
_SLOW_SECONDS = 120
_ORDER, _LOOK_UP = r"\border\b", "look_up_order"
# The order's status is what a result of the tool has, and an error does not.
_FOUND = contains("status", role="tool")

ERRORS = (
    Script(
        description="a user's message that says rate limit is refused once, with a second to wait; a context of more "
        "than 4,000 tokens is refused as too long; for one that says order, the model asks for the tool "
        "look_up_order(order) with arguments that are no object, and again with an object, until a result has a "
        "`status`; one that says report is answered after 120 seconds; others are answered at once"
    )
    .when(context_exceeds(_MAX_TOKENS), context_too_long(_MAX_TOKENS))
    .when(asked("rate limit"), rate_limit(_WAIT_SECONDS), times=1)
    .when(
        asked("report"),
        delay(_SLOW_SECONDS, thinking("A report takes a while.") + text("The report: thirty orders, two came back.")),
    )
    .when(
        tool_result_received(last=True) & _FOUND, thinking("There is its status.") + text("Order A1001 is on its way.")
    )
    .when(
        asked(_ORDER) & tool_offered(_LOOK_UP) & ~tool_requested(_LOOK_UP),
        thinking("I look the order up.") + malformed_tool_call(_LOOK_UP, '"A1001"'),
    )
    # Not `asked`: where a provider's API has no such arguments, the client says something else before the next request.
    .when(
        regex(_ORDER, role="user") & tool_offered(_LOOK_UP) & ~_FOUND,
        thinking("The arguments have to be an object.") + tool_call(_LOOK_UP, {"order": "A1001"}),
    )
    .when(any_request(), thinking("That I can answer at once.") + text("Thirty orders were made today."))
)

# --- errors and recovery ----------------------------------------------------------------------------------------------

# A rate limit, a server error, arguments that are not JSON, a tool that fails; then success.
_CAN_BOOK = tool_offered("book_room")

ERROR_RECOVERY = (
    Script(
        description="the tool book_room(room, day), which should say that it is taken for A and booked for B; the "
        "first two requests fail, and the first tool call is malformed"
    )
    .when(any_request(), rate_limit(0), times=1)
    .when(any_request(), server_error(503), times=1)
    .when(_CAN_BOOK & ~tool_requested("book_room"), malformed_tool_call("book_room", '{"room": "A", '), times=1)
    .when(contains("booked", role="tool"), text("Room B is booked for Monday; A was taken."))
    .when(contains("taken", role="tool"), tool_call("book_room", {"room": "B", "day": "Monday"}))
    .when(_CAN_BOOK, tool_call("book_room", {"room": "A", "day": "Monday"}))
)
