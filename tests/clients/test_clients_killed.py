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

    def check_killed_at_request(self, number: int) -> None:
        self.run_until_asked(number)
        assert len(self.server.requests) == number
        self.assert_said(*self.run(PLAYHEAD_RESUME=self.run_id()))
        assert self.effects() == EFFECTS
        assert len(self.server.requests) == MODELS + 1, self.asked()
        assert self.server.requests[number].messages == self.server.requests[number - 1].messages
        assert len(self.asked_more_than_once()) == 1

    def check_killed_inside_tool(self) -> None:
        self.script()
        code, _, errors = self.run(DIE_IN="look_up")
        assert (code, len(self.server.requests)) == (-signal.SIGKILL, 1), errors
        code, _, errors = self.resume()
        assert code == 1
        assert "look_up:tool had begun when the process died" in errors
        assert (self.effects(), len(self.server.requests)) == (EFFECTS, 1)
        self.assert_said(*self.resume(in_doubt="rerun"))
        assert self.effects() == EFFECTS * 2
        assert (len(self.server.requests), self.asked_more_than_once()) == (MODELS, [])

    def assert_is_one_run(self) -> None:
        seen = self.recorded()
        spans = {span.span_id: span for span in (*seen.announced, *seen.spans)}
        assert len({span.attributes[names.RUN_ID] for span in spans.values()}) == 1
        assert [span for span in spans.values() if names.UNRESTORABLE in span.attributes] == []
        kinds = [span.attributes[names.KIND] for span in spans.values()]
        assert (kinds.count("agent"), kinds.count("tool"), kinds.count("llm")) == (1, 1, MODELS)


@pytest.mark.parametrize("client", CLASSES)
@pytest.mark.parametrize("kill", (*range(1, MODELS + 1), "look_up") if EVERY_STEP else (2,))
def test_it_goes_on_from_where_it_was_killed(server: MockModelServer, tmp_path: Path, client: str, kill: int | str):
    agent = ThreeCalls(PROGRAM, client, tmp_path, server)
    if isinstance(kill, int):
        agent.check_killed_at_request(kill)
    else:
        agent.check_killed_inside_tool()
    agent.assert_is_one_run()
