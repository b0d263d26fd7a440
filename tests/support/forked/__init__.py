"""Programs that start in milliseconds: forked from a process that has imported what they import.

What starts a program is not tested with these: it would miss what an import does.
"""
