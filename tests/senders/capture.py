"""Captures what other people's telemetry sends: `make senders`, then `python -m tests.senders.capture [name ...]`.

Each program under programs/ holds the same conversation with the mock model server, in an environment with the real
package, and sends what it records to a receiver here.  What arrived, what the model was asked and which versions these
were is written to tests/golden/senders/NAME.json, which the tests read: run this again when a package has changed, and
review the difference.  Not run in CI: it installs half of what there is.
"""

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead.testing import MockModelServer, contains, text, tool_call, tool_offered, tool_result_received
from tests.senders.catalogue import KINDS, SENDERS, Sender
from tests.senders.programs import scene

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GOLDEN = ROOT / "tests" / "golden" / "senders"
ENVIRONMENTS = ROOT / ".venv-senders"
_PROGRAM_SECONDS = 180

ANSWER = "It rains in Oslo. Marker-answer."
LAST_ANSWER = "Wear a coat. Marker-last."

# Tools that hand the run over, as frameworks offer them: OpenAI Agents', and Google ADK's.
_HANDOFFS = {f"transfer_to_{scene.HANDOFF_TO}": {}, "transfer_to_agent": {"agent_name": scene.HANDOFF_TO}}
# Tools that run a command, as coding agents offer them: Claude Code's, Codex's and Gemini CLI's.
_COMMAND = "cat report.txt # Marker-argument"
_SHELLS = {
    "Bash": {"command": _COMMAND, "description": "reads the report"},
    "exec_command": {"cmd": _COMMAND},
    "run_shell_command": {"command": _COMMAND},
}
_NOT_PASSED_ON = (
    "OPENAI_", "ANTHROPIC_", "CLAUDE", "CODEX", "GEMINI_", "OTEL_", "PYTHON", "LANG", "GOOGLE_", "VIRTUAL_ENV",
)  # fmt: skip
_REQUESTS = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}
_IDS = ("traceId", "spanId", "parentSpanId")


class Receiver(ThreadingHTTPServer):
    """Takes whatever is posted, as OTLP as far as it is."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.taken: dict[str, list[Any]] = {"traces": [], "logs": []}
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self._body()
        encoding = self.headers.get("content-encoding")
        body = gzip.decompress(body) if encoding == "gzip" else zlib.decompress(body) if encoding == "deflate" else body
        self.server.paths.append(self.path)
        signal = self.path.rpartition("/")[2]
        if signal in _REQUESTS:
            is_json = "json" in str(self.headers.get("content-type"))
            self.server.taken[signal].append(json.loads(body) if is_json else _otlp_json(signal, body))
        answer = b"{}" if "json" in str(self.headers.get("content-type")) else b""
        self.send_response(200)
        self.send_header("content-type", str(self.headers.get("content-type")))
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _body(self) -> bytes:
        if "chunked" not in str(self.headers.get("transfer-encoding")):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def _otlp_json(signal: str, body: bytes) -> Any:
    """OTLP's JSON, whose ids are hex."""
    message = _REQUESTS[signal].FromString(body)
    return _with_hex_ids(json_format.MessageToDict(message, use_integers_for_enums=True))


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(item).hex() if key in _IDS and isinstance(item, str) else _with_hex_ids(item)
        for key, item in value.items()
    }


def script(server: MockModelServer) -> None:
    """What the model says in the scene."""
    for shell, arguments in _SHELLS.items():
        follows = contains(scene.FOLLOW_UP) | tool_result_received(shell)
        server.when(tool_offered(shell) & ~follows, tool_call(shell, arguments))
    for handoff, arguments in _HANDOFFS.items():
        server.when(contains(scene.FOLLOW_UP) & tool_offered(handoff), tool_call(handoff, arguments))
    server.when(contains(scene.FOLLOW_UP), text(LAST_ANSWER))
    server.when(
        tool_offered(scene.TOOL) & ~tool_result_received(scene.TOOL), tool_call(scene.TOOL, {"city": scene.CITY})
    )
    server.otherwise(text(ANSWER))


def capture(name: str, sender: Sender) -> None:
    """Runs one sender and writes its file.  Raises RuntimeError when it failed or sent nothing."""
    with MockModelServer() as server, Receiver() as receiver, tempfile.TemporaryDirectory() as home:
        script(server)
        thread = threading.Thread(target=receiver.serve_forever, daemon=True)
        thread.start()
        try:
            done = _run(sender, server, receiver, home)
        finally:
            receiver.shutdown()
            thread.join()
        if done.returncode or not any(receiver.taken.values()):
            raise RuntimeError(f"{name}: exit {done.returncode}, {receiver.paths}\n{done.stdout}{done.stderr}")
        captured = {
            "packages": _versions(sender),
            "requests": [request.body for request in server.requests],
            "traces": _merged(receiver.taken["traces"], "resourceSpans"),
            "logs": _merged(receiver.taken["logs"], "resourceLogs"),
        }
    (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
    shown = json.dumps(captured, indent=1, ensure_ascii=False).replace(str(ROOT), "/home/user/clerk")
    (GOLDEN / f"{name}.json").write_text(shown + "\n", encoding="utf-8")


# Variables of whoever captures that would change what a sender sends.
_NOT_PASSED_ON = (
    "OPENAI_", "ANTHROPIC_", "CLAUDE", "CODEX", "GEMINI_", "OTEL_", "PYTHON", "LANG", "GOOGLE_", "VIRTUAL_ENV",
)  # fmt: skip


def _environ(sender: Sender, server: MockModelServer, receiver: Receiver, home: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_NOT_PASSED_ON)}
    return kept | {
        "HOME": home,
        "PATH": f"{ENVIRONMENTS / sender.group / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(HERE / "programs"),
        "NO_PROXY": "127.0.0.1",
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_BASE": server.base_url,
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": server.url,
        "GEMINI_API_KEY": "none",
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_SERVICE_NAME": "clerk",
        "SCENE_CITY": scene.CITY,
        # Where senders with a destination of their own send.
        "LANGFUSE_BASE_URL": receiver.url,
        "LANGFUSE_PUBLIC_KEY": "none",
        "LANGFUSE_SECRET_KEY": "none",
        **sender.environ,
    }


def _run(sender: Sender, server: MockModelServer, receiver: Receiver, home: str) -> "subprocess.CompletedProcess[str]":
    environ = _environ(sender, server, receiver, home)
    if sender.program.endswith(".mjs"):
        # Modules of JavaScript are looked for beside the program.
        program = ENVIRONMENTS / sender.group / "program.mjs"
        shutil.copy(HERE / "programs" / sender.program, program)
        command = ["node", str(program)]
    else:
        python = ENVIRONMENTS / sender.group / "bin" / "python"
        if not python.exists():  # an environment of npm's, whose program runs what is in it
            python = Path(sys.executable)
        command = [str(python), "-P", str(HERE / "programs" / sender.program)]
    return subprocess.run(
        command, cwd=ENVIRONMENTS, env=environ, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False
    )


def _versions(sender: Sender) -> dict[str, str]:
    """As pinned in the requirements of its environment."""
    if (HERE / "requirements" / f"{sender.group}.json").exists():
        package = json.loads((HERE / "requirements" / f"{sender.group}.json").read_text(encoding="utf-8"))
        return {name: package["dependencies"][name] for name in sender.packages}
    pinned = (HERE / "requirements" / f"{sender.group}.txt").read_text(encoding="utf-8").split()
    versions = dict(line.split("==", 1) for line in pinned if "==" in line)
    return {package: versions[package] for package in sender.packages}


def _merged(requests: list[Any], key: str) -> dict[str, Any]:
    return {key: [item for request in requests for item in request.get(key, ())]}


if __name__ == "__main__":
    everything = {**SENDERS, **KINDS}
    for chosen in sys.argv[1:] or everything:
        capture(chosen, everything[chosen])
        print("captured", chosen)
