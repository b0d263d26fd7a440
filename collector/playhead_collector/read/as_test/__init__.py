"""Writes a recorded run as a pytest file, in which the mock model server plays the recorded answers of the model.

The test asserts that the agent makes the same tool calls and ends with the same answer.  `read_test_file` reads from
the store. The other modules are pure: they convert a recorded answer to a Python expression that returns it, and a run
to the text of the file.
"""

from playhead_collector.read.pytest_file import read_test_file

__all__ = ["read_test_file"]
