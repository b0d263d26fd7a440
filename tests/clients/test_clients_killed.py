"""A plain program on each client, killed at its requests and in its tool, and resumed: no completed call is repeated.

All kills with PLAYHEAD_EVERY_STEP=1; the stream of each client otherwise.
"""

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from playhead.model import names
from playhead.testing import MockModelServer, contains, pytest_plugin, text
from tests.support.programs.framework_runs import Agent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.covers("aiobotocore", "resume"),
    pytest.mark.covers("cohere", "resume"),
    pytest.mark.covers("groq", "resume"),
    pytest.mark.covers("huggingface_hub", "resume"),
    pytest.mark.covers("mistralai", "resume"),
    pytest.mark.covers("ollama", "resume"),
    pytest.mark.covers("openai", "resume"),
    pytest.mark.covers("together", "resume"),
]
server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parent / "programs/three_calls.py"
EVERY_STEP = bool(os.environ.get("PLAYHEAD_EVERY_STEP"))
MODELS = 3
ANSWERS = ["A1", "We are sorry that it is late, and will write again.", "Sorry."]
EFFECTS = ["look_up A1"]
# Of the three answers, in order; a stream has one class for all chunks, or one for each kind of event.
CLASSES = {
    "aiobotocore": ("builtins.dict", "builtins.dict", "builtins.dict"),
    "cohere": ("V2ChatResponse", "ContentDeltaV2ChatStreamResponse", "V2ChatResponse"),
    "groq": ("ChatCompletion", "ChatCompletionChunk", "ChatCompletion"),
    "huggingface_hub": ("ChatCompletionOutput", "ChatCompletionStreamOutput", "ChatCompletionOutput"),
    "mistralai": ("ChatCompletionResponse", "CompletionEvent", "ChatCompletionResponse"),
    "ollama": ("ChatResponse", "ChatResponse", "ChatResponse"),
    "openai.completions": ("Completion", "Completion", "Completion"),
    "together": ("ChatCompletion", "ChatCompletionChunk", "ChatCompletion"),
}
clients = pytest.mark.parametrize("client", CLASSES)


@dataclass
class ThreeCalls(Agent):
    """The program on the client that `variant` names."""

    def script(self) -> None:
        for question, answer in zip(("Which order", "What does one say", "Make it short"), ANSWERS, strict=True):
            self.server.when(contains(question), text(answer))

    def environ(self, more: dict[str, str]) -> dict[str, str]:
        return super().environ({"MODEL_SERVER": self.server.url, **more})

    def assert_said(self, code: int, out: str, errors: str) -> None:
        """It has come to the answers, in objects of the client's own classes."""
        assert code == 0, errors
        printed = json.loads(out)
        assert printed["said"] == ANSWERS
        for found, expected in zip(printed["classes"], CLASSES[self.variant], strict=True):
            assert any(name.endswith(expected) for name in found), found
        assert "live from here" not in errors

    def assert_is_one_run(self) -> None:
        seen = self.recorded()
        spans = {span.span_id: span for span in (*seen.announced, *seen.spans)}
        assert len({span.attributes[names.RUN_ID] for span in spans.values()}) == 1
        assert [span for span in spans.values() if names.UNRESTORABLE in span.attributes] == []
        kinds = [span.attributes[names.KIND] for span in spans.values()]
        assert (kinds.count("agent"), kinds.count("tool"), kinds.count("llm")) == (1, 1, MODELS)


@clients
@pytest.mark.parametrize("number", range(1, MODELS + 1) if EVERY_STEP else (2,))
def test_it_goes_on_from_the_request_at_which_it_was_killed(
    server: MockModelServer, tmp_path: Path, client: str, number: int
):
    agent = ThreeCalls(PROGRAM, client, tmp_path, server)
    agent.run_until_asked(number)
    assert len(server.requests) == number
    agent.assert_said(*agent.run(PLAYHEAD_RESUME=agent.run_id()))
    assert agent.effects() == EFFECTS
    assert len(server.requests) == MODELS + 1, agent.asked()
    again = server.requests[number]
    assert again.messages == server.requests[number - 1].messages
    assert len(agent.asked_more_than_once()) == 1
    agent.assert_is_one_run()


@clients
@pytest.mark.skipif(not EVERY_STEP, reason="the tool is the same on all clients: PLAYHEAD_EVERY_STEP=1")
def test_killed_in_its_tool_it_names_the_tool_and_repeats_no_model_call(
    server: MockModelServer, tmp_path: Path, client: str
):
    agent = ThreeCalls(PROGRAM, client, tmp_path, server)
    agent.script()
    code, _, errors = agent.run(DIE_IN="look_up")
    assert (code, len(server.requests)) == (-signal.SIGKILL, 1), errors
    code, _, errors = agent.resume()
    assert code == 1
    assert "look_up:tool had begun when the process died" in errors
    assert (agent.effects(), len(server.requests)) == (EFFECTS, 1)
    agent.assert_said(*agent.resume(in_doubt="rerun"))
    assert agent.effects() == EFFECTS * 2
    assert (len(server.requests), agent.asked_more_than_once()) == (MODELS, [])
    agent.assert_is_one_run()
