"""Gemini CLI, without a terminal: a question that takes a command, and a follow-up in the same session."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scene import FOLLOW_UP, QUESTION, REPORT, SYSTEM

home = Path(os.environ["HOME"], ".gemini")
home.mkdir()
telemetry = {
    "enabled": True,
    "target": "local",
    "otlpEndpoint": os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"],
    "otlpProtocol": "http",
    "logPrompts": True,
    "traces": os.environ["GEMINI_CLI_TRACES"] == "true",
}
settings = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "telemetry": telemetry,
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"disableAutoUpdate": True},
}
(home / "settings.json").write_text(json.dumps(settings))
folder = tempfile.mkdtemp(prefix="clerk-")
(Path(folder) / "report.txt").write_text(REPORT)
prompt = Path(folder, "system.md")
prompt.write_text(SYSTEM)
environ = {**os.environ, "GEMINI_SYSTEM_MD": str(prompt), "GEMINI_CLI_TRUST_WORKSPACE": "true"}
try:
    for arguments in (["-p", QUESTION], ["--resume", "latest", "-p", FOLLOW_UP]):
        command = ["gemini", "-y", "-m", "gemini-2.5-flash", *arguments]
        subprocess.run(command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
finally:
    shutil.rmtree(folder)
