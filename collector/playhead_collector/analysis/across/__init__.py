"""[analysis]: questions across runs.

cohort        which runs are looked at together, and which of them succeeded
rates         shares with Wilson intervals          significance   Fisher, Mann-Whitney, Benjamini-Hochberg
steps         the tool calls of runs, by name        same_task      runs of one task

statistics    how much do runs take?                transitions    which tool follows which?
patterns      what is chosen after which result, and how do runs end that have it?
differences   what distinguishes failed from succeeded runs?
compression   do runs with compressed contexts end differently?
failures      which failures are alike?             divergences    where do runs of one task part ways?
contents      which contents fill the contexts most?

Nothing that fewer than `MIN_RUNS` runs have is called a pattern.  The cores are pure; each module's `answer_*` gathers
their input through `store.ports`.
"""
