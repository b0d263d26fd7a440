"""What is exported and imported again is the same record: every question has the same answer on both collectors."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from playhead.cli import app
from playhead.cli.archives.importing import Uploader
from playhead.client import Client
from playhead.model import names
from playhead.wire import export_layout as layout
from playhead_collector.process import CollectorProcess
from tests.integration.archives.conftest import Cli, ask, everything, keep
from tests.integration.read.recorded import Recorder, conversation
from tests.senders.sent import GOLDEN, sent

# One of each way in which spans say what they carry.
SENDERS = (
    "langfuse_openai", "logfire_openai", "openinference_langgraph", "openllmetry_openai", "otel_genai_openai_events",
    "pydantic_ai_6", "vercel",
)  # fmt: skip
OWN, FORK, OPEN = "0a" * 16, "0b" * 16, "0c" * 16


def fork_of(parent: Recorder, run: str) -> Recorder:
    """A run that goes another way after the first tool call of its parent."""
    fork = Recorder(run, start_ns=parent.now_ns)
    first = next(span for span in parent.spans if span.attributes[names.KIND] == "tool")
    order = first.attributes[names.CALL_ORDER]
    fork.root.attributes |= {names.FORK_OF: parent.run, names.FORK_ORDER: order}
    fork.tool("search", {"order": 7}, ["order 7 is lost"])
    return fork


@pytest.fixture(scope="module")
def runs(recorded: CollectorProcess) -> list[str]:
    """Runs of our own, one with a fork and one that has not ended, and some of other senders."""
    own, unended = conversation(OWN, 2), conversation(OPEN, 1)
    unended.begin("tool", "execute_tool slow", **{names.TOOL_NAME: "slow"})
    keep(recorded, own.batch(), fork_of(own, FORK).batch(), unended.batch(ended=False))
    found = [OWN, FORK, OPEN]
    for name in SENDERS:
        captured = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
        for signal in ("traces", "logs"):
            httpx.post(f"{recorded.url}/v1/{signal}", json=captured[signal], timeout=60).raise_for_status()
        found += sorted({span.trace_id for span in sent(name).spans})
    for run in found:
        assert ask(recorded, f"runs/{run}")[0] == 200
    with Client(recorded.url) as client:
        client.score(OWN, "resolved", False, author="Ada", comment="by hand")
        client.score(OWN, "resolved", True, author="Ada")
        client.score(FORK, "quality", 0.25, label="poor", at=3)
        client.score(found[-1], "verdict", "refund", id="verdict-1")
        client.add_note(OWN, "It asks twice.", at="turn:2", author="Ada")
        client.add_note(FORK, label="odd")
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def moved(
    recorded: CollectorProcess, other: CollectorProcess, runs: list[str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the two commands say."""
    folder = tmp_path_factory.mktemp("moved")
    env = {"PLAYHEAD_JOURNAL_DIR": str(folder / "journal")}
    out = folder / "out"
    written = CliRunner().invoke(app, ["--url", recorded.url, "export", "--all", "-o", str(out), "--json"], env=env)
    assert written.exit_code == 0, written.output
    read = CliRunner().invoke(app, ["--url", other.url, "import", str(out), "--json"], env=env)
    assert read.exit_code == 0, read.output
    for run in runs:  # a question about a run projects it: what other runs' answers say of it is then the same
        assert ask(other, f"runs/{run}")[0] == 200
    return {"written": json.loads(written.stdout), "read": json.loads(read.stdout), "folder": out}


def test_every_question_about_a_run_has_the_same_answer_where_it_was_moved(
    recorded: CollectorProcess, other: CollectorProcess, runs: list[str], moved: dict[str, Any]
):
    for run in runs:
        here, there = (everything(each, run, each_event=run in (FORK, OPEN)) for each in (recorded, other))
        assert here.keys() == there.keys(), run
        assert here[""][0] == 200
        for question, answer in here.items():
            assert comparable(there[question]) == comparable(answer), (run, question)


def comparable(answer: Any) -> Any:
    """Without whether the run is sealed, which is a matter of when it arrived."""
    text = json.dumps(answer, sort_keys=True)
    return text.replace('"sealed": true', '"sealed": false')


def test_the_summary_of_both_sides_has_the_same_numbers(runs: list[str], moved: dict[str, Any]):
    written, read = moved["written"], moved["read"]
    assert written["runs"] == read["runs"] == len(runs)
    assert written["spans"] == read["spans"] > 40
    assert written["logs"] == read["logs"] > 0
    assert written["scores"] == read["scores"] == 4
    assert written["notes"] == read["notes"] == 2
    assert written["contents"] == read["contents"] == read["new_contents"]
    assert written["missing"] == written["unreadable"] == read["refused"] == 0


def test_importing_again_adds_nothing(other: CollectorProcess, moved: dict[str, Any], cli: Cli):
    events = ask(other, f"runs/{OWN}")[1]["events"]
    again = cli(other, "import", moved["folder"], "--json")
    said = json.loads(again.stdout)
    assert (said["new_contents"], said["new_bytes"], said["refused"]) == (0, 0, 0)
    assert 0 < said["duplicates"] <= said["spans"] == moved["written"]["spans"]
    assert ask(other, f"runs/{OWN}")[1]["events"] == events
    assert len(ask(other, "scores")[1]["items"]) == 4
    assert [note["turn"] for note in ask(other, f"runs/{OWN}/notes")[1]["items"]] == [2]


def test_an_export_has_each_content_once_under_its_digest(moved: dict[str, Any]):
    folder: Path = moved["folder"]
    manifest = layout.read_manifest((folder / layout.MANIFEST).read_bytes())
    lines = (folder / layout.CONTENTS).read_bytes().splitlines()
    assert len(lines) == manifest.contents == manifest.files[layout.CONTENTS].lines
    refs = [layout.read_content_line(line).ref for line in lines]
    assert len(set(refs)) == len(refs)
    files = {path.name for path in (folder / layout.FOLDER).rglob("*") if path.is_file()}
    assert files == {ref.digest.hex() for ref in refs}
    for line in (folder / layout.TRACES).read_bytes().splitlines():
        assert json.loads(line).keys() == {"resourceSpans"}


def test_the_bundle_of_a_fork_is_what_the_command_writes(
    recorded: CollectorProcess, other: CollectorProcess, runs: list[str], moved: Any, cli: Cli, folder: Path
):
    bundle = folder / "bundle.tar.gz"
    answer = httpx.get(f"{recorded.url}/api/v1/runs/{FORK}/bundle", timeout=60)
    assert answer.headers["content-disposition"] == f'attachment; filename="playhead-{FORK[-8:]}.tar.gz"'
    bundle.write_bytes(answer.content)
    read = json.loads(cli(other, "import", bundle, "--json").stdout)
    written = json.loads(cli(recorded, "export", FORK, "-o", folder / "out", "--json").stdout)
    counts = ("runs", "spans", "contents", "content_bytes", "missing", "scores", "notes")
    with tarfile.open(bundle) as tar:
        manifest = layout.read_manifest((tar.extractfile(layout.MANIFEST) or io.BytesIO()).read())
        files = {name for name in tar.getnames() if layout.digest_of_file(name)}
    assert {name: getattr(manifest, name) for name in counts} == {name: written[name] for name in counts}
    paths = (folder / "out" / layout.FOLDER).rglob("*")
    assert files == {path.relative_to(folder / "out").as_posix() for path in paths if path.is_file()}
    assert (read["runs"], read["new_contents"], read["scores"], read["notes"], read["refused"]) == (2, 0, 3, 2, 0)


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.zst"])
def test_one_file_holds_a_fork_and_the_run_that_it_was_made_of(
    recorded: CollectorProcess,
    other: CollectorProcess,
    runs: list[str],
    moved: Any,
    cli: Cli,
    folder: Path,
    suffix: str,
):
    packed = folder / f"fork{suffix}"
    written = cli(recorded, "export", FORK, "-o", packed, "--json")
    assert (written.exit_code, json.loads(written.stdout)["runs"]) == (0, 2), written.output
    assert [path.name for path in folder.iterdir()] == [packed.name]
    read = cli(other, "import", packed, "--json")
    assert read.exit_code == 0, read.output
    said = json.loads(read.stdout)
    assert (said["runs"], said["new_contents"]) == (2, 0)
    assert said["contents"] > 10


def test_what_cannot_be_exported_is_said(recorded: CollectorProcess, runs: list[str], cli: Cli, folder: Path):
    out = folder / "out"
    for args, code, sentence in (
        (["last", "--all"], 2, "in one way"),
        (["--agent", "nobody"], 1, "no run meets"),
        (["feed"], 1, "no run"),
    ):
        result = cli(recorded, "export", *args, "-o", out)
        assert (result.exit_code, sentence in result.output) == (code, True), result.output
        assert not out.exists()
    out.mkdir()
    (out / "mine").write_text("precious")
    assert "exists" in cli(recorded, "export", OWN, "-o", out).output
    assert (out / "mine").read_text() == "precious"


def test_damage_in_an_export_costs_what_is_damaged(
    recorded: CollectorProcess, other: CollectorProcess, runs: list[str], cli: Cli, folder: Path
):
    out = folder / "out"
    cli(recorded, "export", OWN, "-o", out)
    content = next(path for path in (out / layout.FOLDER).rglob("*") if path.is_file())
    content.write_bytes(b"something else")
    with (out / layout.TRACES).open("ab") as traces:
        traces.write(b'{"resourceSpans": [\n')
    keep(other)
    result = cli(other, "import", out, "--json", "--restart")
    assert result.exit_code == 4, result.output
    left_out = json.loads(result.stdout)["left_out"]
    where = [Path(each["where"]).name for each in left_out]
    lines = len((out / layout.TRACES).read_bytes().splitlines())
    assert where[-2:] == [f"traces.jsonl:{lines}", f"traces.jsonl:{lines}"]
    assert "manifest" in left_out[-1]["why"]


def test_an_interrupted_import_goes_on_where_it_was(
    other: CollectorProcess, moved: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    whole, sent_before = json.loads(cli(other, "import", moved["folder"], "--json").stdout), []
    records = Uploader.records

    def until_stopped(self: Uploader, batch: Any) -> None:
        if sent_before:
            raise KeyboardInterrupt
        sent_before.append(len(batch))
        records(self, batch)

    monkeypatch.setattr(Uploader, "records", until_stopped)
    assert cli(other, "import", moved["folder"]).exit_code != 0
    monkeypatch.setattr(Uploader, "records", records)
    rest = json.loads(cli(other, "import", moved["folder"], "--json").stdout)
    assert rest["continued_after"] > 0
    assert rest["spans"] + rest["logs"] + sent_before[0] == whole["spans"] + whole["logs"]
    assert json.loads(cli(other, "import", moved["folder"], "--json").stdout)["continued_after"] == 0


@pytest.mark.parametrize(("name", "model_calls"), [("phoenix_dataframe.jsonl", 3), ("langfuse_blob_storage.jsonl", 3)])
def test_exports_of_other_tools_become_runs_with_their_messages(
    other: CollectorProcess, cli: Cli, name: str, model_calls: int
):
    said = json.loads(cli(other, "import", GOLDEN.parent / "exports" / name, "--json").stdout)
    assert said["refused"] == 0
    assert said["content_bytes"] > said["new_bytes"] > 0
    again = json.loads(cli(other, "import", GOLDEN.parent / "exports" / name, "--json").stdout)
    assert (again["new_contents"], again["spans"], again["runs"]) == (0, said["spans"], said["runs"])
    rows = [json.loads(line) for line in (GOLDEN.parent / "exports" / name).read_text().splitlines()]
    # Of Phoenix, the runs of LangGraph.
    runs = {row.get("context.trace_id") or row["trace_id"] for row in rows if row.get("span_kind", "CHAIN") == "CHAIN"}
    calls = [call for run in runs for call in ask(other, f"runs/{run}/llm-calls")[1]["items"]]
    assert len(calls) == model_calls
    assert all(ask(other, f"runs/{run}")[1]["status"] == "completed" for run in runs)
