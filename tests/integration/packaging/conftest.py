"""The wheel and the sdist, built from a checkout in which nothing was built before."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UV = Path(sys.executable).parent / "uv"

Run = Callable[..., str]


def run(command: Sequence[str | Path], cwd: Path, fails_with: int = 0, **settings: str) -> str:
    """What the command says on stdout; where it has to fail with an exit code, what it says on stderr."""
    # Nothing of this process's environment may lend the new one a module.
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PLAYHEAD_"))
    } | settings
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == fails_with, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stderr if fails_with else done.stdout


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a clone would have, uncommitted changes included."""
    folder = tmp_path_factory.mktemp("clone") / "checkout"
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], ROOT).splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip makes of the checkout, in a build environment of its own. Builds the web UI."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, checkout], folder)
    [built] = folder.glob("playhead-*.whl")
    return built


@pytest.fixture(scope="session")
def sdist(checkout: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist that uv makes of the checkout. After `wheel`, so that the web UI is built once."""
    folder = tmp_path_factory.mktemp("sdist")
    run([UV, "build", "-q", "--sdist", "--out-dir", folder, checkout], folder)
    [built] = folder.glob("playhead-*.tar.gz")
    return built


def install(package: Path, extra: str, folder: Path) -> Run:
    """A new environment with the package in it; returns what runs a command of that environment."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    where = ["--python", folder / "env" / "bin" / "python", "--constraint", ROOT / "constraints.txt"]
    run([UV, "pip", "install", "-q", *where, f"playhead{extra} @ {package.as_uri()}"], folder)

    def run_there(command: str, *words: str, fails_with: int = 0, **settings: str) -> str:
        return run([folder / "env" / "bin" / command, *words], folder, fails_with, **settings)

    return run_there
