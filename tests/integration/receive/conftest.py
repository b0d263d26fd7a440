"""A data directory for those that bring their own Postgres."""

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
