"""Makes docs/phoenix.png: the example agent's run in a real Phoenix. Run it as `python -m tests.phoenix.picture`.

It needs `make peers PEERS=phoenix`'s environment, and Node, into which it installs a browser in a temporary folder.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.phoenix.program import AGENT
from tests.phoenix.server import phoenix_server

ROOT = Path(__file__).parents[2]
PACKAGES = ("playwright-core@1.65.1", "@sparticuz/chromium@147.0.0")


def main(to: Path) -> None:
    with phoenix_server() as phoenix, tempfile.TemporaryDirectory() as folder:
        environ = os.environ | {"PLAYHEAD_JOURNAL_DIR": f"{folder}/journal"}
        program = [sys.executable, "-m", "tests.phoenix.program", str(ROOT), phoenix.url, "1", AGENT]
        subprocess.run(program, cwd=ROOT, env=environ, check=True)
        calls = [span for span in phoenix.spans(AGENT, 11) if span["span_kind"] == "LLM"]
        first = min(calls, key=lambda span: span["start_time"])["context"]["span_id"]
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, check=True)
        script = Path(folder) / "picture.mjs"
        script.write_bytes((ROOT / "tests" / "phoenix" / "picture.mjs").read_bytes())
        (Path(folder) / "package.json").write_text(json.dumps({"type": "module"}))
        subprocess.run(["node", str(script), f"{phoenix.url}/redirects/spans/{first}", str(to)], cwd=folder, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "phoenix.png")
