"""The context of each model call of a framework's agent is what the model server was really sent."""

from pathlib import Path

import pytest

from playhead.testing import MockModelServer, pytest_plugin
from tests.support.programs.framework_runs import ANSWER, Agent, assert_contexts_are_the_requests

server = pytest_plugin.mock_model_server
PROGRAMS = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.covers("langchain", "messages")
@pytest.mark.covers("langgraph", "messages")
@pytest.mark.covers("agents", "messages")
@pytest.mark.covers("pydantic_ai", "messages")
@pytest.mark.parametrize("framework", ["langgraph", "openai_agents", "pydantic_ai"])
def test_each_context_is_what_the_server_was_sent(server: MockModelServer, tmp_path: Path, framework: str):
    agent = Agent(PROGRAMS / f"framework_{framework}.py", "alone", tmp_path, server)
    agent.script()
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    by_item = framework == "openai_agents"
    assert_contexts_are_the_requests(agent.recorded(), server.requests, has_tokens=True, item_by_item=by_item)
