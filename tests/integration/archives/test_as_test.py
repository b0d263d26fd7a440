"""`playhead export RUN --as test`: the file that it writes runs, and fails when the agent does something else."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from playhead_collector.process import CollectorProcess
from tests.integration.archives.conftest import Cli, ask, keep
from tests.integration.read.recorded import Recorder
from tests.support.programs.examples import run_example

# pytest-asyncio warns where nobody has chosen.
_SCOPE = "asyncio_default_fixture_loop_scope=function"
ROOT = Path(__file__).parents[3]
# A module with an agent that is a function of its own, and the program that calls it.
MODULE = """
import json
import openai
import playhead

ORDERS = {"A1": 20}

@playhead.observe(kind="tool")
def refund(order, amount):
    if amount > ORDERS[order]:
        raise ValueError("too much")
    return {"refunded": amount}

@playhead.observe(kind="agent")
async def assistant(task, shout=False):
    async with openai.AsyncOpenAI() as client:
        messages = [{"role": "user", "content": task}]
        while True:
            answer = (await client.chat.completions.create(model="m", messages=messages)).choices[0].message
            messages.append(answer.model_dump(exclude_none=True))
            if not answer.tool_calls:
                return answer.content.upper() if shout else answer.content
            for call in answer.tool_calls:
                try:
                    result = json.dumps(refund(**json.loads(call.function.arguments)))
                except Exception as error:
                    result = str(error)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
"""
PROGRAM = """
import asyncio, os, sys
import playhead
from playhead.testing import MockModelServer, rate_limit, sequence, text, tool_call, tool_requested
import assistant_module

playhead.instrument("openai")
with MockModelServer() as server:
    os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
    server.when(sequence(1), tool_call("refund", {"order": "A1", "amount": 21}))
    server.when(sequence(2), tool_call("refund", {"order": "A1", "amount": 20}))
    server.otherwise(text("it is paid back\\nwith \\"quotes\\" and a \\\\ backslash"))
    asyncio.run(assistant_module.assistant("pay back", shout=True))
"""


def run_pytest(*files: Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "PLAYHEAD_", "OTEL_"))}
    env["PYTHONPATH"] = os.pathsep.join([str(cwd), *filter(None, sys.path)])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "-o", _SCOPE]
    return subprocess.run(
        [*command, *map(str, files)], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def exported(recorded: CollectorProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test that is made of a run of examples/support_agent.py."""
    journal = tmp_path_factory.mktemp("journal")
    done = run_example(Path("examples/support_agent.py"), journal, **delivering_to(recorded))
    assert done.code == 0, done.errors
    file = tmp_path_factory.mktemp("tests") / "test_support.py"
    answer = httpx.get(f"{recorded.url}/api/v1/runs/last/test", timeout=60).raise_for_status()
    assert answer.headers["content-type"].startswith("text/x-python")
    file.write_text(answer.text)
    return file


def test_a_recorded_program_becomes_a_test_that_passes_until_it_calls_a_tool_otherwise(exported: Path, tmp_path: Path):
    text = exported.read_text()
    changed = tmp_path / "test_changed.py"
    changed.write_text(text.replace("    ('refund', {'amount': 178.0,", "    ('refund', {'amount': 17.0,"))
    done = run_pytest(exported, changed)
    assert "1 failed, 1 passed" in done.stdout, text + done.stdout + done.stderr
    assert f"FAILED {changed}" in done.stdout or "test_changed.py::" in done.stdout
    assert "not called: refund(amount=17.0, order='A1001')" in done.stdout
    assert "called besides: refund(amount=178.0, order='A1001')" in done.stdout
    assert "Recorded run" in done.stdout
    assert "failed: ValueError: at most 89.00 can be refunded" in done.stdout


def test_the_file_says_what_the_model_and_the_tools_did(exported: Path):
    text = exported.read_text()
    assert "('refund', {'amount': 178.0, 'order': 'A1001'})" in text
    assert "run_program('examples/support_agent.py')" in text
    assert "assert run.answer == (" in text
    assert max(map(len, text.splitlines())) <= 120


def test_an_agent_that_is_a_function_is_called_with_what_it_was_given(
    recorded: CollectorProcess, tmp_path: Path, cli: Cli
):
    (tmp_path / "assistant_module.py").write_text(MODULE)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = run_example(program, tmp_path / "recorded", **delivering_to(recorded))
    assert done.code == 0, done.errors
    file = tmp_path / "test_assistant.py"
    written = cli(recorded, "export", "last", "--as", "test", "-o", file)
    assert written.exit_code == 0, written.output
    text = file.read_text()
    assert "from assistant_module import assistant" in text
    assert "complete(assistant(shout=True, task='pay back'))" in text
    assert cli(recorded, "export", "last", "--as", "test").stdout == text
    file.write_text("mine")
    refused = cli(recorded, "export", "last", "--as", "test", "-o", file)
    assert refused.exit_code == 2
    assert "exists: name another --output, or write over it with --force" in refused.stderr
    assert file.read_text() == "mine"
    assert cli(recorded, "export", "last", "--as", "test", "-o", file, "--force").exit_code == 0
    assert file.read_text() == text
    assert cli(recorded, "export", "last", "--as", "test", "-o", file / "inside").exit_code == 2
    done = run_pytest(file, cwd=tmp_path)
    assert done.returncode == 0, text + done.stdout + done.stderr


def test_what_cannot_become_a_test_is_refused(recorded: CollectorProcess, cli: Cli, tmp_path: Path):
    silent = Recorder("0e" * 16)
    silent.tool("search", {"order": 7}, ["nothing"])
    keep(recorded, silent.batch())
    status, said = ask(recorded, f"runs/{silent.run}/test")
    assert (status, said["error"]["code"]) == (409, "no_model_calls")
    assert ask(recorded, f"runs/{'9' * 32}/test")[0] == 404
    for wrong in (["--all", "--as", "test"], ["last", "last", "--as", "test"], ["last"]):
        refused = cli(recorded, "export", *wrong)
        assert refused.exit_code == 2, refused.output


# A person who answers meanwhile: in the program, so that it needs nobody.
APPROVED = """
import os, threading
import openai
import playhead
from playhead.testing import MockModelServer, text

@playhead.observe(kind="tool", approval="always")
def refund(order, amount):
    return {"refunded": amount}

@playhead.observe(kind="agent")
def support(task):
    client = openai.OpenAI()
    done = []
    for amount in (20, 500):
        try:
            done.append(refund("A1", amount))
        except playhead.Denied as error:
            done.append(str(error))
    branch = playhead.ask("Which shop?")
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"{task} {done} {branch}"}])
    return [*done, branch, playhead.wait_for("payment", key="A1")]

def person(done):
    while not done.wait(0.05):
        for promise in playhead.open_promises():
            if promise["kind"] == "approval" and promise["details"]["amount"] > 100:
                playhead.deny(promise, by="Ada", reason="too much")
            elif promise["kind"] == "approval":
                playhead.approve(promise["id"][:12], by="Ada")
            else:
                playhead.answer(promise, "the large one", by="Eve")

def main():
    playhead.instrument("openai")
    playhead.answer("payment", 480, key="A1")
    done = threading.Event()
    answering = threading.Thread(target=person, args=[done])
    answering.start()
    try:
        with MockModelServer() as server:
            os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
            server.otherwise(text("it is done"))
            print(support("pay back"))
    finally:
        done.set()
        answering.join()
"""
# LangGraph's interrupt; the program goes on by itself, in a second run.
INTERRUPTED = """
import os, sys
import playhead
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from playhead.testing import MockModelServer, sequence, text

playhead.instrument()

def ask_model(state):
    return {"messages": [ChatOpenAI(model="m").invoke(state["messages"])]}

def review(state):
    said = interrupt("Is this fine?")
    return {"messages": [("user", f"a person says {said}")]}

graph = StateGraph(MessagesState)
graph.add_node("first", ask_model)
graph.add_node("review", review)
graph.add_node("second", ask_model)
for one, other in ((START, "first"), ("first", "review"), ("review", "second"), ("second", END)):
    graph.add_edge(one, other)
compiled = graph.compile(checkpointer=InMemorySaver())

def main():
    config = {"configurable": {"thread_id": "t1"}}
    result = compiled.invoke({"messages": [("user", "write a poem")]}, config)
    playhead.answer(playhead.open_promises()[0], "yes", by="Ada") if "record" in os.environ else None
    while (going_on := playhead.answers(result)) is not None:
        result = compiled.invoke(going_on, config)

if "OPENAI_BASE_URL" in os.environ:
    main()
else:
    os.environ["record"] = "1"
    with MockModelServer() as server:
        os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        server.when(sequence(1), text("roses"))
        server.otherwise(text("are red"))
        main()
"""


def delivering_to(collector: CollectorProcess) -> dict[str, str]:
    """The environment of a program that delivers all of its run before it ends."""
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60"}


def test_recorded_decisions_of_people_are_given_again(recorded: CollectorProcess, tmp_path: Path, cli: Cli):
    (tmp_path / "approved_module.py").write_text(APPROVED)
    program = tmp_path / "program.py"
    program.write_text("import approved_module\napproved_module.main()\n")
    done = run_example(program, tmp_path / "recorded", **delivering_to(recorded))
    assert done.code == 0, done.errors
    file = tmp_path / "test_support.py"
    assert cli(recorded, "export", "last", "--as", "test", "-o", file).exit_code == 0
    text = file.read_text()
    for line in (
        "playhead_recorder.approve('run refund', details={'amount': 20, 'order': 'A1'}, by='Ada', times=1)",
        "playhead_recorder.answer('Which shop?', 'the large one', by='Eve', times=1)",
        "playhead_recorder.answer('payment', 480, key='A1', times=1)",
    ):
        assert line in text, text
    changed = tmp_path / "test_changed.py"
    changed.write_text(text.replace("answer('Which shop?'", "answer('Which town?'"))
    again = run_pytest(file, changed, cwd=tmp_path)
    assert "1 failed, 1 passed" in again.stdout, text + again.stdout + again.stderr
    assert "the program waits for 'Which shop?', and the test does not answer that" in again.stdout


def test_an_interrupted_graph_becomes_a_test_that_passes(recorded: CollectorProcess, tmp_path: Path, cli: Cli):
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED)
    done = run_example(program, tmp_path / "recorded", **delivering_to(recorded))
    assert done.code == 0, done.errors
    until = time.monotonic() + 180
    while len(found := ask(recorded, "runs", agent="LangGraph", limit=2)[1]["items"]) < 2:  # by projected runs alone
        assert time.monotonic() < until, found
    going_on, waiting = found
    files = [tmp_path / "test_waiting.py", tmp_path / "test_going_on.py"]
    for run, file in zip((waiting, going_on), files, strict=True):
        assert cli(recorded, "export", run["run"], "--as", "test", "-o", file).exit_code == 0
    again = run_pytest(*files, cwd=tmp_path)
    assert "2 passed" in again.stdout, again.stdout + again.stderr + "".join(file.read_text() for file in files)
    assert "playhead_recorder.until_it_waits()" in files[0].read_text()
    assert "playhead_recorder.answer('Is this fine?', 'yes', by='Ada', times=1)" in files[1].read_text()
