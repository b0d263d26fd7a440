"""Which steps of a failed run went wrong?

A step is a model call: what it said, and which tools it asked for.  Each finder (a file per kind of finding) looks for
one kind of mistake and quotes what speaks for it; `ranking` adds up what was found at each step.  A finding stands at
the step that made the mistake, not at the one that noticed it: an offer that a user only confirmed is suspected, not
the call that carried it out.

Findings are evidence, not proof: `docs/suspects.md` says how often the first ones were right on labelled runs.
"""
