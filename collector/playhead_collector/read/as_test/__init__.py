"""A recorded run as a pytest file, in which the mock model server plays the recorded answers of the model.

The agent has to make the same tool calls, and to end with the same answer.  `read_test_file` reads from the store; the
rest is pure: a recorded answer → a Python expression that returns it, a run → the text of the file.
"""

from playhead_collector.read.as_test.reading import read_test_file

__all__ = ["read_test_file"]
