"""A library of a version that is not supported is left alone, with a warning that says which version is needed."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import wrapt
from openai.resources.chat import Completions

import playhead
from playhead.capture import openai as capture
from playhead.capture import registry
from playhead.capture.supported import installed_version


def test_it_is_not_patched_and_the_needed_version_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    playhead.uninstrument("openai")
    monkeypatch.setattr(capture, "SUPPORTS", "openai >= 999")
    assert playhead.instrument("openai") == ()
    assert "openai" not in registry.instrumented()
    assert not isinstance(vars(Completions)["create"], wrapt.FunctionWrapper)
    assert f"openai {version('openai')} is not recorded: this needs openai>=999" in caplog.text


def test_so_is_one_that_the_program_imports_later(tmp_path: Path):
    """A framework of another version than that which is installed: its program runs as it does alone."""
    package = tmp_path / "agno"
    package.mkdir()
    (package / "__init__.py").write_text("answer = 42\n")
    distribution = tmp_path / "agno-1.8.4.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: agno\nVersion: 1.8.4\n")
    program = "import playhead; playhead.instrument(); import agno; print(agno.answer, 'agno' in "
    program += "playhead.capture.registry.instrumented())"
    path = ":".join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "42 False\n"
    assert "agno 1.8.4 is not recorded: this needs agno>=2.3.20; your program is unaffected" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("supports", "is_supported"), [("openai", True), ("openai >= 0.1", True), ("openai >= 999", False)]
)
def test_the_installed_version_is_compared(supports: str, is_supported: bool):
    found = installed_version(supports)
    assert found is not None
    assert (found.version, found.is_supported) == (version("openai"), is_supported)


def test_a_module_that_is_no_distribution_has_no_version():
    assert installed_version("no-such-distribution >= 1") is None
