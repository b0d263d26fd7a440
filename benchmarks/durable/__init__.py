"""What becomes of a run that is killed, and resumed after the program was changed: here, and in two durable engines.

trip.py        the program, the same for all; engine_*.py say who remembers what its steps returned
changes.py     the ways in which it is changed, as edits of its text
matrix.py      runs all of them in processes, and says what came of each
__main__.py    `python -m benchmarks.durable`: prints the table; --write puts it into docs/durable-engines.md
"""
