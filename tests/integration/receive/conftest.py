"""What tests of whole collectors share."""

import logging
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else."""
    folder = Path(tempfile.mkdtemp(prefix="playhead-tests-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _free_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collectors that run beside each other take ports that are free; the port for HTTP is given by each test."""
    monkeypatch.setenv("PLAYHEAD_GRPC_PORT", "0")


@pytest.fixture(autouse=True)
def _logging_of_this_process() -> Iterator[None]:
    """Given back: `serve` sets it up for a process of its own."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
