"""The compaction table: recorded conversations, compressed by our strategies and by those of others, and what was lost.

`conversations` cuts recorded runs, `summariser` writes summaries by rule, `ours` and `others` compress, `counting`
counts facts by the rules of the audit, `table` writes docs/compaction.md. `programs` run in environments of their own.
`python -m benchmarks.compaction` does all of it (`make compaction`).
"""
