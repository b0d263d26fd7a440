"""Which steps of a failed run went wrong?

A step is a model call with its answer and the tool calls that it requested. Each finder (a `find_*` function) looks for
one kind of mistake and quotes its evidence; `suspects` adds up the findings of each step. A finding belongs to the step
that made the mistake, not to the one where it shows: an offer that the user only confirmed is suspected, not the call
that carried it out.

Findings are evidence, not proof: `docs/suspects.md` says how often the first suspects were right on labelled runs.
"""
