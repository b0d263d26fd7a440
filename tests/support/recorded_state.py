"""Records what this version writes, to be kept in tests/fixtures/states: journal, export file, database, and requests.

    python -m tests.support.recorded_state tests/fixtures/states/0.1.0

Made once for each release (RELEASE.md); never made again for a version that was released. The folder has `journal` (a
run that was killed), `export.tar.zst` and `database.sql` (a run that has ended), `about.json` with the ids of both, and
`requests.json`: what the SDK sends to a collector, and what this version's collector answers.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

import playhead
from playhead.testing import MockModelServer, text
from playhead_collector.embedded.cluster import binaries
from playhead_collector.process import CollectorProcess
from playhead_collector.store import schema
from tests.integration.export.fake_collector import WHO, FakeCollector, Request

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("state_program.py")


def run_program(journal: Path, model: MockModelServer, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs the agent in a process of its own, on this journal."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1"}
    kept |= {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "none", "PLAYHEAD_JOURNAL_DIR": str(journal)}
    return subprocess.run(
        [sys.executable, PROGRAM], env=kept | environ, capture_output=True, text=True, timeout=300, check=False
    )


def record(folder: Path) -> None:
    """Writes the state into the folder, which must not exist."""
    folder.mkdir(parents=True)
    with MockModelServer() as model, CollectorProcess() as collector, tempfile.TemporaryDirectory() as temporary:
        model.otherwise(text("It is three days late."))
        # The collector that it knows is not there, so the run waits for delivery.
        run_program(folder / "journal", model, DIES="1", PLAYHEAD_ENDPOINT="http://127.0.0.1:9")
        [killed] = _runs_in(folder / "journal")
        shutil.rmtree(folder / "journal" / "index")  # made anew from the records
        done = run_program(Path(temporary), model, PLAYHEAD_ENDPOINT=collector.url)
        assert done.returncode == 0, done.stderr
        with playhead.Client(collector.url) as client:
            [ended] = [run["run"] for run in client.runs()]
        _command("export", ended, "-o", folder / "export.tar.zst", PLAYHEAD_COLLECTOR_URL=collector.url)
        dump = [binaries() / "pg_dump", "--inserts", "--no-owner", "--no-privileges", collector.database]
        (folder / "database.sql").write_bytes(subprocess.run(dump, capture_output=True, check=True).stdout)
    about = {"killed": killed, "ended": ended, "schema": schema.head()}
    (folder / "about.json").write_text(json.dumps(about, indent=2) + "\n")
    record_requests(folder)


def record_requests(folder: Path) -> None:
    """Writes `requests.json` into the folder of a state."""
    with MockModelServer() as model, FakeCollector() as fake, tempfile.TemporaryDirectory() as temporary:
        model.otherwise(text("It is three days late."))
        done = run_program(Path(temporary), model, PLAYHEAD_ENDPOINT=fake.url)
        assert done.returncode == 0, done.stderr
        sent = [request for request in fake.requests if request.path != WHO]
    with CollectorProcess() as collector:
        requests = [_exchanged(collector.url, request) for request in sent]
    (folder / "requests.json").write_text(json.dumps(requests, indent=1) + "\n")


def _exchanged(url: str, request: Request) -> dict[str, object]:
    """The request, and what a collector answers."""
    kept = {name: request.headers[name] for name in ("content-type", "content-encoding")}
    answer = httpx.post(url + request.path, content=request.sent, headers=kept, timeout=60)
    return {
        "path": request.path,
        "headers": kept,
        "body": base64.b64encode(request.sent).decode(),
        "answer": {
            "status": answer.status_code,
            "content-type": answer.headers["content-type"],
            "body": base64.b64encode(answer.content).decode(),
        },
    }


def _command(*words: object, **environ: str) -> str:
    command = [sys.executable, "-m", "playhead", *map(str, words)]
    return subprocess.run(command, env={**os.environ, **environ}, stdout=subprocess.PIPE, text=True, check=True).stdout


def _runs_in(journal: Path) -> list[str]:
    said = _command("runs", "--local", "--json", PLAYHEAD_JOURNAL_DIR=str(journal))
    return [run["run"] for run in json.loads(said)]


if __name__ == "__main__":
    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    record(target)
