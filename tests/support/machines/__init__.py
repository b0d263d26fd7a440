"""Chains of resumes over two machines: two journals, one collector, processes that are killed or frozen.

`agent` is the program, `chain` starts it, kills it, and resumes it on one machine or the other until it is done.
`python -m tests.support.machines 200` runs 200 chains; the tests run a few.
"""
