from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile("def test_it(golden):\n    golden('a/b.txt', 'one\\ntwo\\n')")
    return pytester


def golden_file(project: pytest.Pytester) -> Path:
    return project.path / "golden" / "a" / "b.txt"


def test_a_golden_file_that_is_not_there_fails_and_says_how_to_write_it(project: pytest.Pytester):
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*golden/a/b.txt does not exist*--write-golden*"])


def test_the_flag_writes_it_and_then_it_holds(project: pytest.Pytester):
    project.runpytest("--write-golden").assert_outcomes(passed=1)
    assert golden_file(project).read_text() == "one\ntwo\n"
    project.runpytest().assert_outcomes(passed=1)


def test_a_difference_is_shown_line_by_line(project: pytest.Pytester):
    golden_file(project).parent.mkdir(parents=True)
    golden_file(project).write_text("one\n2\n")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*-2", "*+two"])
