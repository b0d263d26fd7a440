"""Wheel and sdist in an environment like that of an empty container: a new virtual environment, no cache of packages,
another user than the one that built them, and a home that cannot be written to.
"""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.packaging.conftest import ROOT, UV
from tests.support.programs.installed import PRINTS, RECORDS_AND_RESUMES

pytestmark = [pytest.mark.network, pytest.mark.slow]


@dataclass(frozen=True)
class Container:
    """Folders of a user who has nothing but a Python and uv. `account`: keywords of `subprocess.run`."""

    folder: Path
    python: Path
    account: dict[str, Any]

    def run(self, *command: str | Path) -> str:
        done = self._run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _run(self, command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
        # The address of the package index, and the certificates of what is between.
        kept = {name: value for name, value in os.environ.items() if name.startswith("UV_") or "CERT" in name}
        environ = kept | {
            "PATH": "/usr/bin:/bin", "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp"),
            "UV_NO_CACHE": "1", "UV_PYTHON_DOWNLOADS": "never", "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        return subprocess.run(
            command, cwd=self.folder / "work", env=environ, capture_output=True, text=True, check=False, **self.account
        )  # fmt: skip

    def files(self, name: str) -> list[Path]:
        return sorted((self.folder / name).rglob("*"))


def another_account() -> dict[str, Any]:
    """As root: that of nobody; else this one, which cannot take another."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def python_of(account: dict[str, Any]) -> Path:
    """A supported Python that the account can start."""
    supported = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (Path(sys.base_prefix, "bin", "python3"), Path("/usr/bin/python3"), Path("/usr/local/bin/python3")):
        try:
            if subprocess.run([python, "-c", supported], cwd="/", check=False, **account).returncode == 0:
                return python
        except OSError:  # it is not there, or in a folder that is closed to others
            continue
    pytest.skip("there is no Python from 3.11 on that another user can start")


@pytest.fixture
def container() -> Iterator[Container]:
    account = another_account()
    python = python_of(account)
    # Not tmp_path: its parents are closed to others.
    with tempfile.TemporaryDirectory(prefix="playhead-container-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for each in ("home", "tmp", "work"):
            (folder / each).mkdir()
            if account:
                os.chown(folder / each, account["user"], account["group"])
        (folder / "home").chmod(0o500)
        yield Container(folder, python, account)
        (folder / "home").chmod(0o700)


@pytest.mark.parametrize("package", ["wheel", "sdist"])
def test_it_is_installed_records_serves_resumes_and_goes_without_a_trace(
    package: str, container: Container, request: pytest.FixtureRequest
):
    built = Path(shutil.copy(request.getfixturevalue(package), container.folder))
    constraints = Path(shutil.copy(ROOT / "constraints.txt", container.folder))
    built.chmod(0o644)
    env, there = container.folder / "work" / "env", container.folder / "work" / "env" / "bin" / "python"
    container.run(UV, "venv", "-q", "--python", container.python, env)
    asked = f"playhead[collector] @ {built.as_uri()}"
    container.run(UV, "pip", "install", "-q", "--python", there, "--constraint", constraints, asked)
    container.run(env / "bin" / "playhead", "--help")
    assert container.run(there, "-W", "error::SyntaxWarning", "-c", RECORDS_AND_RESUMES) == PRINTS

    assert list(env.rglob("*playhead*"))
    container.run(UV, "pip", "uninstall", "-q", "--python", there, "playhead")
    assert list(env.rglob("*playhead*")) == []
    assert container.files("home") == []
    assert container.files("tmp") == []
    programs = [process.info["exe"] or "" for process in psutil.process_iter(["exe"])]
    assert [program for program in programs if program.startswith(str(container.folder))] == []
