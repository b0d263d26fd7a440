"""Programs without a line of Playhead's: calls belong to the run of what started them, and to no other's."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx
import pytest

from playhead.model import names
from playhead.testing import MockModelServer, text
from tests.support.journal_reader import read_journal

# In each program, `ask` asks the model. Whoever is asked answers something else each time.
ASK = """
import openai

client = openai.OpenAI()

def ask(*messages):
    asked = [{"role": role, "content": content} for role, content in messages]
    return client.chat.completions.create(model="m", messages=asked).choices[0].message.content
"""
# As tau-bench: an agent and a simulated user, who talk with each other, for each task of a pool's threads.
SIMULATION = (
    ASK
    + """
import sys
from concurrent.futures import ThreadPoolExecutor

def solve(task):
    user = [("system", f"You are a customer who wants {task}."), ("user", "Hi! How can I help you today?")]
    agent = [("system", "You are a clerk.")]
    said = ask(*user)
    for turn in range(4):
        agent.append(("user", said))
        answer = ask(*agent)
        agent.append(("assistant", answer))
        user += [("assistant", said), ("user", answer)]
        said = ask(*user)

with ThreadPoolExecutor(int(sys.argv[1])) as pool:
    list(pool.map(solve, ["a refund", "an exchange", "a receipt"]))
"""
)
# As gpt-researcher: a plan, several questions at a time, a report.
RESEARCH = """
import asyncio, openai

client = openai.AsyncOpenAI()
plain = openai.OpenAI()

async def ask(question):
    asked = [{"role": "user", "content": question}]
    return (await client.chat.completions.create(model="m", messages=asked)).choices[0].message.content

def ask_plainly(question):
    asked = [{"role": "user", "content": question}]
    return plain.chat.completions.create(model="m", messages=asked).choices[0].message.content

async def main():
    await ask("make a plan")
    await asyncio.gather(*(look_up(f"what of {n}") for n in range(3)))
    await asyncio.wait_for(ask("is it enough"), 60)
    await asyncio.to_thread(ask_plainly, "write a report")

async def look_up(question):
    await asyncio.gather(ask(question), ask(f"{question} in short"))

asyncio.run(main())
"""
# A server under `asyncio.run`, whose handlers are tasks that nobody waits for, and a bot that makes such tasks itself.
MANY_PEOPLE = (
    RESEARCH.partition("async def main")[0]
    + """
async def serve_one(reader, writer):
    person = (await reader.readline()).decode().strip()
    await ask(f"{person} says hello")
    await ask(f"{person} says goodbye")
    writer.close()

async def hear(person):
    await ask(f"{person} asks the bot")
    await ask(f"{person} thanks the bot")

async def main():
    await ask("warm up")
    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    for person in ("Ada", "Eve"):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(f"{person}\\n".encode())
        assert await reader.read() == b""
        writer.close()
    heard = [asyncio.create_task(hear(person)) for person in ("Bob", "Joe")]
    await asyncio.wait(heard)

asyncio.run(main())
"""
)
# The main thread serves one person after the other.
HANDLERS = (
    ASK
    + """
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        ask(("system", "You are kind."), ("user", f"{self.path} says hello"))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Handler)

def people():
    for person in ("Ada", "Eve", "Bob"):
        connection = HTTPConnection(*server.server_address)
        connection.request("GET", f"/{person}")
        connection.getresponse().read()

threading.Thread(target=people).start()
for _ in range(3):
    server.handle_request()
"""
)
TASKS = (
    ASK
    + """
import os
from celery import Celery

app = Celery("tasks", broker=os.environ.get("BROKER", "memory://"), backend=os.environ.get("RESULTS", "cache+memory://"))
if "BROKER" in os.environ:
    app.conf.broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue"}
app.conf.broker_connection_retry_on_startup = True

@app.task
def summarise(text):
    ask(("user", f"what is {text} about"))
    return ask(("user", f"summarise {text}"))

if __name__ == "__main__":
    app.conf.task_always_eager = "BROKER" not in os.environ
    print([summarise.delay(each).get(timeout=60) for each in ("one", "two", "three")])
"""
)
SERVICE = (
    ASK
    + """
from fastapi import BackgroundTasks, FastAPI
from starlette.responses import StreamingResponse

app, inner = FastAPI(), FastAPI()
app.mount("/inner", inner)

async def note(chat):
    ask(("user", f"a note on {chat}"))

@app.post("/chats/{chat}")
async def answer(chat: str, later: BackgroundTasks):
    later.add_task(note, chat)
    later.add_task(ask, ("user", f"a title for {chat}"))
    ask(("user", f"{chat} says hello"))
    return ask(("user", f"translate {chat}"))

@app.get("/plain/{chat}")
def plain(chat: str):
    ask(("user", f"{chat} is here"))
    return ask(("user", f"{chat} is gone"))

@inner.get("/streams/{chat}")
async def stream(chat: str):
    def lines():
        for word in ("first", "second"):
            yield ask(("user", f"the {word} line of {chat}"))

    return StreamingResponse(lines())
"""
)
Runs = Callable[[], list[tuple[str, int]]]
WORKER = ("-m", "celery", "-A", "tasks", "worker", "--pool=solo", "--loglevel=info")
UVICORN = ("-m", "uvicorn", "--port=0", "--lifespan=off", "--log-level=info", "service:app")


class Programs:
    """A folder with programs, which `playhead run` starts; what they record, and the model that they ask."""

    def __init__(self, folder: Path, model: MockModelServer) -> None:
        self.folder, self.model = folder, model

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
        kept |= {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
            "PLAYHEAD_JOURNAL_DIR": str(self.folder / "journal"), "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9",
            "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1", "OPENAI_BASE_URL": self.model.base_url, "OPENAI_API_KEY": "none",
        }  # fmt: skip
        return kept | more

    def run(self, code: str, *arguments: str, **environ: str) -> None:
        (self.folder / "program.py").write_text(code, encoding="utf-8")
        command = [sys.executable, "-m", "playhead", "run", "--", sys.executable, "program.py", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environ(**environ), capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    @contextmanager
    def started(self, name: str, code: str, command: tuple[str, ...], ready: str, **environ: str) -> Iterator[str]:
        """A program while it runs; gives the line with which it has said that it is ready."""
        (self.folder / f"{name}.py").write_text(code, encoding="utf-8")
        with subprocess.Popen(
            [sys.executable, "-m", "playhead", "run", "--", sys.executable, *command], cwd=self.folder,
            env=self.environ(**environ), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            said: list[str] = []
            try:
                for line in process.stdout:
                    said.append(line)
                    if ready in line:
                        break
                assert process.poll() is None, "".join(said)
                yield said[-1]
            finally:
                process.terminate()
                process.communicate(timeout=300)

    def runs(self) -> list[tuple[str, int]]:
        """Name and number of calls of each run, sorted."""
        spans = read_journal(self.folder / "journal").spans
        assert all(names.RUN_ROOT in span.attributes for span in spans)
        calls = Counter(str(span.attributes[names.RUN_ID]) for span in spans)
        named = {str(span.attributes[names.RUN_ID]): str(span.attributes[names.RUN_NAME]) for span in spans}
        return sorted((named[run], number) for run, number in calls.items())


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    numbers = count(1)
    with MockModelServer() as model:
        model.otherwise(lambda request: text(f"this is answer number {next(numbers)}"))
        yield Programs(tmp_path, model)


@pytest.mark.parametrize("workers", ["1", "3"])
def test_conversations_in_a_pool_of_threads(programs: Programs, workers: str):
    programs.run(SIMULATION, workers)
    assert programs.runs() == [("ThreadPoolExecutor", 9)] * 3


def test_what_asyncio_run_runs_and_waits_for(programs: Programs):
    programs.run(RESEARCH)
    assert programs.runs() == [("main", 9)]


def test_people_who_are_served_inside_asyncio_run(programs: Programs):
    programs.run(MANY_PEOPLE)
    assert programs.runs() == [("hear", 2), ("hear", 2), ("main", 1), ("serve_one", 2), ("serve_one", 2)]


def test_people_who_are_served_by_the_main_thread(programs: Programs):
    programs.run(HANDLERS)
    assert programs.runs() == [("chat m", 1)] * 3


def test_the_main_function_of_a_program(programs: Programs):
    programs.run(ASK + 'def main():\n    ask(("user", "one"))\n    ask(("user", "two"))\n\nmain()\n')
    assert programs.runs() == [("program.py", 2)]


def test_tasks_of_celery_that_are_run_at_once(programs: Programs):
    programs.run(TASKS)
    assert programs.runs() == [("tasks.summarise", 2)] * 3


def test_tasks_of_celery_in_a_worker(programs: Programs):
    for name in ("queue", "results"):
        (programs.folder / name).mkdir()
    where = {"BROKER": "filesystem://", "RESULTS": f"file://{programs.folder}/results"}
    with programs.started("tasks", TASKS, WORKER, " ready.", **where):
        programs.run("import tasks\n" + 'print([tasks.summarise.delay(n).get(timeout=60) for n in "abc"])\n', **where)
    assert programs.runs() == [("tasks.summarise", 2)] * 3


def test_requests_of_a_service_at_a_time(programs: Programs):
    asked = [("POST", f"/chats/{n}") for n in range(4)]
    asked += [(("GET"), f"/{kind}/{n}") for n in range(2) for kind in ("plain", "inner/streams")]
    with programs.started("service", SERVICE, UVICORN, "Uvicorn running on") as line:
        address = line.split("Uvicorn running on")[1].split()[0]
        with httpx.Client(base_url=address, timeout=60, trust_env=False) as http, ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda request: http.request(*request), asked))
    assert {answer.status_code for answer in answers} == {200}
    assert (
        programs.runs()
        == [("GET /inner/streams/{chat}", 2)] * 2 + [("GET /plain/{chat}", 2)] * 2 + [("POST /chats/{chat}", 4)] * 4
    )


def test_it_can_be_switched_off(programs: Programs):
    programs.run(SIMULATION, "3", PLAYHEAD_GROUP_CALLS="false")
    assert programs.runs() == [("chat m", 1)] * 27
