"""`python -m playhead.testing`: the mock model server by itself, as somebody without a key starts it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from playhead.testing import __main__ as command


@contextmanager
def running(*options: str) -> Iterator[tuple[openai.OpenAI, subprocess.Popen[str]]]:
    program = [sys.executable, "-m", "playhead.testing", "--port", "0", *options]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            [url] = re.findall(r"OPENAI_BASE_URL=(\S+)", lines[2])
            http = openai.DefaultHttpxClient(trust_env=False)
            with openai.OpenAI(base_url=url, api_key="none", http_client=http, max_retries=0) as client:
                yield client, process
        finally:
            process.terminate()
            process.wait(timeout=60)


def ask(client: openai.OpenAI, *messages: Any) -> Any:
    return client.chat.completions.create(model="any", messages=list(messages)).choices[0].message


def test_it_repeats_what_it_was_asked_and_ends_when_told_to():
    with running() as (client, process):
        assert ask(client, {"role": "user", "content": "Where is A1?"}).content.endswith("You said: Where is A1?")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_it_answers_as_it_is_told_after_asking_for_the_tools_it_is_told():
    with running("--answer", "Delayed.", "--tool", "look_up", '{"order": "A1"}') as (client, _):
        question = {"role": "user", "content": "Where is A1?"}
        asked = ask(client, question)
        [call] = asked.tool_calls
        assert (call.function.name, call.function.arguments.replace(" ", "")) == ("look_up", '{"order":"A1"}')
        result = {"role": "tool", "tool_call_id": call.id, "content": "late"}
        assert ask(client, question, asked.model_dump(exclude_none=True), result).content == "Delayed."


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--tool", "look_up", "{order"], "needs its arguments as a JSON object"),
        (["--tool", "look_up", "[1]"], "needs its arguments as a JSON object"),
        (["--trajectories", "{empty}"], "has no recorded runs"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    given = [str(tmp_path) if option == "{empty}" else option for option in options]
    assert command.main(["--port", "0", *given]) == 2
    assert says in capsys.readouterr().err


def test_a_port_that_is_taken_is_one_sentence(capsys: pytest.CaptureFixture[str]):
    with command.MockModelServer() as other:
        port = other.base_url.rpartition(":")[2].partition("/")[0]
        assert command.main(["--port", port]) == 2
    assert "choose another" in capsys.readouterr().err
