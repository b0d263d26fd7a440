"""The examples of docs/processes.md run as they stand: each records one run, over processes of all kinds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from playhead.model import names
from tests.wire.processes.documented import PROVIDER, Programs, processes, story

UVICORN = ("-m", "uvicorn", "--port=0", "--lifespan=off", "--log-level=info")
READY = "Uvicorn running on"
WORKER = ("-m", "celery", "-A", "tasks", "worker", "--pool=prefork", "--concurrency=1", "--loglevel=info")
TOOL = ["tool_called {}", "tool_completed {}"]


def tools(name: str) -> list[str]:
    return [line.format(name) for line in TOOL]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


@pytest.fixture(params=["", PROVIDER], ids=["without a provider", "with one"])
def before(request: pytest.FixtureRequest) -> str:
    return request.param


def holds(
    programs: Programs, tool: str, calls: int = 1, others: Callable[[int], bool] = lambda found: found == 1
) -> None:
    """One run, whose tools another process has called."""
    seen, run = programs.one_run()
    assert (run.row.status, run.row.tool_calls, run.row.spans_missing, run.row.session) == (
        "completed", calls, 0, "conv-42",
    )  # fmt: skip
    found = seen.calls(tool)
    assert len(found) == calls
    root = seen.spans[[names.RUN_ROOT in span.attributes for span in seen.spans].index(True)]
    assert all(span.parent_id == root.span_id and span.trace_id == root.trace_id for span in found)
    assert None not in processes(found)
    assert others(len(processes(found)))
    told = story(run)
    assert told[0].startswith("run_started")
    assert told[-1] == "run_completed"
    assert sorted(told[1:-1]) == sorted(tools(tool) * calls)


def test_a_pool_of_processes(programs: Programs, before: str) -> None:
    programs.write("pool", before=before)
    assert programs.run("pool.py") == "6\n"
    holds(programs, "count_words", 3, lambda found: found in (1, 2))


def test_a_pool_that_forks(programs: Programs, before: str) -> None:
    programs.write("pool", before=before)
    path = programs.folder / "pool.py"
    path.write_text(path.read_text().replace('"spawn"', '"fork"'))
    assert programs.run("pool.py") == "6\n"
    holds(programs, "count_words", 3, lambda found: found in (1, 2))


def test_a_program_that_is_started(programs: Programs, before: str) -> None:
    programs.write("parent", "child", before=before)
    assert programs.run("parent.py") == "2\n"
    holds(programs, "count_words")


@pytest.mark.parametrize("service", ["service", "middleware"])
def test_a_service(programs: Programs, before: str, service: str) -> None:
    programs.write(service, "client", before=before)
    client = programs.folder / "client.py"  # as it stands, it waits for 5 seconds
    client.write_text(client.read_text().replace('/stock/tea")', '/stock/tea", timeout=60)'))
    with programs.started([*UVICORN, f"{service}:app"], READY) as line:
        address = line.split(READY)[1].split()[0]
        assert programs.run("client.py", SERVICE=address) == "3\n"
    holds(programs, "stock")


def test_a_worker_of_celery(programs: Programs, before: str) -> None:
    programs.write("tasks", "sender", before=before)
    (programs.folder / "queue").mkdir()
    options = """
app.conf.broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue"}
app.conf.broker_connection_retry_on_startup = True
"""
    path = programs.folder / "tasks.py"
    path.write_text(path.read_text() + options)
    where = {"BROKER": "filesystem://", "RESULTS": f"file://{programs.folder}/results"}
    (programs.folder / "results").mkdir()
    with programs.started(WORKER, " ready.", **where):
        assert programs.run("sender.py", **where).endswith("one\n")
    holds(programs, "summarise")
