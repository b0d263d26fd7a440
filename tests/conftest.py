"""What all tests share: Postgres for those that ask for it, and golden files.

Folders say what a test needs: unit (nothing), integration (Postgres), wire (real SDKs and exporters), contract, golden.
A test that needs nothing starts nothing: every fixture here works only when it is asked for.
"""

import asyncio
import difflib
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playhead_collector.process import CollectorProcess

GOLDEN = Path(__file__).parent / "golden"
TEMPLATE = "playhead_template"
# Nothing of these databases outlives the tests, and waiting for the disk takes longer than most tests that ask them.
# Commits stay synchronous, so a killed Postgres still has all that it acknowledged.
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}
T = TypeVar("T")
_numbers = count(1)
# One name after another for XDG_STATE_HOME.
STATES = pytest.StashKey[Iterator[str]]()
# How long one example takes, or is made, says more about what else the machine does than about what is tested.  Each
# run of the tests tries other examples.
settings.register_profile("playhead", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("playhead")


def pytest_configure(config: pytest.Config) -> None:
    """Keeps journals of the tests, and of programs that they start, out of the user's home."""
    folder = tempfile.mkdtemp(prefix="playhead-tests-")
    config.stash[STATES] = (f"{folder}/{number}" for number in count())
    os.environ["XDG_STATE_HOME"] = next(config.stash[STATES])
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Gives each test a state folder of its own: runs that other tests left have random ids, and any part of one may
    be what this test looks for. Before all fixtures, so that those of a module are in their first test's folder."""
    os.environ["XDG_STATE_HOME"] = next(item.config.stash[STATES])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-golden", action="store_true", help="rewrite golden files; their diff is the review")


# --- golden files ----------------------------------------------------------------------------------------------------


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Callable[[str, str], None]:
    """`golden("gen_ai/tool_call.events.json", text)`: the text is what the file under tests/golden holds.

    A test prepares text that reads well line by line, since the diff is what a reviewer sees.
    """

    def compare(name: str, actual: str) -> None:
        path = GOLDEN / name
        if pytestconfig.getoption("--write-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"tests/golden/{name} does not exist: run pytest --write-golden and review it", pytrace=False)
        expected = path.read_text(encoding="utf-8")
        if actual != expected:
            lines = difflib.unified_diff(
                expected.splitlines(), actual.splitlines(), f"tests/golden/{name}", "now", lineterm=""
            )
            end = "if that is meant, run pytest --write-golden and review the diff"
            pytest.fail("\n".join([*lines, "", end]), pytrace=False)

    return compare


# --- Postgres --------------------------------------------------------------------------------------------------------


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs it in a loop of its own, in a thread of its own: the test's loop stays untouched."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def _in(server_url: str, database: str) -> str:
    return server_url.replace("/postgres?", f"/{database}?", 1)


async def _execute(url: str, *statements: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """One server per pytest process (so one per worker of xdist): its URL, naming an empty database `postgres`."""
    from playhead_collector import embedded

    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    folder = Path(tempfile.mkdtemp(prefix="playhead-tests-"))
    try:
        with embedded.start(folder, options=NOT_DURABLE) as server:
            yield server.dsn
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def _template(postgres_url: str) -> str:
    """Migrated once; every test's database is a copy of it."""
    from playhead_collector.store import migrate

    run(_execute(postgres_url, f"create database {TEMPLATE}"))
    run(migrate.upgrade(_in(postgres_url, TEMPLATE)))
    return TEMPLATE


@contextmanager
def _database(server_url: str, template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    # Copies files: through the log, as is the default, it takes three times as long where nothing waits for the disk.
    run(_execute(server_url, f"create database {name} template {template} strategy file_copy"))
    yield _in(server_url, name)
    run(_execute(server_url, f"drop database {name} with (force)"))


@pytest.fixture
def empty_database_url(postgres_url: str) -> Iterator[str]:
    """A database of this test's own, without a schema."""
    with _database(postgres_url, "template1") as url:
        yield url


@pytest.fixture
def database_url(postgres_url: str, _template: str) -> Iterator[str]:
    """A database of this test's own, at the newest schema. Takes about 30 ms."""
    with _database(postgres_url, _template) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(postgres_url: str, _template: str) -> Iterator[str]:
    """The same for a whole module, for tests that only read, or keep out of each other's way."""
    with _database(postgres_url, _template) as url:
        yield url


@pytest.fixture(scope="session")
def collector(postgres_url: str, _template: str) -> Iterator["CollectorProcess"]:
    """A collector with the settings of its defaults, for all tests that ask about runs of their own only."""
    from playhead_collector.process import CollectorProcess

    with _database(postgres_url, _template) as url, CollectorProcess(database_url=url) as collector:
        yield collector
        assert "Traceback" not in collector.log()
