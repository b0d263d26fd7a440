"""Scenarios of one agent that uses tools: one tool per request, and a code assistant."""

from playhead.testing.answers import text, thinking, tool_call
from playhead.testing.rules import regex, tool_offered, tool_requested, tool_result_received
from playhead.testing.scenarios.prompts import asked
from playhead.testing.script import Script

_FILE = "shop/prices.py"

# --- tool calling -----------------------------------------------------------------------------------------------------

# Each request asks for one tool; after its result, whichever tool it is of, there is the answer.
_EDIT = {"path": _FILE, "old": "total * discount", "new": "total * (1 - discount)"}

TOOL_CALLING = (
    Script(
        description="the tools read_file(path), edit_file(path, old, new) and search(text); a user's message that "
        "says read, edit or search asks for the tool, and what follows any tool's result is an answer"
    )
    .when(
        tool_result_received(last=True), thinking("The tool has done it; I can answer.") + text("Done, see the result.")
    )
    .when(
        tool_offered("read_file") & asked(r"\bread\b"),
        thinking("I have to read the file.") + tool_call("read_file", {"path": _FILE}),
    )
    .when(
        tool_offered("edit_file") & asked(r"\bedit\b"),
        thinking("One line is wrong: the discount has to be taken off.") + tool_call("edit_file", _EDIT),
    )
    .when(
        tool_offered("search") & asked(r"\bsearch\b"),
        thinking("Other files may use it, too.") + tool_call("search", {"text": "discounted"}),
    )
)

# --- code assistant ---------------------------------------------------------------------------------------------------

# It searches, reads what it found, and answers.
_DENIED = regex(r"(?i)\bdenied\b", role="tool", last=True)

CODE_ASSISTANT = (
    Script(
        description="the tools search(text) and read_file(path), and a question about a discount. After a result "
        "that says `denied`, the model answers that it could not look"
    )
    .when(
        _DENIED,
        thinking("Without the files I would have to guess.")
        + text("I was not allowed to look at the files, so I cannot say."),
    )
    .when(
        tool_offered("search") & ~tool_requested("search"),
        thinking("First I have to find where the discount is used.") + tool_call("search", {"text": "discount"}),
    )
    .when(
        tool_offered("read_file") & ~tool_requested("read_file"),
        thinking("The function is in this file; I read it.") + tool_call("read_file", {"path": _FILE}),
    )
    .when(
        tool_result_received("read_file"),
        thinking("It multiplies by the discount instead of taking it off.")
        + text(f"`{_FILE}` multiplies by the discount itself, so ten percent off leaves ten percent."),
    )
)
