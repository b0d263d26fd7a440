"""httpx is imported without what only its command line needs, and has its command line all the same."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from playhead.compat.httpx import import_httpx

PROGRAM = """
import sys
from playhead import observe

@observe
def ask():
    return 1

assert ask() == 1
assert "httpx" in sys.modules
assert not {"rich", "click", "pygments"} & sys.modules.keys()
import httpx
try:
    httpx.main(["--help"])
except SystemExit as ended:
    assert not ended.code
assert "rich" in sys.modules
assert httpx.main is sys.modules["httpx._main"].main
"""


def run(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(folder)}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0"}
    return subprocess.run([sys.executable, "-c", program], env=kept, capture_output=True, text=True, check=False)


def test_a_first_observed_call_does_not_load_the_command_line_of_httpx_which_works_all_the_same(tmp_path: Path):
    done = run(PROGRAM, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Usage: httpx" in done.stdout


def test_where_its_libraries_are_not_installed_the_command_line_says_so(tmp_path: Path):
    absent = 'import sys; sys.modules |= dict.fromkeys(("click", "rich", "pygments"))\n'
    program = "from playhead.compat.httpx import import_httpx\nimport_httpx()\nimport httpx\nhttpx.main()"
    done = run(absent + program, tmp_path)
    assert done.returncode == 1
    assert "required dependencies were not installed" in done.stdout


def test_one_that_is_imported_already_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    own = object()
    monkeypatch.setattr(httpx, "main", own)
    import_httpx()
    assert httpx.main is own
