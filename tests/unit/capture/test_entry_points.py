"""Captures that packages bring by an entry point: found, switched on and off, and harmless where they are broken."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.capture import entry_points, registry
from tests.support.brought_package import write_metadata
from tests.support.logged import messages_of

CAPTURE = """
SUPPORTS = "brought-framework >= 1"
log = []

def patch():
    log.append("patch")

def unpatch():
    log.append("unpatch")
"""
BROKEN = {
    "import_error": "import no_such_module_at_all",
    "exit": "raise SystemExit(3)",
    "no_shape": "SUPPORTS = 'x'",
    "patch_fails": CAPTURE + "\ndef patch():\n    raise ZeroDivisionError\n",
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path, with a framework and its capture."""
    (tmp_path / "brought_framework.py").write_text("")
    (tmp_path / "brought_capture.py").write_text(CAPTURE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_hooked", set[str]())
    entry_points.captures_by_library.cache_clear()
    yield tmp_path
    playhead.uninstrument("brought_framework")
    entry_points.captures_by_library.cache_clear()
    for name in ("brought_framework", "brought_capture", "brought_broken"):
        sys.modules.pop(name, None)


def bring(site: Path, captures: dict[str, str], package: str = "brought-package") -> None:
    write_metadata(site, package, captures)
    importlib.invalidate_caches()


def capture() -> Any:
    return sys.modules["brought_capture"]


@pytest.mark.parametrize("named", [(), ("brought_framework",)], ids=["everything", "by name"])
def test_it_is_switched_on_when_its_library_is_imported(
    site: Path, named: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(registry, "LIBRARIES", {})
    bring(site, {"brought_framework": "brought_capture"})
    assert playhead.instrument(*named) == ("brought_framework",)
    assert "brought_capture" not in sys.modules
    importlib.import_module("brought_framework")
    assert capture().log == ["patch"]
    assert "brought_framework" in registry.instrumented()
    playhead.uninstrument("brought_framework")
    assert capture().log == ["patch", "unpatch"]
    assert "brought_framework" not in registry.instrumented()


def test_a_package_whose_library_is_not_installed_is_left_out_without_a_word(
    site: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(registry, "LIBRARIES", {})
    bring(site, {"framework_that_is_not_here": "brought_capture"})
    assert playhead.instrument() == ()
    assert messages_of(caplog) == []


@pytest.mark.parametrize("how", [*BROKEN, "no_module", "no_name"])
def test_a_broken_one_is_logged_and_changes_nothing(site: Path, how: str, caplog: pytest.LogCaptureFixture):
    (site / "brought_broken.py").write_text(BROKEN.get(how, CAPTURE))
    module = {"no_module": "no_such_capture", "no_name": "brought_broken:nothing"}.get(how, "brought_broken")
    bring(site, {"brought_framework": module})
    playhead.instrument("brought_framework")
    assert importlib.import_module("brought_framework").__name__ == "brought_framework"
    assert "could not instrument brought_framework; your program is unaffected" in caplog.text
    if how == "no_shape":
        assert "brought_broken is no capture, since it has no patch and no unpatch" in caplog.text


def test_what_playhead_records_itself_is_not_replaced(site: Path, caplog: pytest.LogCaptureFixture):
    bring(site, {"openai": "brought_capture"})
    assert "openai" not in registry.brought_captures()
    assert "the capture of 'openai' that brought-package brings is not used: Playhead records" in caplog.text


def test_of_two_captures_of_one_library_one_is_used(site: Path, caplog: pytest.LogCaptureFixture):
    bring(site, {"brought_framework": "brought_capture"}, "a-package")
    bring(site, {"brought_framework": "other_capture"}, "b-package")
    assert registry.brought_captures()["brought_framework"].value == "brought_capture"
    assert "that b-package brings is not used: a-package brings one, too" in caplog.text


def test_a_name_that_is_no_import_name_is_said(site: Path, caplog: pytest.LogCaptureFixture):
    bring(site, {"brought-framework": "brought_capture"})
    assert registry.brought_captures() == {}
    assert "needs the import name of a library as its name" in caplog.text


def test_doctor_names_it(site: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "LIBRARIES", {})
    (site / "brought_capture.py").write_text(
        "from playhead.capture_kit import Instrumentation\n"
        "SUPPORTS = 'brought-framework >= 1'\n"
        "calls = Instrumentation([])\n"
        "patch, unpatch = calls.patch, calls.unpatch\n"
    )
    bring(site, {"brought_framework": "brought_capture"})
    playhead.instrument("brought_framework")
    importlib.import_module("brought_framework")
    [described] = [each for each in playhead.doctor() if each.library == "brought_framework"]
    assert described.by == ("playhead",)
