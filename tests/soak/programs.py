"""Kinds of programs that are not a plain script: each is recorded whole, and does what it does without recording."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import httpx

from playhead_collector.process import CollectorProcess
from tests.soak.conditions import AGENT, Conditions, environment, recorded_runs, run_program, ship
from tests.support.bar import Row, at_most, not_measured

# Decorators in stacks, pickled functions and objects, signatures: with PLAYHEAD off and on, the same is printed.
DECORATED = """
import asyncio, copy, functools, inspect, pickle, sys
sys.modules["decorated"] = sys.modules["__main__"]
from playhead import observe

def twice(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*args, **kwargs) * 2
    return wrapped

@twice
@observe
@twice
def stacked(a, /, b: int = 2, *args: str, c, **kwargs) -> int:
    "Its docstring."
    return a + b + c

class Agent:
    @observe
    def method(self, x): return x
    @staticmethod
    @observe
    def static(x): return x
    @classmethod
    @observe
    def made(cls, x): return cls, x
    @property
    @observe
    def value(self): return 7

@observe
async def awaited(x): return x

@observe
def generated(n):
    yield from range(n)

@observe
@functools.lru_cache
def cached(x): return object()

print(stacked(1, c=3), inspect.signature(stacked), stacked.__doc__, stacked.__name__)
agent = Agent()
print(agent.method(1), Agent.static(2), Agent.made(3)[1], agent.value, inspect.signature(Agent.method))
print(asyncio.run(awaited(4)), inspect.iscoroutinefunction(awaited), list(generated(3)), cached(1) is cached(1))
print(pickle.loads(pickle.dumps(generated)) is generated, copy.deepcopy(awaited) is awaited)
print(functools.partial(stacked, 1)(c=1), functools.reduce(lambda a, b: a + b, map(Agent.static, [1, 2])))
"""

GUNICORN = (
    AGENT
    + """
def application(environ, start_response):
    body = str(agent(int(environ["QUERY_STRING"]))).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""
)

CELERY = (
    AGENT
    + """
from celery import Celery
app = Celery("soaked", broker="filesystem://", backend="file://" + __import__("os").environ["SOAK_FOLDER"] + "/results")
folder = __import__("os").environ["SOAK_FOLDER"]
queue, control = folder + "/queue", folder + "/control"
app.conf.broker_transport_options = {"data_folder_in": queue, "data_folder_out": queue, "control_folder": control}
app.conf.worker_prefetch_multiplier = 1

@app.task
def work(number):
    return agent(number)
"""
)


def measure(_conditions: Conditions) -> Iterator[Row]:
    """For each kind: wrong results, and runs that did not arrive whole."""
    kinds: dict[str, Callable[[Path, Mapping[str, str]], tuple[int, str]]] = {
        "python -O": _optimised,
        "C locale": _in_c_locale,
        "decorator stacks, pickling, signatures": _decorated,
        "pytest-xdist": _xdist,
        "gunicorn, preloaded": _gunicorn,
        "Celery, prefork": _celery,
        "Jupyter": _notebook,
    }
    needs = {
        "gunicorn, preloaded": "gunicorn",
        "Celery, prefork": "celery",
        "Jupyter": "nbclient",
        "pytest-xdist": "xdist",
    }
    for name, program in kinds.items():
        if (library := needs.get(name)) and find_spec(library) is None:
            yield not_measured("programs", name, f"{library} is not installed: `make soak` installs it")
            continue
        yield from _kind(name, program)


def _kind(name: str, program: Callable[[Path, Mapping[str, str]], tuple[int, str]]) -> Iterator[Row]:
    """`program` returns how many runs it made, and what went wrong (empty: nothing)."""
    with tempfile.TemporaryDirectory(prefix="playhead-soak-") as folder, CollectorProcess() as collector:
        env = {**environment(Path(folder, "journal"), collector.url), "SOAK_FOLDER": folder}
        runs, wrong = program(Path(folder), env)
        ship(env)
        arrived = len(recorded_runs(collector))
    yield at_most("programs", f"{name}: wrong results", int(bool(wrong)), 0, unit="", against=wrong[:300])
    yield at_most("programs", f"{name}: runs lost or doubled", abs(runs - arrived), 0, unit="", against=f"{runs} runs")


def _plain(env: Mapping[str, str], *python: str) -> tuple[int, str]:
    # No assert: -O leaves them out.
    done = run_program(
        AGENT + "if [agent(n) for n in range(20)] != [*range(1, 21)]: raise SystemExit(1)", env, python=python
    )
    return 20, done.stderr if done.returncode else ""


def _optimised(_folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    return _plain(env, sys.executable, "-OO")


def _in_c_locale(_folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    c_locale = {**env, "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    asserted = "assert agent('\\u4e2d' * 0 or 1) == 2\nassert say('\\u00e9\\u4e2d') == '\\u00e9\\u4e2d'"
    program = f"{AGENT}\n@observe\ndef say(x): return x\nfor n in range(19): agent(n)\n{asserted}"
    done = run_program(program, c_locale)
    return 21, done.stderr if done.returncode else ""


def _decorated(_folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    off = run_program(DECORATED, {**env, "OTEL_SDK_DISABLED": "true"})
    on = run_program(DECORATED, env)
    same = (on.stdout, on.returncode) == (off.stdout, off.returncode) and on.returncode == 0
    return _runs_of_journal(env), "" if same else f"{off.stdout}{off.stderr} | {on.stdout}{on.stderr}"


def _runs_of_journal(env: Mapping[str, str]) -> int:
    """How many runs the journal has: all of them have to arrive."""
    command = [sys.executable, "-m", "playhead", "runs", "--local", "--json", "--limit", "100"]
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=True)
    return done.stdout.count('"run":')


def _xdist(folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    test = (
        AGENT
        + "import pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_it(n):\n    assert agent(n) == n + 1\n"
    )
    (folder / "test_soaked.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "4", "-p", "no:cacheprovider", "test_soaked.py"]
    done = subprocess.run(command, cwd=folder, env=dict(env), capture_output=True, text=True, check=False)
    return 40, done.stdout if done.returncode else ""


def _gunicorn(folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    (folder / "served.py").write_text(GUNICORN)
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--preload",
        "--workers",
        "3",
        "--bind",
        "127.0.0.1:0",
        "served:application",
    ]
    with subprocess.Popen(command, cwd=folder, env=dict(env), stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = next(line.split()[-2] for line in server.stderr if "Listening at" in line)
        answers = [httpx.get(f"{url}/?{n}", timeout=60, trust_env=False).text for n in range(60)]
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    return 60, "" if answers == [str(n + 1) for n in range(60)] else str(answers)


def _celery(folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    for name in ("queue", "results"):
        (folder / name).mkdir()
    (folder / "soaked.py").write_text(CELERY)
    worker = [sys.executable, "-m", "celery", "-A", "soaked", "worker", "--pool", "prefork", "-c", "3", "-l", "warning"]
    send = (
        "from soaked import work\n"
        "results = [work.delay(n) for n in range(30)]\n"
        "print([result.get(timeout=120) for result in results])"
    )
    paths = {**env, "PYTHONPATH": f"{folder}{os.pathsep}{env['PYTHONPATH']}", "C_FORCE_ROOT": "1"}
    with subprocess.Popen(
        worker, cwd=folder, env=paths, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        done = run_program(send, paths)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)
    return 30, "" if done.stdout.strip() == str([n + 1 for n in range(30)]) else done.stdout + done.stderr[-500:]


def _notebook(folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    program = f"""
import nbformat
from nbclient import NotebookClient
cells = [nbformat.v4.new_code_cell({AGENT!r})]
cells += [nbformat.v4.new_code_cell(f"assert agent({{n}}) == {{n}} + 1") for n in range(10)]
cells += [nbformat.v4.new_code_cell("@observe\\nasync def later(n): return n\\nassert await later(3) == 3")]
NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=120, kernel_name="python3").execute()
"""
    done = run_program(program, {**env, "JUPYTER_DATA_DIR": str(folder), "IPYTHONDIR": str(folder)})
    return 11, done.stderr[-1000:] if done.returncode else ""
