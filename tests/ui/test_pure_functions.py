"""Unit tests of the web UI's pure functions, and its types."""

from tests.ui.node import SOURCES, run_node


def test_the_pure_functions_of_the_ui():
    run_node(SOURCES / "node_modules/vitest/vitest.mjs", "run", cwd=SOURCES)


def test_the_types_of_the_ui():
    run_node(SOURCES / "node_modules/typescript/bin/tsc", "--noEmit", cwd=SOURCES)
