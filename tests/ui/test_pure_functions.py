"""Unit tests of the web UI's pure functions, and its types."""

from playhead_collector.serve.browser.pages import UiFiles
from tests.ui.node import SOURCES, run_node

BUILT = SOURCES.parent / "playhead_collector" / "ui" / "index.html"
TYPED = ("*.ts", "*.tsx", "package-lock.json", "tsconfig.json")


def test_the_pure_functions_of_the_ui():
    run_node(SOURCES / "node_modules/vitest/vitest.mjs", "run", cwd=SOURCES)


def test_the_types_of_the_ui():
    """`make ui` checks them before it builds, so that only sources newer than what is built are left."""
    checked = BUILT.stat().st_mtime if UiFiles().is_built else 0
    paths = [path for name in TYPED for path in (SOURCES / "src").rglob(name)] + [SOURCES / name for name in TYPED[2:]]
    if any(path.stat().st_mtime > checked for path in paths):
        run_node(SOURCES / "node_modules/typescript/bin/tsc", "--noEmit", cwd=SOURCES)
