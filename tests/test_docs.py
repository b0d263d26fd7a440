"""What the pages say is true: their code runs, and the reference names all there is."""

import gc
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import playhead
from playhead.cli import app
from playhead.local.client import JournalClient
from playhead.testing import MockModelServer, text, tool_call, tool_offered, tool_result_received
from playhead_collector.process import CollectorProcess
from tests.support.folders import first_sentence, with_tables
from tests.support.reference import meanings_in, reference

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
CODE = re.compile(r"<!-- run: (\w+) -->\n```(?:python|sh)\n(.*?)```", re.DOTALL)


def code_of(page: str) -> dict[str, str]:
    return dict(CODE.findall((ROOT / page).read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory):
    with CollectorProcess() as running:
        yield running


def test_the_readme_s_code_runs_as_it_stands(
    collector: CollectorProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    code = code_of("README.md")
    playhead.shutdown()
    try:
        with MockModelServer() as server:
            server.otherwise(text("Order A1 is delayed."))
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            scope: dict[str, Any] = {"__name__": "readme"}
            exec(compile(code["agent"], "README.md", "exec"), scope)
        exec(compile(code["client"], "README.md", "exec"), scope)
        asked = [part["content"] for message in scope["context"]["messages"] for part in message["parts"]]
        assert asked[0] == "Where is order A1?"
        assert "delayed" in asked[1]
        exec(compile(code_of("docs/questions.md")["tree"], "questions.md", "exec"), scope)
        assert [node["kind"] for node in scope["tree"]["items"]] == ["answer", "stop"]
        assert (scope["about"]["role"], scope["about"]["calls"]) == ("user", 1)
        assert scope["split"]["history"] > 0
    finally:
        playhead.shutdown()
        playhead.uninstrument()
        scope["client"].close()


def test_the_page_about_storage_runs_as_it_stands(collector: CollectorProcess, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", collector.url)
    scope: dict[str, Any] = {"__name__": "storage"}
    exec(compile(code_of("docs/storage.md")["storage"], "storage.md", "exec"), scope)
    assert scope["storage"]["database"]["bytes"]["exact"]
    shown = CliRunner().invoke(app, ("storage",))
    assert shown.exit_code == 0, shown.output
    assert re.search(r"^whole database\t[0-9.]+ [KM]iB, indexes [0-9.]+ [KM]iB$", shown.stdout, re.MULTILINE)
    assert json.loads(CliRunner().invoke(app, ("storage", "--json")).stdout).keys() == {"project", "database"}


def test_the_page_about_contexts_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PLAYHEAD_EXIT_TIMEOUT_SECONDS", "0.1")
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path))
    playhead.shutdown()
    with MockModelServer(models=("gpt-4o",)) as server:
        server.otherwise(text("I see. " + "A long answer. " * 30))
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        try:
            scope: dict[str, Any] = {"__name__": "context"}
            exec(compile(code_of("docs/context.md")["context"], "context.md", "exec"), scope)
            assert scope["context"].stats.compressions > 0
            scope["client"].close()
            shown = CliRunner().invoke(app, ("compressions", scope["run"].id, "--local"))
            assert shown.exit_code == 0, shown.output
            assert "declared" in shown.stdout
        finally:
            playhead.shutdown()
            playhead.uninstrument()


@pytest.mark.parametrize("framework", ["langchain", "pydantic_ai", "openai_agents"])
def test_the_page_about_contexts_runs_in_a_framework(framework: str, tmp_path: Path):
    with MockModelServer(models=("gpt-4o",)) as server:
        server.otherwise(text("I see. " + "A long answer. " * 30))
        variables = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
            "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1",
            "PLAYHEAD_JOURNAL_DIR": str(tmp_path),
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "none",
        }
        code = code_of("docs/context.md")[framework] + "\nprint(run.id)"
        done = subprocess.run(
            [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == 0, done.stderr
    with JournalClient(tmp_path, pytest.fail) as journal:
        compressions = list(journal.compressions(done.stdout.strip()))
    assert len(compressions) >= 2
    assert {row["origin"] for row in compressions} == {"declared"}


def test_the_page_about_agents_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PLAYHEAD_EXIT_TIMEOUT_SECONDS", "0.1")
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    playhead.shutdown()
    code = code_of("docs/agent.md")
    with MockModelServer(models=("gpt-4o",)) as server:
        server.when(
            tool_offered("order_status") & ~tool_result_received("order_status"),
            tool_call("order_status", {"order": "A1"}),
        )
        server.otherwise(text('{"order": "A1", "status": "in Rome"}'))
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        try:
            scope: dict[str, Any] = {"__name__": "agent"}
            exec(compile(code["agent"], "agent.md", "exec"), scope)
            assert (scope["out"].turns, scope["out"].output.status) == (2, "in Rome")
            assert scope["out"].tool_calls[0].result == "in Rome"
            exec(compile(code["loop"], "agent.md", "exec"), scope)
            exec(compile(code["task"], "agent.md", "exec"), scope)
            assert scope["result"].parsed.order == "A1"
            again = scope["agent"].run_sync("And now?", deps=scope["Shop"]({"A1": "in Rome"}))
            assert again.turns == 2
        finally:
            playhead.shutdown()
            playhead.uninstrument()
            scope.clear()
            # The page's models have clients of their own, whose sockets would else warn during some later test.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                gc.collect()


def test_the_page_about_forks_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PLAYHEAD_EXIT_TIMEOUT_SECONDS", "0.1")
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path))
    playhead.shutdown()
    try:
        scope: dict[str, Any] = {"__name__": "resume"}
        exec(compile(code_of("docs/resume.md")["fork"], "resume.md", "exec"), scope)
        assert scope["answer"] == "3 in stock"
        assert scope["resumed"] == (scope["run_id"], "3 in stock")
        fork_id, fork_answer = scope["forked"]
        assert fork_id != scope["run_id"]
        assert fork_answer == "the shop does not answer"
    finally:
        playhead.shutdown()


def test_the_reference_names_every_setting_command_route_event_and_attribute(
    collector: CollectorProcess, pytestconfig: pytest.Config
):
    group: Any = get_command(app)
    commands = [(name, command.get_short_help_str(200)) for name, command in group.commands.items()]
    spec = httpx.get(f"{collector.url}/api/v1/openapi.json", timeout=60).raise_for_status().json()
    routes = [
        (method.upper(), path, operation.get("summary") or "")
        for path, methods in spec["paths"].items()
        for method, operation in methods.items()
    ]
    page = reference(commands, routes)
    if pytestconfig.getoption("--write-golden"):
        REFERENCE.write_text(page, encoding="utf-8")
    assert REFERENCE.read_text(encoding="utf-8") == page, "run pytest tests/test_docs.py --write-golden"


@pytest.mark.parametrize("section", ["Commands", "Routes", "Event kinds", "Attributes and log events"])
def test_the_reference_says_what_each_name_means(section: str):
    text = REFERENCE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) > 30
    short = [row for row in rows if len(row) < 2 or len(row[-1].split()) < 2]
    assert short == []


def test_the_meaning_of_an_attribute_is_the_comment_behind_it_or_above_it():
    module = (
        '# Of both.\n# More.\nONE: Final = "a.b"\nTWO: Final = "a.c"  # its own\n\n# Away.\n\nTHREE: Final = "a.d"\n'
    )
    assert meanings_in(module) == {"ONE": "Of both. More.", "TWO": "its own", "THREE": ""}


def test_the_page_about_the_architecture_has_what_the_docstrings_of_the_folders_say(pytestconfig: pytest.Config):
    current = with_tables(ARCHITECTURE.read_text(encoding="utf-8"))
    if pytestconfig.getoption("--write-golden"):
        ARCHITECTURE.write_text(current, encoding="utf-8")
    assert ARCHITECTURE.read_text(encoding="utf-8") == current, "run pytest tests/test_docs.py --write-golden"
    assert current.count("<!-- folders: ") == 3


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    [
        ("receive → [lift] → store.  Moves content\nout of spans. And more.", "Moves content out of spans"),
        ("[serve]: what only browsers need. More.", "What only browsers need"),
        ("pydantic-ai: which tools does it call? Method: more.", "pydantic-ai: which tools does it call?"),
        ("Reads `sdk.py` | `table.py`.\n\nMore.", "Reads `sdk.py` \\| `table.py`"),
    ],
)
def test_a_folder_is_described_by_the_first_sentence_behind_its_place(tmp_path: Path, docstring: str, sentence: str):
    module = tmp_path / "__init__.py"
    module.write_text(f'"""{docstring}"""\n', encoding="utf-8")
    assert first_sentence(module) == sentence


def test_the_reference_names_every_variable_that_the_code_reads():
    words = re.compile(r"\bPLAYHEAD_[A-Z][A-Z_]*[A-Z]\b")
    code = [path for root in ("src", "collector") for path in (ROOT / root).rglob("*.py")]
    read = {word for path in code for word in words.findall(path.read_text(encoding="utf-8"))}
    assert read - set(words.findall(REFERENCE.read_text(encoding="utf-8"))) == set()


def test_every_page_that_a_page_names_exists():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} names {target}"


def test_the_readme_names_every_page():
    named = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    pages = {page.relative_to(ROOT).as_posix() for page in PAGES if page.parent.name != "adr"}
    assert pages - {*named, "README.md", "CHANGELOG.md"} == set()


def test_the_changelog_compares_with_releases_only():
    """What changed is said of a release; before the first one there is nothing to compare with."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    *_, first = re.split(r"^## ", text, flags=re.MULTILINE)
    assert set(re.findall(r"^### (.+)$", first, re.MULTILINE)) == {"Added"}


NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def test_a_page_has_as_many_things_to_know_as_it_is_said_to_have():
    said = {
        (page.parent / target).resolve(): number
        for page in PAGES
        for target, number in re.findall(
            r"\]\(([^)#]+)\)[^\n]*the (\w+) things to know", page.read_text(encoding="utf-8")
        )
    }
    said |= {
        page: number.lower()
        for page in PAGES
        for number in re.findall(r"^## (\w+) things to know$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(said) == 2
    for page, number in said.items():
        numbered = re.findall(r"^(?:## |\*\*)(\d)\. ", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert [int(each) for each in numbered] == list(range(1, NUMBERS[number] + 1)), page.name


def test_no_table_is_broken_by_an_empty_line():
    row, rule = re.compile(r"^\|.*\|$"), re.compile(r"^\|[-:| ]+\|$")
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        starts = [
            number for number, line in enumerate(lines) if row.match(line) and not lines[number - 1].startswith("|")
        ]
        alone = [number + 1 for number in starts if not rule.match("".join(lines[number + 1 : number + 2]))]
        assert not alone, f"{page.name}: rows outside a table"


def test_every_heading_that_a_page_names_exists():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!http)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            named = page.parent / target if target else page
            assert anchor in anchors_of(named), f"{page.name} names {target}#{anchor}"


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_path_that_a_page_names_exists():
    roots = ("src/", "collector/", "tests/", "benchmarks/", "migrations/", "examples/", "docs/")
    for page in PAGES:
        for path in paths_in(page):
            assert (ROOT / path).exists() or not path.startswith(roots), f"{page.name} names {path}"


def test_every_path_that_the_page_about_the_architecture_names_exists():
    inside = [ROOT, ROOT / "src" / "playhead", ROOT / "collector" / "playhead_collector"]
    for path in paths_in(ROOT / "docs" / "architecture.md"):
        assert any((folder / path).exists() for folder in inside), path


def paths_in(page: Path) -> list[str]:
    """The paths in backticks; names in capitals (`dialect/NAME.py`) stand for others."""
    found = re.findall(r"`([a-z][\w.-]*/[\w./-]*)`", page.read_text(encoding="utf-8"))
    return [path for path in found if not re.search(r"[A-Z]{3}", path)]


def test_the_page_about_the_architecture_names_every_folder():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for package in (ROOT / "src" / "playhead", ROOT / "collector" / "playhead_collector"):
        folders = {path.parent.name for path in package.glob("*/__init__.py")}
        assert folders, package
        assert {name for name in folders if f"`{name}`" not in page} == set()
