"""The types of the API's answers for the web UI, from OpenAPI: `python -m tests.ui.types_of_answers --write`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import MagicMock

from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from tests.ui.node import FOLDER, node

WRITTEN = Path(__file__).parents[2] / "collector" / "ui" / "src" / "api" / "schema.d.ts"


def generate() -> str:
    """The text of `schema.d.ts`: types of answers only; the client names its paths itself."""
    described = create_app(CollectorSettings(), MagicMock()).openapi()
    described["paths"] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "openapi.json"), Path(folder, "schema.d.ts")
        source.write_text(json.dumps(described))
        command = [node(), FOLDER / "node_modules/openapi-typescript/bin/cli.js", source, "--output", target]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        return target.read_text()


if __name__ == "__main__":
    if "--write" in sys.argv:
        WRITTEN.write_text(generate())
    sys.exit(0 if WRITTEN.read_text() == generate() else "schema.d.ts is stale: make ui-types")
