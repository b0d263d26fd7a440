"""What the wheel and the sdist have in them, and what they say of themselves."""

import subprocess
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from tests.integration.packaging.conftest import ROOT, UV, run

pytestmark = [pytest.mark.network, pytest.mark.slow]

# Of the build, and of git.
MADE_HERE = ("collector/ui/node_modules/", ".")
EXTRAS = {"agent", "anthropic", "cli", "collector", "encryption", "import", "objects", "openai", "otlp", "zstd"}


def names_of(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as files:
        [name] = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(files.read(name))


def test_the_wheel_carries_what_is_not_python_and_no_tests(wheel: Path):
    names = names_of(wheel)
    for path in (ROOT / "collector" / "playhead_collector").rglob("*.sql"):
        assert path.relative_to(ROOT / "collector").as_posix() in names
    for path in (ROOT / "migrations").rglob("*.*"):
        if path.suffix in {".py", ".sql"}:
            assert f"playhead_collector/{path.relative_to(ROOT).as_posix()}" in names
    assert {"playhead/py.typed", "playhead_collector/py.typed", "playhead_collector/ui/index.html"} <= names
    assert any(name.startswith("playhead_collector/ui/assets/") for name in names)
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"playhead", "playhead_collector"}


def test_the_wheel_has_every_module_of_the_checkout_and_no_other(checkout: Path, wheel: Path):
    packages = checkout / "src", checkout / "collector"
    modules = {
        path.relative_to(top).as_posix()
        for top in packages
        for path in top.glob("playhead*/**/*.py")
    }  # fmt: skip
    moved = ("playhead_collector/migrations/", "playhead/demo/examples/")
    in_wheel = {name for name in names_of(wheel) if name.endswith(".py") and not name.startswith(moved)}
    assert in_wheel == modules


def test_the_sdist_has_what_it_takes_to_build_and_to_test(checkout: Path, sdist: Path):
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    listed = {path.relative_to(checkout).as_posix() for path in checkout.rglob("*") if path.is_file()}
    left_out = {name for name in listed - names if not name.startswith(MADE_HERE) and "__pycache__" not in name}
    assert "collector/playhead_collector/ui/index.html" in names
    assert {name for name in left_out if "/" in name} == set()
    assert {name for name in left_out if not name.startswith("constraints")} <= {
        "CONTRIBUTING.md", "Makefile", "RELEASE.md", "SECURITY.md",
    }  # fmt: skip
    assert not [name for name in names if "node_modules" in name or "__pycache__" in name or name.endswith(".pyc")]


def test_the_sdist_makes_the_same_wheel_without_node(sdist: Path, wheel: Path, tmp_path: Path):
    with tarfile.open(sdist) as files:
        files.extractall(tmp_path / "unpacked", filter="data")
    [source] = (tmp_path / "unpacked").iterdir()
    # npm that cannot reach a registry: a build that asks for it fails.
    run(
        [UV, "build", "-q", "--wheel", "--out-dir", tmp_path, source], tmp_path,
        npm_config_registry="http://127.0.0.1:9",
    )  # fmt: skip
    [again] = tmp_path.glob("playhead-*.whl")
    assert names_of(again) == names_of(wheel)


def test_development_tools_are_no_extra(wheel: Path):
    assert set(metadata(wheel).get_all("Provides-Extra") or []) == EXTRAS


def test_the_package_s_page_has_no_link_that_leads_nowhere(wheel: Path):
    text = metadata(wheel).get_payload()
    assert isinstance(text, str)
    assert "# Playhead" in text
    assert '"docs/' not in text
    assert "](docs/" not in text
    assert "](CONTRIBUTING.md" not in text


def test_git_has_no_file_that_a_build_makes(checkout: Path):
    built = ["collector/playhead_collector/ui/index.html", "dist"]
    done = subprocess.run(["git", "ls-files", *built], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""
