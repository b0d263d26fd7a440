"""An agent's process is killed between the model's answer and the save, or after the save: resumed, it asks nothing
again, and the conversation at the collector has everything once."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess

Machine = Callable[..., None]

PROGRAM = """
import os, signal, sys
import playhead
from tests.support import patience

patience.wait_for_collector()
name, question, dies = sys.argv[1:]


def die(when):
    if dies == when:
        os.kill(os.getpid(), signal.SIGKILL)


class DiesWhenSaved(playhead.Conversation):
    def save(self):
        die("before the save")
        revision = super().save()
        die("after the save")
        return revision


agent = playhead.Agent(name="chat", model="gpt-4o")


@agent.execute
async def loop(ctx, ask):
    print(playhead.current_run_id(), flush=True)
    ctx.add("user", ask.prompt)
    answer = await ctx.call()
    die("after the answer")
    return answer.text


conversation = DiesWhenSaved(name)
conversation.reload()
print(agent.run_sync(question, conversation=conversation).response)
"""


@pytest.mark.parametrize("dies", ["after the answer", "before the save", "after the save"])
def test_a_killed_agent_loses_and_doubles_nothing(
    machine: Machine, collector: CollectorProcess, tmp_path: Path, dies: str
):
    name = f"chat {uuid.uuid4().hex[:12]}"
    with MockModelServer() as models:
        models.otherwise(lambda request: text(f"answer {request.number}"))
        env = {
            **os.environ,
            "PLAYHEAD_ENDPOINT": collector.url,
            "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "killed"),
            "OPENAI_BASE_URL": models.base_url,
            "OPENAI_API_KEY": "none",
        }

        def program(question: str, dies: str = "", **more: str) -> Any:
            command = [sys.executable, "-c", PROGRAM, name, question, dies]
            return subprocess.run(
                command, env=env | more, capture_output=True, text=True, timeout=300, check=False
            )  # fmt: skip

        first = program("one")
        assert first.returncode == 0, first.stderr
        killed = program("two", dies)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        asked = len(models.requests)
        resumed = program("two", PLAYHEAD_RESUME=killed.stdout.split()[0])
        assert resumed.returncode == 0, resumed.stderr
        assert resumed.stdout.splitlines()[-1] == "answer 2"
        assert (asked, len(models.requests)) == (2, 2)
    machine("two")
    conversation = playhead.conversation(name)
    assert [message["content"] for message in conversation.messages] == ["one", "answer 1", "two", "answer 2"]
    assert conversation.revision == 2
