"""Tests of CrewAI, whose packages are an environment of their own, of more than a gigabyte: `make test-crewai`.

In any other environment nothing here is collected.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

IS_HERE = find_spec("crewai") is not None
collect_ignore_glob = [] if IS_HERE else ["*"]
if IS_HERE:
    os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"  # or it sends what is done here to its makers, from its import on


@pytest.fixture(autouse=True)
def own_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps what crews did in one folder of the user, for all programs and versions."""
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "storage"))


def pytest_configure(config: pytest.Config) -> None:
    if IS_HERE:
        # Warnings of two hundred packages are not ours to mend; those of our own modules stay errors.
        config.addinivalue_line("filterwarnings", "ignore")
        config.addinivalue_line("filterwarnings", "error:::playhead")
