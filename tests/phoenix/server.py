"""A real Phoenix in an environment of its own (`make peers PEERS=phoenix` installs it), and what it answers."""

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ENVIRONMENT = Path(__file__).parents[2] / ".venv-phoenix"
PYTHON = ENVIRONMENT / "bin" / "python"
# Phoenix enters some spans a second where others load the machine, and takes minutes to be imported there.
_START_SECONDS, _ARRIVE_SECONDS, _PROGRAM_SECONDS = 180.0, 240.0, 300.0
_PAGE = 1_000
_CLIENT = """
import json, sys
from phoenix.client import Client
spans = Client(base_url=sys.argv[1]).spans.get_spans(project_identifier=sys.argv[2], limit=int(sys.argv[3]))
print(json.dumps(spans, default=str))
"""
_DECODE = """
import json, sys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from phoenix.trace.otel import decode_otlp_span
request = ExportTraceServiceRequest.FromString(sys.stdin.buffer.read())
spans = [decode_otlp_span(s) for r in request.resource_spans for c in r.scope_spans for s in c.spans]
print(json.dumps([{"name": s.name, "kind": s.span_kind.value, "attributes": s.attributes} for s in spans], default=str))
"""


def is_installed() -> bool:
    return (ENVIRONMENT / "bin" / "phoenix").exists()


@dataclass(frozen=True)
class PhoenixServer:
    url: str

    def spans(self, project: str, count: int) -> list[dict[str, Any]]:
        """All spans of a project by its REST interface, once there are so many."""
        return _until(lambda: self._spans(project), lambda spans: len(spans) >= count)

    def client_spans(self, project: str, count: int) -> list[dict[str, Any]]:
        """The same by Phoenix's own client."""
        return _python(_CLIENT, self.url, project, str(count))

    def annotations(self, project: str, spans: list[str], count: int) -> list[dict[str, Any]]:
        """The annotations of spans, once there are so many."""

        def ask() -> list[dict[str, Any]]:
            with httpx.Client(trust_env=False, timeout=60) as client:
                url = f"{self.url}/v1/projects/{project}/span_annotations"
                return client.get(url, params={"span_ids": spans}).raise_for_status().json()["data"]

        return _until(ask, lambda found: len(found) >= count)

    def graphql(self, query: str) -> Any:
        with httpx.Client(trust_env=False, timeout=60) as client:
            answer = client.post(f"{self.url}/graphql", json={"query": query}).raise_for_status().json()
        assert "errors" not in answer, answer
        return answer["data"]

    def cost(self, project: str, is_there: Callable[[float], bool]) -> float:
        """What Phoenix says that all calls of a project cost, in dollars; it counts them after they have arrived."""
        query = "{projects{edges{node{name costSummary{total{cost}}}}}}"

        def total() -> float:
            nodes = [edge["node"] for edge in self.graphql(query)["projects"]["edges"]]
            [found] = [node["costSummary"]["total"]["cost"] for node in nodes if node["name"] == project]
            return float(found or 0)

        return _until(total, is_there)

    def _spans(self, project: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        with httpx.Client(trust_env=False, timeout=60) as client:
            while True:
                given = {"limit": _PAGE} | ({"cursor": cursor} if cursor else {})
                answer = client.get(f"{self.url}/v1/projects/{project}/spans", params=given)
                if answer.status_code == 404:
                    return []
                page = answer.raise_for_status().json()
                found += page["data"]
                cursor = page.get("next_cursor")
                if not cursor:
                    return found


@contextmanager
def phoenix_server() -> Iterator[PhoenixServer]:
    """Starts `phoenix serve` on ports that are free, and ends it."""
    ports = _free_ports(2)
    with tempfile.TemporaryDirectory(prefix="phoenix-") as folder:
        environ = {
            **os.environ, "PHOENIX_WORKING_DIR": folder, "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(ports[0]),
            "PHOENIX_GRPC_PORT": str(ports[1]), "PHOENIX_TELEMETRY_ENABLED": "false",
            "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
        }  # fmt: skip
        log = Path(folder) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [ENVIRONMENT / "bin" / "phoenix", "serve"], env=environ, stdout=out, stderr=out, cwd=folder
            )
        try:
            url = f"http://127.0.0.1:{ports[0]}"
            _until(lambda: _is_healthy(url, process, log), bool, _START_SECONDS)
            yield PhoenixServer(url)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def decoded(request: bytes) -> list[dict[str, Any]]:
    """The spans of an OTLP request as the code of Phoenix decodes them, without a server."""
    return _python(_DECODE, given=request)


def _python(program: str, *arguments: str, given: bytes = b"") -> Any:
    done = subprocess.run(
        [PYTHON, "-c", program, *arguments], input=given, capture_output=True, check=False, timeout=_PROGRAM_SECONDS
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1])


def _is_healthy(url: str, process: "subprocess.Popen[bytes]", log: Path) -> bool:
    assert process.poll() is None, log.read_text(errors="replace")[-2_000:]
    try:
        with httpx.Client(trust_env=False, timeout=60) as client:
            return client.get(f"{url}/healthz").is_success
    except httpx.HTTPError:
        return False


def _until(ask: Callable[[], Any], is_enough: Callable[[Any], bool], seconds: float = _ARRIVE_SECONDS) -> Any:
    """Asks until it is enough, or the time is over; the last answer."""
    end = time.monotonic() + seconds
    while not is_enough(answer := ask()) and time.monotonic() < end:
        time.sleep(0.3)
    return answer


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
