"""The oldest supported Strands, which runs its tools in another way than the newest, and has no events of its own for
their results."""

import pytest

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, text, tool_call, tool_result_received
from tests.frameworks import test_strands as newest
from tests.support.journal_reader import Recording

server, recording = newest.server, newest.recording


@pytest.mark.covers("strands", "oldest")
def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    newest.test_a_fork_gives_a_tool_another_result(server)


@pytest.mark.covers("strands", "oldest")
def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    newest.test_an_observed_function_is_one_call(recording, server)


@pytest.mark.covers("strands", "oldest")
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("broken"), tool_call("broken", {"order": "A1"}))
    server.otherwise(text("sorry"))
    with playhead.run("r") as run:
        live = newest.agent(server, tools=[newest.broken])
        live("where is A1?")
    [failed] = [span for span in recording.read().spans if span.attributes[names.KIND] == "tool"]
    assert (failed.status, failed.attributes[names.ERROR_TYPE]) == (2, "tool_error")  # it does not say which
    assert failed.status_message == "Error: LookupError - no A1"
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun"), playhead.run("r"):
        again = newest.agent(server, tools=[newest.broken])
        again("where is A1?")
    assert (len(server.requests), again.messages) == (requests, live.messages)
