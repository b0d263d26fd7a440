"""A run with one text wherever a text can be."""

from playhead.model.message import text_message
from tests.integration.read.recorded import Recorder, tool_call


def hostile(run: str, text: str) -> Recorder:
    """The text is asked, called with, answered by a tool, and dropped from the context."""
    recorder = Recorder(run)
    messages = [text_message("system", "You are of help."), text_message("user", text)]
    asked = tool_call("c1", "search", query=text[-300:], order="A-7")
    recorder.model(messages, asked)
    recorder.tool("search", {"query": text[-300:], "order": "A-7"}, text)
    result = {"type": "tool_call_response", "id": "c1", "response": text}
    recorder.model([*messages, asked, {"role": "tool", "parts": [result]}], text_message("assistant", text))
    recorder.model(
        [messages[0], text_message("user", "And order A-7?")], text_message("assistant", "It is on its way.")
    )
    return recorder
