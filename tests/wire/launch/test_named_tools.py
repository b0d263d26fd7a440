"""Programs whose searches are plain functions: named by `playhead run --tool`, killed, resumed, and nothing searched
again."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from playhead.model import names
from playhead.testing import ChatRequest, MockModelServer, dropped_connection, pytest_plugin, text
from playhead.testing.answers import Answer
from tests.support.journal_reader import read_journal

server = pytest_plugin.mock_model_server

SEARCHING = '''
"""Searches: what a program would ask the web for."""

from pathlib import Path

def _note(what):
    with Path("effects").open("a") as file:
        file.write(what + "\\n")

class DDGS:
    """A client of a search engine."""

    def text(self, query, *, max_results=5):
        _note(f"search {query}")
        return [{"href": f"https://example.org/{query}", "body": f"about {query}"}][:max_results]

class Duckduckgo:
    """As in gpt-researcher: what is searched is in the object, and in no argument."""

    def __init__(self, query):
        self.query = query

    def search(self, max_results=5):
        return DDGS().text(self.query, max_results=max_results)

def duckduckgo_search(query, max_results=3):
    _note(f"search {query}")
    return {"results": [{"title": query, "url": f"https://example.org/{query}", "content": f"about {query}"}]}

async def scrape(url):
    _note(f"scrape {url}")
    return f"the page {url}"
'''
# The shape of local-deep-researcher: a graph that asks for a query, searches, sums up, and reflects, several times.
GRAPH = """
from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from searching import duckduckgo_search

class Research(TypedDict, total=False):
    topic: str
    query: str
    summary: str
    loops: int

model = ChatOpenAI(model="m", max_retries=0)

def generate_query(state):
    return {"query": model.invoke(f"query for {state['topic']}").content}

def web_research(state):
    found = duckduckgo_search(state["query"], max_results=1)
    return {"summary": state.get("summary", "") + found["results"][0]["content"], "loops": state.get("loops", 0) + 1}

def reflect(state):
    return {"query": model.invoke(f"gap {state['loops']} in {state['summary']}").content}

graph = StateGraph(Research)
for node in (generate_query, web_research, reflect):
    graph.add_node(node.__name__, node)
graph.add_edge(START, "generate_query")
graph.add_edge("generate_query", "web_research")
graph.add_edge("web_research", "reflect")
graph.add_conditional_edges("reflect", lambda state: END if state["loops"] == 3 else "web_research")
print(graph.compile().invoke({"topic": "tides"})["summary"])
"""
# The shape of gpt-researcher: sub-queries, each searched and its pages fetched at the same time, then a report.
PLAIN = """
import asyncio

import openai
import searching

client = openai.AsyncOpenAI(max_retries=0)

async def ask(question):
    answer = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    return answer.choices[0].message.content

async def main():
    context = []
    for turn in range(3):
        query = await ask(f"sub-query {turn} after {context}")
        results = searching.Duckduckgo(query).search(max_results=2)
        context += await asyncio.gather(*[searching.scrape(result["href"]) for result in results])
    print(await ask(f"report {context}"))

asyncio.run(main())
"""
TOOLS = {
    "graph": ["--tool", "searching:duckduckgo_search"],
    "plain": ["--tool", "searching:DDGS.text", "--tool", "searching:scrape"],
}
REQUESTS = 4


class Researcher:
    """A folder with the program, its journal, and what its searches did."""

    def __init__(self, folder: Path, server: MockModelServer, shape: str):
        self.folder, self.server, self.shape = folder, server, shape
        self.kill_at = 0
        self.process: subprocess.Popen[str] | None = None
        (folder / "searching.py").write_text(SEARCHING)
        (folder / "program.py").write_text({"graph": GRAPH, "plain": PLAIN}[shape])
        server.otherwise(self._answer)

    def _answer(self, request: ChatRequest) -> Answer:
        if request.number == self.kill_at and self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            return dropped_connection()
        return text(f"q{len(Counter(map(str, [each.messages for each in self.server.requests])))}")

    def playhead(self, *arguments: str, kill_at: int = 0, **environ: str) -> tuple[int, str, str]:
        self.kill_at = kill_at
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_", "PLAYHEAD_"))
        }
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1"}
        kept |= {"PLAYHEAD_JOURNAL_DIR": str(self.folder / "journal"), "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9"}
        kept |= {"PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1", "OPENAI_BASE_URL": self.server.base_url}
        command = [sys.executable, "-m", "playhead", *arguments, "--", sys.executable, "program.py"]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command,
            env=kept | {"OPENAI_API_KEY": "none"} | environ,
            cwd=self.folder,
            stdout=pipe,
            stderr=pipe,
            text=True,
        ) as self.process:
            try:
                out, errors = self.process.communicate(timeout=300)
            finally:
                self.process.kill()
        return self.process.returncode, out, errors

    def effects(self) -> list[str]:
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def run_id(self) -> str:
        [run_id] = {str(span.attributes[names.RUN_ID]) for span in read_journal(self.folder / "journal").announced}
        return run_id

    def asked_again(self) -> int:
        return sum(count - 1 for count in Counter(str(each.messages) for each in self.server.requests).values())


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["graph", "plain"])
@pytest.mark.parametrize("request_number", range(1, REQUESTS + 1))
def test_killed_at_any_request_it_is_resumed_without_a_search_or_an_answer_twice(
    server: MockModelServer, tmp_path: Path, shape: str, request_number: int
):
    researcher = Researcher(tmp_path, server, shape)
    code, _, errors = researcher.playhead("run", *TOOLS[shape], kill_at=request_number)
    assert code == -signal.SIGKILL, errors
    before = researcher.effects()
    code, out, errors = researcher.playhead("resume", researcher.run_id())
    assert code == 0, errors
    assert "live from here" not in errors
    effects = researcher.effects()
    assert effects[: len(before)] == before
    assert len(set(effects)) == len(effects) == (3 if shape == "graph" else 6), errors
    assert len(server.requests) == REQUESTS + 1
    assert researcher.asked_again() == 1, "the one that was cut off"
    assert out.strip()


@pytest.mark.slow
def test_without_the_option_each_search_is_made_again(server: MockModelServer, tmp_path: Path):
    """What the option is for."""
    researcher = Researcher(tmp_path, server, "graph")
    researcher.playhead("run", kill_at=3)
    code, _, errors = researcher.playhead("resume", researcher.run_id())
    assert code == 0, errors
    assert len(set(researcher.effects())) < len(researcher.effects())


@pytest.mark.slow
def test_resume_takes_the_option_too(server: MockModelServer, tmp_path: Path):
    """A run that was recorded without it: what is executed from then on is recorded, and not executed a third time."""
    researcher = Researcher(tmp_path, server, "graph")
    researcher.playhead("run", kill_at=3)
    code, _, errors = researcher.playhead("resume", researcher.run_id(), *TOOLS["graph"], "--on-divergence", "live")
    assert code == 0, errors
    tools = [span.attributes[names.TOOL_NAME] for span in read_journal(tmp_path / "journal").of_kind("tool")]
    assert set(tools) == {"duckduckgo_search"}


def test_the_program_is_not_started_with_a_name_that_is_none(server: MockModelServer, tmp_path: Path):
    researcher = Researcher(tmp_path, server, "plain")
    for name, reason in [("searching", "expected MODULE:FUNCTION"), ("__main__:ask", "of the started script")]:
        code, _, errors = researcher.playhead("run", "--tool", name)
        assert (code, server.requests) == (2, [])
        assert f"--tool {name}: " in errors
        assert reason in errors


@pytest.mark.slow
def test_a_module_that_does_not_exist_is_said_at_the_end(server: MockModelServer, tmp_path: Path):
    researcher = Researcher(tmp_path, server, "plain")
    code, _, errors = researcher.playhead("run", "--tool", "serching:scrape")
    assert code == 0, errors
    assert "serching:scrape is not recorded as a tool: there is no module serching" in errors
