"""Which results tell of a failure, and which only speak of one."""

import pytest

from playhead_collector.analysis.transcript.failures import failure_text

FAILURES = (
    "exitcode: 1 (execution failed)\nCode output: Traceback (most recent call last):\n  File",
    "Command failed with exit code 1",
    "An error occurred while running the tool. Please try again. Error: no such city",
    '{"status": "error", "message": "no such order"}',
    '{"ok": false}',
    '{"success": false, "data": null}',
    '{"error": {"code": 404}}',
    '{"isError": true, "content": []}',
    '{"exit_code": 2, "stdout": ""}',
    "Error: no such user",
    "ValueError('bad')",
    "Failed to open the file",
    "Process exited. exit status 127",
    "$ python a.py\nTraceback (most recent call last):\n  File",
    '{"error": "cut in the mid',
    '{"returncode": 1, "stdout": "", "stderr": "cut in the mid',
    "fatal: not a git repository",
    "stat: cannot statx 'nowhere': No such file or directory",
    "The tool failed: KeyError: 'order'",
)
NO_FAILURES = (
    "Error bars are shown in the plot.",
    "Failure analysis of bridges, a survey",
    "exitcode: 0 (execution succeeded)\nCode output: 3",
    '{"status": "ok", "error": null}',
    '{"ok": true, "error": ""}',
    '{"success": true, "errors_fixed": 3}',
    '{"exit_code": 0}',
    '{"status": "failed over to the second region"}',
    "The word Traceback (most recent call last) begins what Python prints",
    "No errors were found.",
    "Failed: 0, passed: 12",
    "exitcode: 0 (execution succeeded)\nCode output: Log\nTraceback (most recent call last):\n  File\nValueError: bad",
    "started\nTraceback (most recent call last):\n  File\nValueError: bad\nrestarted\nready\nstopped",
    "",
    "[]",
)


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_is_told(text: str) -> None:
    assert failure_text(text)


@pytest.mark.parametrize("text", NO_FAILURES)
def test_what_only_speaks_of_one_is_none(text: str) -> None:
    assert failure_text(text) is None
