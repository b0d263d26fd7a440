"""Codex, without a terminal: a question that takes a command, and a follow-up in the same session."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scene import FOLLOW_UP, QUESTION, REPORT, SYSTEM

home = Path(os.environ["HOME"], ".codex")
home.mkdir()
endpoint = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
(home / "config.toml").write_text(
    f"""
model = "gpt-5"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
developer_instructions = {json.dumps(SYSTEM)}
[model_providers.mock]
name = "mock"
base_url = {json.dumps(os.environ["OPENAI_BASE_URL"])}
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[otel]
log_user_prompt = true
exporter = {{ otlp-http = {{ endpoint = "{endpoint}/v1/logs", protocol = "binary" }} }}
"""
)
folder = tempfile.mkdtemp(prefix="clerk-")
(Path(folder) / "report.txt").write_text(REPORT)
try:
    for arguments in ([QUESTION], ["resume", "--last", FOLLOW_UP]):
        command = ["codex", "exec", "--skip-git-repo-check", *arguments]
        subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
finally:
    shutil.rmtree(folder)
