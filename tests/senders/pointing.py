"""How each sender is pointed at a collector: the lines on the page about integrations, which the tests run.

`python -m pytest tests/wire/senders` runs each program with its lines against a collector; those of packages that
`make test` does not install need `make senders`, and are skipped without it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from playhead.testing import MockModelServer
from tests.senders.capture import ENVIRONMENTS, HERE
from tests.senders.programs import scene

HTTP_PORT, GRPC_PORT = "http://127.0.0.1:4318", "http://127.0.0.1:4317"
_PROGRAM_SECONDS = 180
_SECRET = ("OPENAI_", "ANTHROPIC_", "OTEL_", "PYTHON", "LANG", "GOOGLE_", "PHOENIX_", "LOGFIRE_", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Pointing:
    """`lines`: what its user writes into a shell. `group`: its environment under .venv-senders; None: that of the
    tests. `environ`: further variables of the program. `spans_only`: it makes its spans itself and calls no model."""

    title: str
    lines: tuple[str, ...]
    program: str
    group: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    spans_only: bool = False

    def is_installed(self) -> bool:
        """Whether its environment is there."""
        return self.group is None or (ENVIRONMENTS / self.group / ".installed").exists()


_HTTP = (f"export OTEL_EXPORTER_OTLP_ENDPOINT={HTTP_PORT}", "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
_GRPC = (f"export OTEL_EXPORTER_OTLP_ENDPOINT={GRPC_PORT}", "export OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
_BY_ENVIRONMENT = {
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_LOGS_EXPORTER": "none",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
}
_GZIP = {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}

POINTINGS: Mapping[str, Pointing] = {
    "otel_http": Pointing(
        "OpenTelemetry for Python (`opentelemetry-instrument`), HTTP",
        _HTTP,
        "clients/by_environment.py",
        environ=_BY_ENVIRONMENT,
    ),
    "otel_grpc": Pointing("the same, gRPC", _GRPC, "clients/by_environment.py", environ={**_BY_ENVIRONMENT, **_GZIP}),
    "openllmetry": Pointing("OpenLLMetry", _HTTP, "clients/openllmetry_openai.py"),
    "pydantic_ai": Pointing("pydantic-ai", _HTTP, "agents/pydantic_ai.py", environ={"PYDANTIC_AI_VERSION": "5"}),
    "openinference_langgraph": Pointing("OpenInference, LangGraph", _HTTP, "agents/openinference_langgraph.py", "main"),
    "openinference_llama_index": Pointing(
        "OpenInference, LlamaIndex", _HTTP, "agents/openinference_llama_index.py", "llama"
    ),
    "logfire": Pointing("Logfire, with `send_to_logfire=False`", _HTTP, "platforms/logfire_openai.py", "main"),
    "langfuse": Pointing(
        "Langfuse; the secret key is the collector's, any if it has none",
        (
            f"export LANGFUSE_BASE_URL={HTTP_PORT}",
            "export LANGFUSE_PUBLIC_KEY=playhead LANGFUSE_SECRET_KEY=none",
        ),
        "platforms/langfuse_auth.py",
        "main",
    ),
    "langsmith": Pointing(
        "LangSmith; the key is the collector's, any if it has none",
        (
            f"export LANGSMITH_ENDPOINT={HTTP_PORT} LANGSMITH_API_KEY=none",
            "export LANGSMITH_TRACING=true LANGSMITH_TRACING_MODE=otel",
        ),
        "platforms/langsmith_by_environment.py",
        "main",
    ),
    "phoenix": Pointing(
        "Phoenix (`phoenix.otel.register()`, which sends gRPC)",
        (f"export PHOENIX_COLLECTOR_ENDPOINT={GRPC_PORT}", "export PHOENIX_GRPC_PORT=4317"),
        "platforms/phoenix_openai.py",
        "phoenix",
    ),
    "phoenix_http": Pointing(
        'the same, with `protocol="http/protobuf"`',
        (f"export PHOENIX_COLLECTOR_ENDPOINT={HTTP_PORT}",),
        "platforms/phoenix_openai.py",
        "phoenix",
        {"SENDER_PROTOCOL": "http/protobuf"},
    ),
    "js_proto": Pointing(
        "OpenTelemetry for JavaScript, `exporter-trace-otlp-proto`",
        _HTTP[:1],
        "node/otlp.mjs",
        "node",
        {"SENDER_EXPORTER": "proto"},
        spans_only=True,
    ),
    "js_json": Pointing(
        "the same, `exporter-trace-otlp-http` (JSON)",
        _HTTP[:1],
        "node/otlp.mjs",
        "node",
        {"SENDER_EXPORTER": "http", **_GZIP},
        spans_only=True,
    ),
    "js_grpc": Pointing(
        "the same, `exporter-trace-otlp-grpc`",
        _GRPC[:1],
        "node/otlp.mjs",
        "node",
        {"SENDER_EXPORTER": "grpc"},
        spans_only=True,
    ),
    "vercel": Pointing(
        "Vercel AI SDK, with OpenTelemetry for JavaScript",
        _HTTP[:1],
        "node/vercel.mjs",
        "node",
        {"AI_SDK_OTEL": "current"},
    ),
}


def run(pointing: Pointing, server: MockModelServer, url: str, grpc_url: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program as its user does: the lines in a shell, with the addresses of this collector, and then it."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(_SECRET)}
    environ |= {
        "PYTHONPATH": str(HERE / "programs"),
        "NO_PROXY": "127.0.0.1",
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_BASE": server.base_url,
        "OPENAI_API_KEY": "none",
        "OTEL_SERVICE_NAME": "clerk",
        "SCENE_CITY": scene.CITY,
        **pointing.environ,
    }
    lines = "\n".join(pointing.lines).replace(HTTP_PORT, url).replace(GRPC_PORT, grpc_url)
    lines = lines.replace("PHOENIX_GRPC_PORT=4317", f"PHOENIX_GRPC_PORT={grpc_url.rpartition(':')[2]}")
    shell = ["/bin/sh", "-ec", f'{lines}\nexec "$@"', "sh", *_command(pointing)]
    return subprocess.run(shell, env=environ, capture_output=True, text=True, timeout=_PROGRAM_SECONDS, check=False)


def _command(pointing: Pointing) -> list[str]:
    program = HERE / "programs" / pointing.program
    if pointing.group is None:
        return [sys.executable, "-P", str(program)]
    environment = ENVIRONMENTS / pointing.group
    if program.suffix != ".mjs":
        return [str(environment / "bin" / "python"), "-P", str(program)]
    # Modules of JavaScript are looked for beside the program.
    beside = environment / f"pointed-{program.name}"
    shutil.copy(program, beside)
    return [str(Path(shutil.which("node") or "node")), str(beside)]


def pointing_table() -> str:
    """The table on the page about integrations: a row for each sender."""
    rows = ["| sender | to point it at the collector |", "|---|---|"]
    rows += [
        f"| {pointing.title} | {'<br>'.join(f'`{line}`' for line in pointing.lines)} |"
        for pointing in POINTINGS.values()
    ]
    return "\n".join(rows)
